package hostile

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/commands"
	"lockserver/server"
	"lockserver/store"
	"lockserver/tests/grammar"
	"lockserver/tests/testkit"
)

// A right also limits the writes that the server makes later. Some keys direct such writes: those of delayed
// entries, and of sales. Two servers have the same data, with holds and entries that become due. On one of
// them a restricted user runs random writes, with every row that writes, in the user's own keys. Then time
// passes on both. Each key without a right for the user must be the same on both.

// reaches lists rules about keys. A user may have a sale as a whole, with or without its streams, or some of
// the keys that direct it. A user of the stock or the buyers alone can delay the end of a hold, which is no
// write elsewhere.
var reaches = []string{
	"~app:* ~seckill:sale:v",
	"~app:* ~{victim}:* ~seckill:holds:* ~seckill:orders:v ~seckill:pieces:v",
	"~app:* ~{app:* ~{other*",
	"~seckill:*:v ~stream.v*",
	"~seckill:*:v ~stream.v* ~stream.orders*",
	"~seckill:*:v ~seckill:*:w ~stream.v* ~app:*",
	"~seckill:* ~app:*",
}

// reachKeys and reachWords are the words of calls, besides those of tests/grammar.
var (
	reachKeys = []string{"app:1", "app:2", "{app:1}:delayed", "{app:1}:delayed:entries", "{victim}:delayed", "{victim}:delayed:entries", "{other}:delayed",
		"seckill:sale:v", "seckill:sale:v", "seckill:sale:v", "seckill:orders:v", "seckill:pieces:v", "seckill:holds:v", "seckill:holds:w", "seckill:sale:w", "seckill:holds:new"}
	reachWords = []string{"stream", "stream", "stream", "victim", "stream.v", "stream.orders", "app:1", "o1", "o2", "ann", "total", "limit", "held 2 ann", "0", "1", "2", "a0:d1", "d1", "a0,1:a,1:b,"}
)

// reach is one of the two servers.
type reach struct {
	srv         *server.Server
	clock       *server.ManualClock
	admin, user *testkit.Client
}

func newReach(t *testing.T, rules string) *reach {
	t.Helper()
	r := &reach{clock: server.NewManualClock(time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC))}
	var err error
	r.srv, err = server.New(server.Options{Clock: r.clock, Seed: 7, Directives: map[string]string{"proto-max-bulk-len": "1mb"}})
	require.NoError(t, err)
	require.NoError(t, r.srv.Start())
	t.Cleanup(func() { _ = r.srv.Close() })
	r.admin, r.user = testkit.Dial(t, r.srv.Dial), testkit.Dial(t, r.srv.Dial)
	for db, stream := range []string{"stream.v", "victim"} {
		for _, line := range []string{"SELECT " + string(rune('0'+db)), "SECKILL.CREATE v STOCK 9 LIMIT 3 HOLD 10000 STREAM " + stream, "SECKILL.CREATE w STOCK 9 HOLD 9000 STREAM stream.w",
			"SECKILL v ann o1 QTY 2", "SECKILL v bob o2", "SECKILL w ann o1", "DELAY.ADD victim PX 9500 ID d1 a b", "DELAY.ADD app:1 PX 9500 ID d1 a b",
			"SET victim:1 x", "HSET app:2 stream victim total 1"} {
			require.False(t, r.admin.Do(strings.Fields(line)...).IsError(), line)
		}
	}
	r.admin.Do("SELECT", "0")
	rule := append([]string{"ACL", "SETUSER", "u", "on", "nopass", "+@all", "-@admin", "-@dangerous", "+restore", "+sort"}, strings.Fields(rules)...)
	require.Equal(t, "+OK", r.admin.Do(rule...).String())
	require.Equal(t, "+OK", r.user.Do("AUTH", "u", "x").String())
	return r
}

// delaysFor reports whether a key holds delayed entries of a stream to which the user has a right. They wait
// while the stream's key holds another type.
func (r *reach) delaysFor(key string) bool {
	stream, ok := store.DelayedStream([]byte(key))
	return ok && r.srv.Permits("u", "EXISTS", string(stream))
}

// beyond returns the values of the keys to which the user has no right.
func (r *reach) beyond() map[string]string {
	values := map[string]string{}
	for _, db := range []string{"0", "1", "2"} {
		r.admin.Do("SELECT", db)
		for _, key := range r.admin.Do("KEYS", "*").Elems {
			if !r.srv.Permits("u", "EXISTS", key.Str) && !r.delaysFor(key.Str) {
				values[db+" "+key.Str] = r.admin.Do("DUMP", key.Str).String() + r.admin.Do("PEXPIRETIME", key.Str).String()
			}
		}
	}
	r.admin.Do("SELECT", "0")
	return values
}

func TestWritesStayWithinRights(t *testing.T) {
	seed := testkit.Seed(t)
	var rows []*commands.Row
	for _, row := range server.Table().Rows() {
		if row.Flags.Has(commands.Write) && !row.Flags.Has(commands.NoMulti) && (len(row.Keys()) > 0 || row.FindKeys != nil || row.Implied != nil) {
			rows = append(rows, row)
		}
	}
	for i, rules := range reaches {
		t.Run(rules, func(t *testing.T) {
			for round := range testkit.Steps(12, 400) {
				playReach(t, rules, rows, rand.New(rand.NewPCG(seed, uint64(i*1000+round))))
			}
		})
	}
}

// playReach plays one round: writes, and then time.
func playReach(t *testing.T, rules string, rows []*commands.Row, chance *rand.Rand) {
	t.Helper()
	attacked, alone := newReach(t, rules), newReach(t, rules)
	g := grammar.New()
	g.Begin(chance)
	var payloads []string
	for _, key := range []string{"seckill:sale:w", "app:2", "seckill:holds:v"} {
		payloads = append(payloads, attacked.admin.Do("DUMP", key).Str)
	}
	g.SetPayloads(payloads)
	var sent [][]string
	for range 60 {
		call := reachCall(g, rows[chance.IntN(len(rows))])
		sent = append(sent, call)
		pipeline := [][]string{{"MULTI"}, call, {"EXEC"}} // in a transaction no command waits
		if g.Chance(30) {
			pipeline = [][]string{append([]string{"EVAL", "return redis.pcall(unpack(ARGV))", "0"}, call...)}
		}
		_, err := attacked.user.CallPipeline(pipeline)
		require.NoError(t, err, testkit.Line(call))
	}
	for range 12 {
		for _, r := range []*reach{attacked, alone} {
			r.clock.Advance(time.Second)
			r.admin.Do("PING")
		}
	}
	if want, got := alone.beyond(), attacked.beyond(); !maps.Equal(want, got) {
		var lines []string
		for _, call := range sent {
			lines = append(lines, testkit.Line(call))
		}
		require.Equal(t, want, got, strings.Join(lines, "\n"))
	}
	_ = attacked.srv.Close()
	_ = alone.srv.Close()
}

// reachCall returns a call of a row, usually with keys and words of the lists above.
func reachCall(g *grammar.Generator, row *commands.Row) []string {
	if g.Chance(35) { // the most important shapes, so that a short run has them
		return strings.Fields(g.Pick("HSET seckill:sale:v stream victim", "HSETNX seckill:sale:v stream victim", "HDEL seckill:sale:v stream", "DEL seckill:sale:v",
			"RENAME app:2 seckill:sale:v", "COPY app:2 seckill:sale:v REPLACE", "COPY seckill:holds:v seckill:holds:v DB 1 REPLACE", "MOVE seckill:holds:new 1",
			"HSET seckill:orders:v o1 gone", "HSET seckill:pieces:v ann 9", "ZADD seckill:holds:v 1 o9", "PEXPIRE seckill:sale:v 100", "HPEXPIRE seckill:sale:v 1 FIELDS 1 stream",
			"HINCRBY seckill:sale:v stream 5", "LOCK seckill:sale:v stream", "RENAME seckill:holds:v seckill:holds:w", "ZADD {victim}:delayed 1 a0:d1"))
	}
	call := g.Command(row)
	words := make([][]byte, len(call))
	for i, word := range call {
		words[i] = []byte(word)
	}
	var refs []commands.KeyRef
	if row.Accepts(len(call)) {
		refs, _ = row.OwnKeyRefs(words, nil)
	}
	vouchers := map[int]bool{}
	row.EachRouted(words, func(pos int) { vouchers[pos] = true })
	for i := range call[1:] {
		at := i + 1
		switch {
		case slices.ContainsFunc(refs, func(ref commands.KeyRef) bool { return ref.Pos == at }):
			call[at] = g.Pick(reachKeys...)
		case row.Implied != nil && vouchers[at]:
			call[at] = g.Pick("v", "w", "app:1", "victim", "new")
		case g.Chance(30):
			call[at] = g.Pick(reachWords...)
		}
	}
	return call
}
