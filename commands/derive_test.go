package commands

import (
	"bufio"
	"bytes"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/resp"
	"lockserver/tests/tabletest"
)

// redisRow returns a row from the documentation of a Redis command: flags, grammar and the use of its keys.
// Arity, key positions and categories are left out, because the table must derive them.
func redisRow(t testing.TB, name string, f tabletest.Facts) Row {
	t.Helper()
	if bar := strings.IndexByte(name, '|'); bar >= 0 {
		name = name[bar+1:]
	}
	r := Row{Name: name, Summary: "-", Since: "-", Run: func(*Ctx) error { return nil }}
	var access []KeyFlags
	for _, line := range f {
		key, rest, _ := strings.Cut(line, " ")
		switch key {
		case "flags":
			if name == "pfcount" {
				r.Flags = MayReplicate // a flag that Redis does not print
			}
			r.Flags |= flagsOf(t, rest) &^ MovableKeys
		case "group":
			r.Group = Group(slices.Index(groupNames[:], rest))
		case "since":
			r.Since = rest
		case "docs":
			r.SysCmd = rest == "syscmd"
			if since, ok := strings.CutPrefix(rest, "deprecated "); ok {
				r.Deprecated = since
			}
		case "keys":
			_, spec, _ := strings.Cut(rest, ": ")
			uses, place, _ := strings.Cut(spec, "; ")
			u := keyFlagsOf(t, uses)
			if strings.HasPrefix(place, "unknown") {
				u |= unknownPlace
			}
			if u&(unknownPlace|VariableFlags) != 0 {
				r.FindKeys = func([][]byte, []KeyRef) ([]KeyRef, bool) { return nil, false }
			}
			access = append(access, u)
		}
	}
	args := slices.DeleteFunc(slices.Clone(f), func(l string) bool { return !strings.HasPrefix(l, "arg ") })
	r.Args = redisArgs(t, &args, 0, access)
	return r
}

// redisArgs reads the arguments at one depth of indentation, and all below them.
func redisArgs(t testing.TB, lines *tabletest.Facts, depth int, access []KeyFlags) []Arg {
	var args []Arg
	prefix := "arg " + strings.Repeat("  ", depth)
	for len(*lines) > 0 {
		line, ok := strings.CutPrefix((*lines)[0], prefix)
		if !ok || strings.HasPrefix(line, " ") {
			break
		}
		*lines = (*lines)[1:]
		quoted, err := strconv.QuotedPrefix(line)
		require.NoError(t, err)
		var a Arg
		a.Name, _ = strconv.Unquote(quoted)
		for _, w := range strings.Fields(line[len(quoted):]) {
			switch k, v, _ := strings.Cut(w, "="); k {
			case "optional":
				a.Optional = true
			case "multiple":
				a.Multiple = true
			case "multiple_token":
				a.MultipleToken = true
			case "token":
				a.Token, err = strconv.Unquote(v)
				require.NoError(t, err)
				a.noToken = v == `""`
			case "shown":
				a.Display, err = strconv.Unquote(v)
				require.NoError(t, err)
			case "since":
				a.Since = v
			case "deprecated_since":
				a.Deprecated = v
			case "spec":
				n, err := strconv.Atoi(v)
				require.NoError(t, err)
				a.Access = access[n] &^ Incomplete
				a.fromEnd = access[n]&Incomplete != 0 && a.Kind == KindKey
			default:
				kind := slices.Index(kindNames[:], w)
				require.GreaterOrEqual(t, kind, 0, w)
				a.Kind = ArgKind(kind)
			}
		}
		if a.Kind == KindString && slices.Contains(access, NotKey) && strings.HasPrefix(a.Name, "shardchannel") {
			a.Access = NotKey
		}
		a.Args = redisArgs(t, lines, depth+1, access)
		args = append(args, a)
	}
	return args
}

func flagsOf(t testing.TB, words string) Flags {
	var flags Flags
	for w := range strings.FieldsSeq(words) {
		i := slices.IndexFunc(flagNames[:], func(n struct {
			flag Flags
			name string
		}) bool {
			return n.name == w
		})
		require.GreaterOrEqual(t, i, 0, w)
		flags |= flagNames[i].flag
	}
	return flags
}

func keyFlagsOf(t testing.TB, words string) KeyFlags {
	var flags KeyFlags
	for w := range strings.FieldsSeq(words) {
		i := slices.Index(keyFlagNames[:], w)
		require.GreaterOrEqual(t, i, 0, w)
		flags |= 1 << i
	}
	return flags
}

// stated holds the fields that the rows of some Redis commands need besides their grammar.
// TestDeriveAllOfRedis shows that all other rows follow from flags and grammar alone.
var stated = map[string]struct {
	cats    Category
	minArgs int
}{
	"asking": {cats: CatConnection}, "readonly": {cats: CatConnection}, "readwrite": {cats: CatConnection},
	"command": {cats: CatConnection}, "command|count": {cats: CatConnection}, "command|docs": {cats: CatConnection},
	"command|help": {cats: CatConnection}, "command|info": {cats: CatConnection}, "command|list": {cats: CatConnection},
	"command|getkeys": {cats: CatConnection}, "command|getkeysandflags": {cats: CatConnection},
	"client|kill": {minArgs: 3}, "debug": {minArgs: 2},
	"psync": {minArgs: 3}, "quit": {minArgs: 1}, "replconf": {minArgs: 1},
	"dbsize": {cats: CatKeyspace}, "flushall": {cats: CatKeyspace | CatDangerous},
	"flushdb": {cats: CatKeyspace | CatDangerous}, "swapdb": {cats: CatKeyspace | CatDangerous},
	"restore-asking": {cats: CatKeyspace | CatDangerous}, "info": {cats: CatDangerous}, "keys": {cats: CatDangerous},
	"lastsave": {cats: CatAdmin | CatDangerous}, "role": {cats: CatAdmin | CatDangerous},
	"migrate": {cats: CatDangerous}, "restore": {cats: CatDangerous},
	"sort":    {cats: CatInstead | CatSet | CatSortedSet | CatList | CatDangerous},
	"sort_ro": {cats: CatInstead | CatSet | CatSortedSet | CatList | CatDangerous},
	"wait":    {cats: CatInstead | CatConnection}, "waitaof": {cats: CatInstead | CatConnection},
}

// state adds these fields to a row.
func state(row *Row, name string) {
	row.Cats, row.MinArgs = stated[name].cats, stated[name].minArgs
}

// underivable lists facts that a table cannot express, whatever fields a row has.
var underivable = map[string]struct{ lines, why string }{
	"pubsub|help": {"categories", "not @pubsub, unlike the help of other groups"},
}

func TestDeriveAllOfRedis(t *testing.T) {
	golden := tabletest.Golden()
	for _, name := range tabletest.Names(golden) {
		t.Run(name, func(t *testing.T) {
			row := redisRow(t, name, golden[name])
			state(&row, name)
			var parent *Row
			if c, _, isSub := strings.Cut(name, "|"); isSub {
				parent = &Row{Name: c}
			} else if isContainer(golden, name) {
				row.Sub = []Row{{}}
				if name != "command" {
					row.Run = nil
				}
			}
			nameRow(&row, parent)
			checkStated(&row)
			derive(&row)
			skip := underivable[name].lines
			require.Equal(t, golden[name].Without(skip), derivedFacts(t, &row).Without(skip))
		})
	}
}

func isContainer(golden map[string]tabletest.Facts, name string) bool {
	return slices.ContainsFunc(tabletest.Names(golden), func(n string) bool { return strings.HasPrefix(n, name+"|") })
}

// derivedFacts returns the facts of a row, without those that cannot be derived.
func derivedFacts(t *testing.T, r *Row) tabletest.Facts {
	out := &resp.Writer{Proto: 3}
	writeInfo(out, r)
	out.Map(1)
	writeDocs(out, r)
	in := bufio.NewReader(bytes.NewReader(out.Buf))
	info, err := resp.ReadValue(in)
	require.NoError(t, err)
	docs, err := resp.ReadValue(in)
	require.NoError(t, err)
	all := map[string]tabletest.Facts{}
	tabletest.DescribeInfo(t, all, info)
	tabletest.DescribeDocs(t, all, docs)
	require.Len(t, all, 1)
	return all[r.fullName]
}

func TestMember(t *testing.T) {
	table := NewTable(Families()...)
	for name, want := range map[string]int{
		"sadd": 2, "srem": 2, "sismember": 2, "hset": 2, "hget": 2, "hincrby": 2, "hsetnx": 2,
		"get": 0, "smove": 0, "sinter": 0, "hgetall": 0, "lock": 0,
	} {
		require.Equal(t, want, table.Lookup([]byte(name)).member, name)
	}
}
