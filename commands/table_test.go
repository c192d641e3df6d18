package commands

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/tests/tabletest"
)

func nothing(*Ctx) error { return nil }

// plain returns a valid row, which tests can make invalid.
func plain(name string, args ...Arg) Row {
	return Row{Name: name, Group: Generic, Since: "1.0.0", Summary: "-", Run: nothing, Args: args}
}

func TestContradictionsPanic(t *testing.T) {
	key := Key("key", RO|Access)
	cases := map[string]struct {
		spoil func(r *Row)
		says  string
	}{
		"upper-case name":    {func(r *Row) { r.Name = "Get" }, "lower case"},
		"name of two words":  {func(r *Row) { r.Name = "client list" }, "one word"},
		"no group":           {func(r *Row) { r.Group = NoGroup }, "no group"},
		"no summary":         {func(r *Row) { r.Summary = "" }, "no summary"},
		"no version":         {func(r *Row) { r.Since = "" }, "no version"},
		"no handler":         {func(r *Row) { r.Run = nil }, "no Run"},
		"reads and writes":   {func(r *Row) { r.Flags = Write | ReadOnly }, "Write and ReadOnly"},
		"memory to read":     {func(r *Row) { r.Flags = ReadOnly | DenyOOM }, "DenyOOM without Write"},
		"derived flag":       {func(r *Row) { r.Flags = MovableKeys }, "derived"},
		"instead of nothing": {func(r *Row) { r.Cats = CatInstead }, "CatInstead"},
		"lower-case word":    {func(r *Row) { r.Args = []Arg{Flag("nx")} }, "upper case"},
		"flag without word":  {func(r *Row) { r.Args = []Arg{{Name: "x", Kind: KindPureToken}} }, "no word"},
		"nameless":           {func(r *Row) { r.Args = []Arg{Str("")} }, "no name"},
		"choice of one":      {func(r *Row) { r.Args = []Arg{OneOf("x", Flag("NX"))} }, "one of one"},
		"empty block":        {func(r *Row) { r.Args = []Arg{Block("x")} }, "against its kind"},
		"repeats no word":    {func(r *Row) { r.Args = []Arg{Str("x").ManyTokens()} }, "does not have"},
		"option twice": {func(r *Row) { r.Args = []Arg{Opt(Flag("NX")), Opt(OneOf("c", Flag("XX"), Flag("NX")))} },
			"NX is declared twice"},
		"alternative twice": {func(r *Row) { r.Args = []Arg{OneOf("c", Flag("XX"), Str("s").After("XX"))} },
			"XX is declared twice"},
		"option twice in a block": {func(r *Row) {
			r.Args = []Arg{Block("b", Str("s"), Opt(Flag("NX")), Opt(Flag("NX")))}
		}, "NX is declared twice"},
		"use unknown":           {func(r *Row) { r.Args = []Arg{Key("key", Access)} }, "exactly one of"},
		"used twice":            {func(r *Row) { r.Args = []Arg{Key("key", RO|RW)} }, "exactly one of"},
		"changes what it reads": {func(r *Row) { r.Args = []Arg{Key("key", RO|Delete)} }, "read only, and changed"},
		"read-only writer": {func(r *Row) { r.Flags, r.Args = ReadOnly, []Arg{Key("key", RW|Update)} },
			"read-only command changes"},
		"writer without flag":   {func(r *Row) { r.Args = []Arg{Key("key", RW|Update)} }, "without Write"},
		"variable without find": {func(r *Row) { r.Args = []Arg{Key("key", RO|VariableFlags)} }, "no FindKeys"},
		"anywhere without find": {func(r *Row) { r.Args = []Arg{key.After("STORE").Anywhere()} }, "no FindKeys"},
		"string used as key": {func(r *Row) { r.Args = []Arg{{Name: "s", Kind: KindString, Access: RO}} },
			"is no key, but says"},
		"key behind an option":  {func(r *Row) { r.Args = []Arg{Opt(Flag("NX")), key} }, "nowhere in particular"},
		"keys before an option": {func(r *Row) { r.Args = []Arg{key.Many(), Opt(Flag("NX"))} }, "cannot be found"},
		"numkeys behind an option": {func(r *Row) { r.Args = []Arg{Opt(Flag("NX")), Int("numkeys"), key.Many()} },
			"nowhere in particular"},
		"least number already said":          {func(r *Row) { r.Args, r.MinArgs = []Arg{key.Many()}, 2 }, "says nothing new"},
		"first key behind the shortest call": {func(r *Row) { r.Args, r.MinArgs = []Arg{Str("s"), key}, 2 }, "no key at 2"},
		"member behind the shortest call":    {func(r *Row) { r.Args, r.MinArgs = []Arg{key, Str("member").Many()}, 2 }, "no member at 2"},
		"command behind the shortest call":   {func(r *Row) { r.Args, r.Inner = []Arg{Opt(Str("command"))}, 1 }, "no command at 1"},
		"container with arguments":           {func(r *Row) { r.Args, r.Sub = []Arg{key}, []Row{plain("a")} }, "container"},
		"container in a container": {func(r *Row) {
			sub := plain("a")
			sub.Sub = []Row{plain("b")}
			r.Sub = []Row{sub}
		}, "container"},
		"subcommand twice":         {func(r *Row) { r.Sub = []Row{plain("a"), plain("a")} }, "two subcommands"},
		"subcommand named as HELP": {func(r *Row) { r.Sub = []Row{plain("help")} }, "two subcommands"},
		"mistake in a subcommand":  {func(r *Row) { r.Sub = []Row{{Name: "a"}} }, "no group"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			row := plain("thing")
			NewTable([]Row{row})
			c.spoil(&row)
			defer func() {
				require.Contains(t, recover(), c.says)
			}()
			NewTable([]Row{row})
		})
	}
	require.PanicsWithValue(t, `commands: row "get": two commands of this name`, func() {
		NewTable([]Row{plain("get"), plain("set")}, []Row{plain("get")})
	})
}

func TestRowsAreCopied(t *testing.T) {
	rows := []Row{plain("thing", Block("b", Str("s"), Int("n").After("X")).Many())}
	first, second := NewTable(rows), NewTable(rows)
	first.Rows()[0].Args[0].Args[0].Name = "changed"
	require.Equal(t, "s", rows[0].Args[0].Args[0].Name)
	require.Equal(t, "s", second.Rows()[0].Args[0].Args[0].Name)
	require.Empty(t, rows[0].FullName(), "what is derived is in the table's copy")
}

func TestLookup(t *testing.T) {
	golden := tabletest.Golden()
	table := redisTable(t)
	for name := range golden {
		row := table.LookupFull([]byte(strings.ToUpper(name)))
		require.NotNil(t, row, name)
		require.Equal(t, name, row.FullName())
	}
	for _, name := range []string{"", "g", "ge", "gett", "get ", "\x07et", "GET\x00", "client|", "|", "|list", "client|lis", "get|x",
		"client|list|x", "nosuch", "nosuch|x", strings.Repeat("x", 10000)} {
		require.Nil(t, table.LookupFull([]byte(name)), "%q", name)
	}
	require.Nil(t, NewTable().Lookup([]byte("get")))
}

// TestLowerBytes: different names stay different, because only letters have two cases.
func TestLowerBytes(t *testing.T) {
	for a := range 256 {
		want := uint64(a)
		if 'A' <= a && a <= 'Z' {
			want += 'a' - 'A'
		}
		for shift := 0; shift < 64; shift += 8 {
			for _, others := range []uint64{0, 0x4141414141414141, 0xffffffffffffffff, 0x5b5b5b5b5b5b5b5b} {
				hole := uint64(0xff) << shift
				got := lowerBytes(others&^hole | uint64(a)<<shift)
				require.Equal(t, want, got>>shift&0xff, "%q at bit %d among %x", a, shift, others)
			}
		}
	}
}

func TestLookupAllocatesNothing(t *testing.T) {
	table := redisTable(t)
	args := words("ClIeNt", "LiSt")
	require.Zero(t, testing.AllocsPerRun(100, func() {
		if _, err := table.Resolve(args); err != nil {
			t.Fatal(err)
		}
	}))
}

func BenchmarkLookup(b *testing.B) {
	table := redisTable(b)
	for _, name := range []string{"get", "HINCRBY", "unsubscribe"} {
		b.Run(name, func(b *testing.B) {
			key := []byte(name)
			for b.Loop() {
				if table.Lookup(key) == nil {
					b.Fatal(name)
				}
			}
		})
	}
}

func BenchmarkNewTable(b *testing.B) {
	rows := redisRows(b)
	for b.Loop() {
		NewTable(rows)
	}
}
