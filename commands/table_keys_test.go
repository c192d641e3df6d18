package commands

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/commands/tabletest"
	"lockserver/internal/resp"
)

// redisRows are the rows of all commands of Redis 7.0, made from the golden file.
func redisRows(t testing.TB) []Row {
	t.Helper()
	golden := tabletest.Golden()
	var rows []Row
	for _, name := range tabletest.Names(golden) {
		row := redisRow(t, name, golden[name])
		row.Cats, row.MinArgs = stated[name].cats, stated[name].minArgs
		if !strings.Contains(name, "|") {
			if isContainer(golden, name) && name != "command" {
				row.Run = nil
			}
			rows = append(rows, row)
		} else if row.Name != "help" {
			container := &rows[len(rows)-1]
			container.Sub = append(container.Sub, row)
		}
	}
	i := slices.IndexFunc(rows, func(r Row) bool { return r.Name == "command" })
	rows[i] = CommandRows()[0]
	return rows
}

func redisTable(t testing.TB) *Table { return NewTable(redisRows(t)) }

// guessed are the commands whose keys Redis finds by code of their own (Row.FindKeys in ours).
var guessed = []string{"set", "bitfield", "sort", "sort_ro", "migrate"}

// The keys that are found in random calls of all commands are those that Redis finds.
func TestKeysAgainstRedis(t *testing.T) {
	redis := startOracle(t)
	table := redisTable(t)
	seed := rand.Uint64()
	rnd := rand.New(rand.NewPCG(seed, 0))
	t.Logf("seed %d", seed)
	var names []string
	for _, r := range table.Rows() {
		for _, r := range append(slices.Clone(r.Subcommands()), r) {
			if r.takesKeys() && !slices.Contains(guessed, r.Name) {
				names = append(names, r.FullName())
			}
		}
	}
	found := 0
	for range 6000 {
		name := names[rnd.IntN(len(names))]
		args := strings.Split(name, "|")
		for range rnd.IntN(7) {
			args = append(args, []string{"a", "b", "0", "1", "2", "3", "-1", "streams", "STREAMS", "store", "x"}[rnd.IntN(11)])
		}
		for _, sub := range []string{"GETKEYS", "GETKEYSANDFLAGS"} {
			call := append([]string{"COMMAND", sub}, args...)
			want, got := redis.do(call...), callValue(t, table, call...)
			require.Equal(t, want.String(), got.String(), "%q", call)
			if got.Kind == resp.Array && len(got.Elems) > 0 {
				found++
			}
		}
	}
	require.Greater(t, found, 1000)
}

func callValue(t *testing.T, table *Table, args ...string) resp.Value {
	return call(t, table, 2, args...)
}

func TestGetKeysAgainstRedis(t *testing.T) {
	redis := startOracle(t)
	table := redisTable(t)
	for _, line := range []string{
		"get", "get a", "get a b", "nosuch a", "ping x", "client list", "client", "client nosuch x", "object freq a", "object freq",
		"object nosuch a", "object", "mset a b c d", "mset a b c", "mset a", "zunion 2 a b", "zunion 3 a b", "zunion 0 a",
		"zunion x a", "zunion -1 a b", "eval s 0", "eval s 2 a b", "eval s 2 a", "eval s x a", "eval s -1 a",
		"zunionstore d 2 a b", "blmpop 0 2 a b left", "xread streams a 0", "xread count 1 streams a b 0 0",
		"xread count 1 2", "xread streams streams 0 0", "xreadgroup group g c streams a >",
		"xreadgroup group streams streams streams a >", "blpop a b 0", "lcs a b", "lcs a b len", "spublish c m",
		"georadius a 0 0 1 m store b", "georadius a 0 0 1 m storedist b store c", "georadius a 0 0 1 m store",
		"rename a b", "copy a b db 1", "memory usage a", "xgroup create a g $", "xinfo stream a",
		"command getkeys get a", "zunion 99999999999999999999 a", "zunion 9223372036854775807 a",
	} {
		for _, sub := range []string{"getkeys", "getkeysandflags"} {
			args := append([]string{"command", sub}, strings.Fields(line)...)
			require.Equal(t, redis.do(args...).String(), callValue(t, table, args...).String(), "%v", args)
		}
	}
}

func TestKeyPositions(t *testing.T) {
	find := plain("sorted", Key("key", RO|Access), Opt(Key("to", OW|Update).After("STORE").Anywhere()))
	find.Flags = Write
	find.FindKeys = func(args [][]byte, dst []KeyRef) ([]KeyRef, bool) {
		if len(args) < 2 {
			return dst, false
		}
		return append(dst, KeyRef{1, RO | Access}, KeyRef{len(args) - 1, OW | Update}), true
	}
	table := NewTable([]Row{
		find,
		plain("mlock", Int("numkeys"), Key("key", RO).Many(), Str("owner"), Opt(Int("ms").After("PX"))),
		plain("channel", Channel("channel")),
	})
	cases := []struct {
		args string
		want string
	}{
		{"sorted a x y b", "[1 4] <nil>"},
		{"mlock 2 a b me", "[2 3] <nil>"},
		{"mlock 1 a me PX 5", "[2] <nil>"},
		{"mlock 0 a me", "[] ERR Invalid arguments specified for command"},
		{"mlock 9 a me", "[] ERR Invalid arguments specified for command"},
		{"channel a", "[] <nil>"},
	}
	for _, c := range cases {
		args := words(strings.Fields(c.args)...)
		row, err := table.Resolve(args)
		require.NoError(t, err, c.args)
		got, err := table.KeyPositions(row, args, nil)
		require.Equal(t, c.want, fmt.Sprint(got, " ", err), c.args)
	}
	row := table.Lookup([]byte("mlock"))
	require.Equal(t, []int{7, 2}, must(table.KeyPositions(row, words("mlock", "1", "a", "me"), []int{7})), "appends")

	many := []string{"mlock", "100"}
	for i := range 100 {
		many = append(many, strconv.Itoa(i))
	}
	require.Len(t, must(table.KeyPositions(row, words(append(many, "me")...), nil)), 100)
}

func TestKeyPositionsAllocateNothing(t *testing.T) {
	table := redisTable(t)
	args := words("xread", "count", "1", "streams", "a", "b", "0", "0")
	row := table.Lookup(args[0])
	var room [8]int
	require.Zero(t, testing.AllocsPerRun(100, func() {
		if p, err := table.KeyPositions(row, args, room[:0]); err != nil || len(p) != 2 {
			t.Fatal(p, err)
		}
	}))
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
