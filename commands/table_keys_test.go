package commands

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/resp"
	"lockserver/tests/tabletest"
)

// redisRows returns the rows of all commands of Redis 7.4, made from the golden file.
func redisRows(t testing.TB) []Row {
	t.Helper()
	golden := tabletest.Golden()
	var rows []Row
	for _, name := range tabletest.Names(golden) {
		row := redisRow(t, name, golden[name])
		state(&row, name)
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

func callValue(t *testing.T, table *Table, args ...string) resp.Value {
	return call(t, table, 2, args...)
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
	var array [8]int
	require.Zero(t, testing.AllocsPerRun(100, func() {
		if p, err := table.KeyPositions(row, args, array[:0]); err != nil || len(p) != 2 {
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
