package hostile

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/commands"
	"lockserver/internal/glob"
	"lockserver/internal/resp"
	"lockserver/server"
	"lockserver/tests/grammar"
	"lockserver/tests/testkit"
)

// Keys that a user may not see must make no difference. Two servers hold the same keys, but only one of them
// has the secret keys. Both get the same commands of a restricted user: every row that takes keys, in every
// way in which a command can be sent. Each reply must be the same, and at the end the secret keys must be
// unchanged. So the user reads, writes and blocks none of them, and does not learn that they exist.

var (
	rightsSeed  = flag.Uint64("rights-seed", 1, "seed of TestRights; 0: a new one")
	rightsCalls = flag.Int("rights-calls", 1, "calls of each row that TestRights makes, in each way")
)

// rightsOf lists rules about keys that a user may have. patterns are patterns that the secret keys do not
// match; nil means that only the keys of secretDB are secret. With keyspace the user may run commands that
// list, move and remove all keys of a database.
var rightsOf = []struct {
	rules    string
	patterns []string
	keyspace bool
}{
	{"~?1", []string{"?1"}, false},
	{"~k* ~s*", []string{"k*", "s*"}, false},
	{"%R~?1 %W~?2", []string{"?1", "?2"}, false},
	{"%RW~[a-m]*", []string{"[a-m]*"}, false},
	{"~seckill:*:v1 ~stream.orders* ~x1 ~k1", []string{"seckill:*:v1", "stream.orders*", "x1", "k1"}, false},
	{"~nothing", []string{"nothing"}, false},
	{"~* db=0,2", nil, true},
	{"~?1 db=2,0", []string{"?1"}, false},
}

// secretDB has the same number of keys as the user's first database. Where there are rules about databases,
// the user may see none of them.
const secretDB = "1"

// companions belong to the lock with their name.
const companions = "redisson_*"

// world is one of the two servers.
type world struct {
	user, admin *testkit.Client
	token       string // the token of the lock k1
}

func newWorld(t *testing.T, rules string, commands []string, secret func(db, key string) bool) *world {
	t.Helper()
	clock := server.NewManualClock(time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC))
	directives := map[string]string{
		"proto-max-bulk-len": "1mb", // a GET of 512 MB shows nothing new, and takes seconds
		"lock-history-bytes": "0",   // off: its numbers count the events of all keys. Package server tests the rights for it
	}
	srv, err := server.New(server.Options{Clock: clock, Seed: 7, Directives: directives})
	require.NoError(t, err)
	require.NoError(t, srv.Start())
	t.Cleanup(func() { _ = srv.Close() })
	w := &world{user: testkit.Dial(t, srv.Dial)}
	w.user.Do("PING") // so that it has the first id
	w.admin = testkit.Dial(t, srv.Dial)
	for _, db := range []string{secretDB, "0"} {
		w.admin.Do("SELECT", db)
		for _, l := range fillings {
			w.do(t, w.admin, strings.Fields(l))
		}
		w.token = w.admin.Do("LOCK", "k1", "o1", "PX", "1000000").String()
		for _, k := range w.admin.Do("KEYS", "*").Elems {
			if secret(db, k.Str) {
				w.admin.Do("DEL", k.Str)
			}
		}
	}
	w.do(t, w.admin, slices.Concat([]string{"ACL", "SETUSER", "ann", "on", "nopass", "&*", "-@all"}, strings.Fields(rules), commands))
	require.Equal(t, "+OK", w.user.Do("AUTH", "ann", "x").String())
	return w
}

func (w *world) do(t *testing.T, c *testkit.Client, words []string) {
	t.Helper()
	v := c.Do(words...)
	require.NotEqual(t, resp.Error, v.Kind, "%s: %s", testkit.Line(words), v)
}

// fillings make a key of each type, in several families.
var fillings = []string{"SET s1 text", "SET s2 5", "SET n1 10", "SETBIT bits 7 1", "RPUSH l1 a b c", "RPUSH l2 1 2 3", "SADD t1 a b", "SADD t2 b c",
	"HSET h1 a 1 b 2", "HSET h2 b 3", "ZADD z1 1 a 2 b", "ZADD z2 2 b 3 c", "XADD x1 1-1 a 1", "XGROUP CREATE x1 g1 0", "XADD x2 1-1 b 1",
	"GEOADD g1 13 38 a 15 37 b", "GEOADD g2 2 48 c", "PFADD p1 a b", "PFADD p2 b c", "BF.ADD f1 a", "BF.ADD f2 b", "LOCK k2 o2 PX 1000000", "LOCK k3 o3 PX 1000000",
	"SET due v PX 100000", "SET {a}1 v", "SECKILL.CREATE v1 STOCK 5 LIMIT 2 HOLD 1000", "SECKILL.CREATE v2 STOCK 5"}

// allowing returns rules that allow the commands, those that run others, and LOCK.LIST, which only shows
// permitted keys.
func allowing(rows []*commands.Row) []string {
	rules := []string{"+multi", "+exec", "+discard", "+lock.list"}
	for _, r := range rows {
		rules = append(rules, "+"+r.FullName())
	}
	return rules
}

// keyedRows returns the rows with known keys. With keyspace it includes those that use a database as a whole,
// or choose a database.
func keyedRows(keyspace bool) []*commands.Row {
	var rows []*commands.Row
	add := func(r *commands.Row) {
		if keyspace && (r.UsesOwnDB() || r.Databases.All || r.Databases.Named != nil) || len(r.Keys()) > 0 && r.Channels.First == 0 || r.FindKeys != nil || r.Implied != nil || r.Inner > 0 {
			rows = append(rows, r)
		}
	}
	for _, r := range server.Table().Rows() {
		if r.Group == commands.PubSub {
			continue
		}
		add(r)
		for _, sub := range r.Subcommands() {
			add(sub)
		}
	}
	return rows
}

// ways are the ways to send a command. Each returns the commands of a round for one call.
var ways = map[string]func(w *world, call []string) [][]string{
	"plain": func(_ *world, call []string) [][]string { return [][]string{call} },
	"pipeline": func(_ *world, call []string) [][]string {
		return [][]string{call, {"GET", "s1"}, call, {"HGET", "h1", "a"}, call, call}
	},
	"MULTI": func(_ *world, call []string) [][]string { return [][]string{{"MULTI"}, call, {"EXEC"}} },
	"script": func(_ *world, call []string) [][]string {
		return [][]string{append([]string{"EVAL", "return {redis.acl_check_cmd(unpack(ARGV)), redis.pcall(unpack(ARGV))}", "0"}, call...)}
	},
	"GUARD": func(w *world, call []string) [][]string {
		return [][]string{append([]string{"GUARD", "k1", w.token}, call...)}
	},
}

func TestRights(t *testing.T) {
	seed := *rightsSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	for i, right := range rightsOf {
		t.Run(right.rules, func(t *testing.T) {
			secret := func(db, key string) bool {
				if strings.Contains(right.rules, " db=") && db == secretDB {
					return true
				}
				return right.patterns != nil && !slices.ContainsFunc(append([]string{companions}, right.patterns...), func(p string) bool { return glob.Match([]byte(p), []byte(key), false) })
			}
			rows := keyedRows(right.keyspace)
			with := newWorld(t, right.rules, allowing(rows), func(string, string) bool { return false })
			without := newWorld(t, right.rules, allowing(rows), secret)
			g := grammar.New()
			g.Begin(rand.New(rand.NewPCG(seed, uint64(i))))
			var payloads []string
			for _, key := range []string{"s2", "l2", "h2", "z2"} {
				payloads = append(payloads, with.admin.Do("DUMP", key).Str)
			}
			g.SetPayloads(payloads)
			before := with.secrets(secret)
			for range *rightsCalls {
				for _, row := range rows {
					sendBoth(t, g, row, with, without, seed)
				}
			}
			require.Equal(t, before, with.secrets(secret), "seed %d", seed)
			require.Empty(t, without.secrets(secret), "seed %d", seed)
		})
	}
}

// migrateFailed makes the errors of MIGRATE equal. Chance decides whether a refused connection is known
// before or after the timeout of a millisecond.
var migrateFailed = strings.NewReplacer("writing to target instance", "connecting to the client")

// sendBoth makes a call of a row in each way and compares the replies of both servers.
func sendBoth(t *testing.T, g *grammar.Generator, row *commands.Row, with, without *world, seed uint64) {
	t.Helper()
	for _, way := range []string{"plain", "pipeline", "MULTI", "script", "GUARD"} {
		if row.Flags.Has(commands.Blocking) && (way == "plain" || way == "pipeline") {
			continue // the clock stands still: server/users_test.go has commands that wait
		}
		call := g.Command(row)
		a, errA := with.user.CallPipeline(ways[way](with, call))
		b, errB := without.user.CallPipeline(ways[way](without, call))
		require.NoError(t, errA, "seed %d", seed)
		require.NoError(t, errB, "seed %d", seed)
		said, expected := migrateFailed.Replace(fmt.Sprint(a)), migrateFailed.Replace(fmt.Sprint(b))
		if row.Code != commands.NoCode { // a script returns a map in the order of Lua's table
			said, expected = sortedWords(said), sortedWords(expected)
		}
		require.Equal(t, expected, said, "seed %d, %s: %s", seed, way, testkit.Line(call))
	}
}

// sortedWords returns the words of a text in order, without the characters around them.
func sortedWords(text string) string {
	words := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" []{}:", r) })
	slices.Sort(words)
	return strings.Join(words, " ")
}

// secrets returns the secret keys with their values.
func (w *world) secrets(secret func(db, key string) bool) map[string]string {
	values := map[string]string{}
	for _, db := range []string{"0", "1", "2"} {
		w.admin.Do("SELECT", db)
		for _, k := range w.admin.Do("KEYS", "*").Elems {
			if secret(db, k.Str) {
				values[db+" "+k.Str] = w.admin.Do("DUMP", k.Str).String() + w.admin.Do("PTTL", k.Str).String()
			}
		}
	}
	w.admin.Do("SELECT", "0")
	return values
}
