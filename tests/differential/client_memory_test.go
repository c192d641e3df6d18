//go:build oracle

package differential

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/tests/testkit"
)

// situation is a state of a client that CLIENT LIST shows.
type situation struct {
	name string
	// say holds its commands. raw is sent after them, and replies to it are not read.
	say []string
	raw string
	// rises says by about how much the numbers, or sums of them, exceed those of an idle client.
	rises map[string]int
}

// situations returns the situations in which CLIENT LIST is compared.
func situations() []situation {
	half := "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$200000\r\n" + strings.Repeat("v", 150_000)
	halfOfMany := "*4\r\n$4\r\nMGET\r\n$5000\r\n" + strings.Repeat("k", 5000) + "\r\n$9000\r\n" + strings.Repeat("l", 5000)
	blocked := "*3\r\n$5\r\nBLPOP\r\n$200000\r\n" + strings.Repeat("k", 200_000) + "\r\n$1\r\n0\r\n"
	return []situation{
		{name: "idle"},
		{name: "half of a big word", raw: half, rises: map[string]int{"qbuf": 150_000, "qbuf+qbuf-free": 200_000, "tot-mem": 200_000, "INFO": 200_000}},
		{name: "some words of a command", raw: halfOfMany, rises: map[string]int{"qbuf+argv-mem": 10_000}},
		{name: "waiting", raw: blocked, rises: map[string]int{"argv-mem": 200_000, "tot-mem": 200_000}},
		{name: "waiting for a stream", raw: "XREAD BLOCK 0 STREAMS s $\r\n", rises: map[string]int{"argv-mem": 20}},
		{name: "a transaction", say: []string{"MULTI", "SET k " + strings.Repeat("v", 100_000), "SET k " + strings.Repeat("w", 50_000), "GET k"},
			rises: map[string]int{"multi-mem": 150_000, "tot-mem": 150_000, "INFO": 150_000}},
		{name: "an empty transaction", say: []string{"WATCH a b", "MULTI"}},
		{name: "a transaction that will fail", say: []string{"MULTI", "NOSUCH"}},
		{name: "unread replies", say: []string{"SET big " + strings.Repeat("v", 100_000)}, raw: strings.Repeat("GET big\r\n", 20),
			rises: map[string]int{"obl+omem": 1_900_000, "tot-mem": 1_900_000, "INFO": 1_900_000}},
		{name: "watching", say: []string{"WATCH a b c"}},
		{name: "a listener", say: []string{"SUBSCRIBE a", "SUBSCRIBE b", "PSUBSCRIBE p*", "SSUBSCRIBE s"}},
		{name: "a listener in version 3", say: []string{"HELLO 3", "SUBSCRIBE a"}},
		{name: "named", say: []string{"HELLO 3 SETNAME n", "CLIENT SETINFO LIB-NAME lib", "CLIENT SETINFO LIB-VER 1.2", "SELECT 3"}},
		{name: "a user", say: []string{"ACL SETUSER u on nopass +@all", "AUTH u x", "GET k"}},
		{name: "tracking", say: []string{"HELLO 3", "CLIENT TRACKING ON"}},
		{name: "tracking prefixes", say: []string{"HELLO 3", "CLIENT TRACKING ON BCAST"}},
		{name: "monitoring", say: []string{"MONITOR"}},
		{name: "exempt", say: []string{"CLIENT NO-EVICT ON", "CLIENT NO-TOUCH ON"}},
		{name: "a subcommand", say: []string{"CONFIG GET port"}},
		{name: "an unknown command", say: []string{"PING", "NOSUCH"}},
	}
}

// eachServersOwn lists the fields of CLIENT LIST with values that may differ. Each situation bounds some of
// them.
var eachServersOwn = []string{"id", "addr", "laddr", "fd", "age", "idle", "qbuf", "qbuf-free", "argv-mem", "multi-mem", "rbs", "rbp", "obl",
	"oll", "omem", "tot-mem"}

// clientFields returns the names of the fields in a client's line in order, and their values.
func clientFields(line string) (names []string, values map[string]string) {
	values = map[string]string{}
	for _, field := range strings.Split(strings.TrimSpace(line), " ") {
		name, value, _ := strings.Cut(field, "=")
		names, values[name] = append(names, name), value
	}
	values["flags"] = strings.Replace(values["flags"], "U", "", 1) // only one of the two is connected by a unix socket
	if values["flags"] == "" {
		values["flags"] = "N"
	}
	return names, values
}

// seen holds what a side shows about a client.
type seen struct {
	names  []string
	values map[string]string
	info   map[string]string
}

// look asks for the line of a client, and for INFO.
func (s *side) look(id int64) seen {
	var now seen
	now.names, now.values = clientFields(s.watch.Do("CLIENT", "LIST", "ID", strconv.FormatInt(id, 10)).Str)
	now.info = infoFields(s.watch.Do("INFO").Str)
	return now
}

// figure returns a sum of fields, or the number in INFO for all clients.
func (v seen) figure(t *testing.T, sum string) (n int) {
	t.Helper()
	texts := []string{v.info["mem_clients_normal"]}
	if sum != "INFO" {
		texts = texts[:0]
		for _, name := range strings.Split(sum, "+") {
			texts = append(texts, v.values[name])
		}
	}
	for _, text := range texts {
		part, err := strconv.Atoi(text)
		require.NoError(t, err, sum)
		n += part
	}
	return n
}

// wrong lists the numbers that have not risen by about the expected amount.
func (v seen) wrong(t *testing.T, before seen, rises map[string]int) (texts []string) {
	for sum, want := range rises {
		if got := v.figure(t, sum) - before.figure(t, sum); 3*got < 2*want || 2*got > 3*want {
			texts = append(texts, fmt.Sprintf("%s has risen by %d instead of about %d", sum, got, want))
		}
	}
	return texts
}

// unlike lists the differences from Redis.
func (v seen) unlike(redis seen) (texts []string) {
	if !slices.Equal(v.names, redis.names) {
		return []string{"the names of fields, or their order"}
	}
	for _, name := range redis.names {
		if !slices.Contains(eachServersOwn, name) && v.values[name] != redis.values[name] {
			texts = append(texts, name)
		}
	}
	return texts
}

// TestOwnQueryBuffer compares how CLIENT LIST shows a client's own input: the command itself, and those that
// arrived with it.
func TestOwnQueryBuffer(t *testing.T) {
	p := startPair(t, "")
	for _, raw := range []string{
		array("CLIENT", "LIST"), array("CLIENT", "INFO"), "CLIENT LIST\r\n", "client   info\r\n", array("CLIENT", "LIST", "TYPE", "normal"),
		array("PING") + array("CLIENT", "INFO"), array("CLIENT", "INFO") + array("PING"), array("CLIENT", "INFO") + array("CLIENT", "LIST")[:9],
		array("MULTI") + array("CLIENT", "INFO") + array("EXEC"),
	} {
		var found [2]string
		for i, s := range []side{p.ours, p.redis} {
			c := testkit.Dial(t, s.dial)
			found[i] = ownQueryBuffer(t, c, raw)
			c.Close()
		}
		require.Equal(t, found[1], found[0], "%q", raw)
	}
}

// TestClientList compares the lines of clients in many situations. It compares the fields with their order
// and values, and about how much the memory of a client, and that of all clients in INFO, has risen.
func TestClientList(t *testing.T) {
	p := startPair(t, "")
	for _, sit := range situations() {
		t.Run(sit.name, func(t *testing.T) {
			var ids [2]int64
			var before [2]seen
			for i, s := range []side{p.ours, p.redis} {
				c := testkit.Dial(t, s.dial)
				ids[i] = c.Do("CLIENT", "ID").Int
				before[i] = s.look(ids[i])
				for _, words := range sit.say {
					c.Do(strings.Fields(words)...)
				}
				_, err := c.Conn().Write([]byte(sit.raw))
				require.NoError(t, err)
			}
			for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) { // the output grows for a moment
				ours, redis := p.ours.look(ids[0]), p.redis.look(ids[1])
				wrong := slices.Concat(ours.wrong(t, before[0], sit.rises), redis.wrong(t, before[1], sit.rises), ours.unlike(redis))
				if len(wrong) == 0 {
					break
				}
				require.True(t, time.Now().Before(end), "%q\nours: %v\nRedis: %v", wrong, ours.values, redis.values)
			}
		})
	}
}

// TestUsedMemory compares how used_memory grows with data: by at least half and at most twice as much as in
// Redis.
func TestUsedMemory(t *testing.T) {
	p := startPair(t, "")
	word := strings.Repeat("v", 100)
	for name, command := range map[string]func(i string) []string{
		"strings":  func(i string) []string { return []string{"SET", "key:" + i, word} },
		"numbers":  func(i string) []string { return []string{"SET", "key:" + i, i} },
		"expiring": func(i string) []string { return []string{"SET", "key:" + i, word, "EX", "1000"} },
		"a hash":   func(i string) []string { return []string{"HSET", "h", "f" + i, word} },
		"hashes":   func(i string) []string { return []string{"HSET", "h" + i, "f1", word, "f2", word, "f3", word} },
		"a list":   func(i string) []string { return []string{"RPUSH", "l", word + i} },
		"lists":    func(i string) []string { return []string{"RPUSH", "l" + i, word, word, word} },
		"a set":    func(i string) []string { return []string{"SADD", "s", word + i} },
		"a zset":   func(i string) []string { return []string{"ZADD", "z", i, word + i} },
		"a stream": func(i string) []string { return []string{"XADD", "x", i + "-1", "f", word} },
	} {
		t.Run(name, func(t *testing.T) {
			const keys = 4000
			commands := make([][]string, 0, keys)
			for i := range keys {
				commands = append(commands, command(strconv.Itoa(1_000_000+i)))
			}
			var rises [2]int
			for i, s := range []side{p.ours, p.redis} {
				used := func() int {
					n, err := strconv.Atoi(infoFields(s.watch.Do("INFO", "memory").Str)["used_memory"])
					require.NoError(t, err)
					return n
				}
				require.Equal(t, "+OK", s.watch.Do("FLUSHALL").String())
				before := used()
				for of := range slices.Chunk(commands, 500) {
					s.Pipeline(of)
				}
				rises[i] = used() - before
			}
			t.Logf("%d, in Redis %d", rises[0], rises[1])
			require.Greater(t, rises[1], 100_000)
			require.Less(t, rises[0], 2*rises[1])
			require.Greater(t, rises[0], rises[1]/2)
		})
	}
}

// ownQueryBuffer sends commands in one piece, and returns the field qbuf of the first reply that has it.
func ownQueryBuffer(t *testing.T, c *testkit.Client, raw string) string {
	t.Helper()
	_, err := c.Conn().Write([]byte(raw))
	require.NoError(t, err)
	for {
		text := fmt.Sprint(c.Receive())
		if _, after, ok := strings.Cut(text, " qbuf="); ok {
			value, _, _ := strings.Cut(after, " ")
			return value
		}
	}
}
