//go:build oracle

package snapshots

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/tests/testkit"
)

var seedFlag = flag.Uint64("seed", 0, "replay the random data of this seed; 0: of a new one")

// maker makes random data with commands that both lockserver and Redis have.
type maker struct {
	*rand.Rand
	prefix   string // of all keys
	commands [][]string
}

// newMaker returns a maker, and prints its seed, so that a failure can be repeated.
func newMaker(t *testing.T) *maker {
	t.Helper()
	seed := *seedFlag
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("-seed %d", seed)
	return &maker{Rand: rand.New(rand.NewPCG(seed, 1))}
}

func (m *maker) add(args ...string) { m.commands = append(m.commands, args) }

// makers lists functions for each kind of value, each with its encodings.
var makers = []func(m *maker, key string){
	(*maker).text, (*maker).number, (*maker).grown, (*maker).smallHash, (*maker).largeHash, (*maker).wideHash,
	(*maker).smallList, (*maker).largeList, (*maker).wideList, (*maker).intset, (*maker).smallSet, (*maker).largeSet,
	(*maker).smallZSet, (*maker).largeZSet, (*maker).wideZSet, (*maker).stream, (*maker).trimmedStream, (*maker).groupedStream, (*maker).emptyStream,
}

// fill makes keys of all kinds in three databases; some of them expire in some hours.
func (m *maker) fill(perKind int) {
	for _, db := range []string{"0", "3", "15"} {
		m.add("SELECT", db)
		for i, kind := range makers {
			for n := range perKind {
				key := fmt.Sprintf("%s%d:%d:%s", m.prefix, i, n, m.word(20))
				kind(m, key)
				if m.IntN(4) == 0 {
					ms := time.Now().UnixMilli() + 3_600_000 + m.Int64N(1_000_000_000)
					m.add("PEXPIREAT", key, strconv.FormatInt(ms, 10))
				}
			}
		}
	}
	m.add("SELECT", "0")
}

// send runs the commands in pipelines. Each must succeed.
func (m *maker) send(t *testing.T, c *testkit.Client) {
	t.Helper()
	const batch = 500
	for at := 0; at < len(m.commands); at += batch {
		part := m.commands[at:min(at+batch, len(m.commands))]
		for i, v := range c.Pipeline(part) {
			require.False(t, v.IsError(), "%s: %s", testkit.Line(part[i]), v)
		}
	}
}

// word returns at most most bytes of any content: often text, sometimes a number, sometimes nothing.
func (m *maker) word(most int) string {
	switch m.IntN(8) {
	case 0:
		return ""
	case 1:
		return m.integer()
	case 2, 3:
		b := make([]byte, m.IntN(most+1))
		for i := range b {
			b[i] = byte(m.Uint32())
		}
		return string(b)
	}
	const letters = "abcdefghijklmnopqrstuvwxyz-_ "
	b := make([]byte, m.IntN(most+1))
	for i := range b {
		b[i] = letters[m.IntN(len(letters))]
	}
	return string(b)
}

// integer returns an integer of any width, often one at the borders of the encodings.
func (m *maker) integer() string {
	bits := []int{4, 7, 8, 12, 13, 15, 16, 23, 24, 31, 32, 62, 63}[m.IntN(13)]
	n := int64(1)<<bits - 2 + m.Int64N(3)
	if m.IntN(2) == 0 {
		n = m.Int64N(int64(1) << min(bits, 62))
	}
	if m.IntN(2) == 0 {
		n = -n
	}
	return strconv.FormatInt(n, 10)
}

func (m *maker) text(key string) {
	text := m.word([]int{5, 44, 45, 300, 20_000, 70_000}[m.IntN(6)])
	if m.IntN(3) == 0 {
		text = strings.Repeat(m.word(30)+"x", 1+m.IntN(300)) // compresses well
	}
	m.add("SET", key, text)
}

func (m *maker) number(key string) { m.add("SET", key, m.integer()) }

func (m *maker) grown(key string) {
	m.add("SET", key, m.word(10))
	m.add("APPEND", key, m.word(100))
	m.add("SETRANGE", key, strconv.Itoa(m.IntN(200)), m.word(50)+"!")
}

func (m *maker) hash(key string, fields, most int) {
	for i := range fields {
		m.add("HSET", key, fmt.Sprintf("%d%s", i, m.word(10)), m.word(most))
	}
	m.add("HDEL", key, "0")
}

func (m *maker) smallHash(key string) { m.hash(key, 1+m.IntN(20), 64) }
func (m *maker) largeHash(key string) { m.hash(key, 513+m.IntN(300), 10) }
func (m *maker) wideHash(key string)  { m.hash(key, 1+m.IntN(5), 3000) }

// list pushes n elements of at most most bytes on both sides, and removes some again.
func (m *maker) list(key string, n, most int) {
	for range n {
		m.add([]string{"LPUSH", "RPUSH"}[m.IntN(2)], key, m.word(most), m.word(most))
	}
	for range m.IntN(n) {
		m.add([]string{"LPOP", "RPOP"}[m.IntN(2)], key)
	}
	for range m.IntN(5) {
		m.add("RPUSH", key, m.word(most))
		m.add("LSET", key, []string{"0", "-1"}[m.IntN(2)], m.word(2*most))
		m.add("LINSERT", key, "BEFORE", m.integer(), m.word(most))
		m.add("LREM", key, "1", m.word(2))
	}
}

func (m *maker) smallList(key string) { m.list(key, 1+m.IntN(20), 30) }
func (m *maker) largeList(key string) { m.list(key, 1000+m.IntN(1000), 40) }
func (m *maker) wideList(key string)  { m.list(key, 1+m.IntN(10), 30_000) }

func (m *maker) intset(key string) {
	for range 1 + m.IntN(100) {
		m.add("SADD", key, m.integer())
	}
}

func (m *maker) smallSet(key string) {
	for i := range 1 + m.IntN(100) {
		m.add("SADD", key, fmt.Sprintf("m%d%s", i, m.word(40)))
	}
}

func (m *maker) largeSet(key string) {
	for range 600 {
		m.add("SADD", key, m.integer(), m.word(30), m.word(100))
	}
}

// score returns a score of any kind that a sorted set can hold.
func (m *maker) score() string {
	switch m.IntN(8) {
	case 0:
		return m.integer()
	case 1:
		return []string{"inf", "-inf", "-0", "0", "1e17", "4611686018427387904", "5e-324", "-1.7976931348623157e308"}[m.IntN(8)]
	case 2, 3:
		return strconv.FormatFloat(m.NormFloat64()*1e6, 'g', -1, 64)
	}
	return strconv.Itoa(m.IntN(50)) // equal scores
}

// zset adds n members of at most most bytes, changes some of their scores, and removes one.
func (m *maker) zset(key string, n, most int) {
	members := []string{m.word(most)}
	for i := range n {
		members = append(members, fmt.Sprintf("%d%s", i, m.word(most)))
		m.add("ZADD", key, m.score(), members[len(members)-1])
	}
	for range n / 4 {
		m.add("ZADD", key, m.score(), members[m.IntN(len(members))])
	}
	m.add("ZREM", key, members[0])
}

func (m *maker) smallZSet(key string) { m.zset(key, 1+m.IntN(100), 60) }
func (m *maker) largeZSet(key string) { m.zset(key, 129+m.IntN(600), 20) }
func (m *maker) wideZSet(key string)  { m.zset(key, 1+m.IntN(20), 3000) }

// entries adds n entries with rising IDs, most of them with the same fields as the previous one, and returns
// the IDs.
func (m *maker) entries(key string, n int) []string {
	var ids []string
	ms, seq := m.Int64N(1_000_000_000_000), int64(1)
	fields := []string{"userId", "voucherId", "id"}
	for range n {
		switch m.IntN(4) {
		case 0:
			ms, seq = ms+1+m.Int64N(100_000), 0
		default:
			seq += 1 + m.Int64N(3)
		}
		if m.IntN(10) == 0 {
			fields = []string{m.word(10), m.word(10)}[:1+m.IntN(2)]
		}
		id := fmt.Sprintf("%d-%d", ms, seq)
		ids = append(ids, id)
		command := []string{"XADD", key, id}
		for _, f := range fields {
			command = append(command, f, m.word(60))
		}
		m.add(command...)
	}
	return ids
}

func (m *maker) stream(key string) { m.entries(key, 1+m.IntN(400)) }

func (m *maker) trimmedStream(key string) {
	ids := m.entries(key, 50+m.IntN(400))
	for range len(ids) / 5 {
		m.add("XDEL", key, ids[m.IntN(len(ids))])
	}
	switch m.IntN(3) {
	case 0:
		m.add("XTRIM", key, "MAXLEN", strconv.Itoa(m.IntN(len(ids))))
	case 1:
		m.add("XTRIM", key, "MINID", ids[m.IntN(len(ids))])
	}
}

// groupedStream makes a stream with groups. Some consumers have pending entries and others have none, and
// some entries were deleted while they were pending.
func (m *maker) groupedStream(key string) {
	ids := m.entries(key, 20+m.IntN(300))
	for _, group := range []string{"workers", "audit", m.word(30)} {
		m.add("XGROUP", "CREATE", key, group, "0")
		for _, consumer := range []string{"a", "b", m.word(20)} {
			m.add("XREADGROUP", "GROUP", group, consumer, "COUNT", strconv.Itoa(1+m.IntN(60)), "STREAMS", key, ">")
		}
		m.add("XGROUP", "CREATECONSUMER", key, group, "idle")
		for range 10 {
			m.add("XACK", key, group, ids[m.IntN(len(ids))])
			m.add("XCLAIM", key, group, "c", "0", ids[m.IntN(len(ids))], "RETRYCOUNT", strconv.Itoa(m.IntN(1000)))
		}
	}
	m.add("XGROUP", "CREATE", key, "late", "$")
	m.add("XDEL", key, ids[0], ids[len(ids)/2])
}

// emptyStream makes a stream without entries. It still has its last ID, the number of entries ever added, and
// the highest deleted ID.
func (m *maker) emptyStream(key string) {
	for _, id := range m.entries(key, 1+m.IntN(3)) {
		m.add("XDEL", key, id)
	}
	if m.IntN(2) == 0 {
		m.add("XSETID", key, fmt.Sprintf("%d-1", int64(2_000_000_000_000)+m.Int64N(1000)))
	}
}
