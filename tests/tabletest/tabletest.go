// Package tabletest holds what Redis 7.4 says about its own commands, and compares
// other servers' tables with it.
//
// It owns the golden file and the form in which the facts of a command are written there: one paragraph a
// command, one line a fact. It reads replies of COMMAND and COMMAND DOCS in version 3 of the protocol, from
// any source. So any package with rows of its own can use it in its tests.
//
// The golden file holds facts only: arity, flags, ranges, ACL categories, key specs, groups, versions and
// arguments. To make it anew from the redis-server that ORACLE names: go test ./commands -run Golden -update.
package tabletest

import (
	_ "embed"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/resp"
)

//go:embed testdata/redis-7.4.txt
var golden string

// goldenVersion is the version of the golden file; arguments that are newer are not compared.
var goldenVersion = [...]int{7, 4, 1}

// Do asks a server and returns its reply, in version 3 of the protocol.
type Do func(args ...string) resp.Value

// Compare fails the test for every command that both the server and Redis 7.4 have, but describe
// differently, and names the facts. Known says which of the server's commands Redis has.
func Compare(t *testing.T, do Do) (known []string) {
	t.Helper()
	redis, ours := Golden(), Describe(t, do)
	for _, name := range Names(ours) {
		if _, ok := redis[name]; !ok {
			continue
		}
		known = append(known, name)
		t.Run(name, func(t *testing.T) {
			require.Equal(t, redis[name].String(), ours[name].String(),
				"expected is what Redis says of %q, actual what follows from our row", name)
		})
	}
	return known
}

// Facts is a paragraph of the golden file: what is known of one command, a line each.
type Facts []string

func (f Facts) String() string { return strings.Join(f, "\n") }

// Without drops the lines that begin with one of the words.
func (f Facts) Without(words string) Facts {
	skip := strings.Fields(words)
	return slices.DeleteFunc(slices.Clone(f), func(line string) bool {
		first, _, _ := strings.Cut(line, " ")
		return slices.Contains(skip, first)
	})
}

// Describe asks a server about all its commands and returns the facts by full name.
func Describe(t testing.TB, do Do) map[string]Facts {
	t.Helper()
	all := map[string]Facts{}
	for _, info := range do("COMMAND").Elems {
		DescribeInfo(t, all, info)
	}
	docs := do("COMMAND", "DOCS")
	require.Equal(t, resp.Map, docs.Kind)
	DescribeDocs(t, all, docs)
	return all
}

// DescribeInfo adds the facts in one element of the reply of COMMAND INFO, subcommands included.
func DescribeInfo(t testing.TB, all map[string]Facts, v resp.Value) {
	require.Len(t, v.Elems, 10)
	require.Equal(t, "*$:~:::~~~", kinds(v)[:10])
	name := v.Elems[0].Str
	f := Facts{
		fmt.Sprintf("arity %d", v.Elems[1].Int),
		strings.TrimSpace("flags " + texts(v.Elems[2])),
		fmt.Sprintf("range %d %d %d", v.Elems[3].Int, v.Elems[4].Int, v.Elems[5].Int),
		strings.TrimSpace("categories " + texts(v.Elems[6])),
	}
	for i, s := range v.Elems[8].Elems {
		begin, find := field(s, "begin_search"), field(s, "find_keys")
		f = append(f, fmt.Sprintf("keys %d: %s; %s; %s", i, texts(field(s, "flags")), search(begin), search(find)))
	}
	all[name] = f
	subs := v.Elems[9]
	if len(subs.Elems) == 0 {
		require.Equal(t, resp.Set, subs.Kind)
	} else {
		require.Equal(t, resp.Array, subs.Kind)
	}
	for _, sub := range subs.Elems {
		DescribeInfo(t, all, sub)
	}
}

// kinds are the types of an aggregate and its elements.
func kinds(v resp.Value) string {
	s := string(rune(v.Kind))
	for _, e := range v.Elems {
		s += string(rune(e.Kind))
	}
	return s
}

func search(v resp.Value) string {
	return field(v, "type").Str + " " + field(v, "spec").String()
}

// DescribeDocs adds the facts in the reply of COMMAND DOCS.
func DescribeDocs(t testing.TB, all map[string]Facts, docs resp.Value) {
	for i := 0; i < len(docs.Elems); i += 2 {
		name, doc := docs.Elems[i].Str, docs.Elems[i+1]
		require.Equal(t, resp.Map, doc.Kind)
		require.NotEmpty(t, field(doc, "summary").Str, name)
		f := append(all[name], "group "+field(doc, "group").Str, "since "+field(doc, "since").Str)
		d := field(doc, "deprecated_since")
		if flags := field(doc, "doc_flags"); flags.Kind != 0 && !newer(d.Str) {
			f = append(f, strings.TrimSpace("docs "+texts(flags)+" "+d.Str))
		}
		all[name] = describeArgs(t, f, field(doc, "arguments"), "arg ")
		DescribeDocs(t, all, field(doc, "subcommands"))
	}
}

func describeArgs(t testing.TB, f Facts, args resp.Value, indent string) Facts {
	for _, a := range args.Elems {
		if newer(field(a, "since").Str) {
			continue
		}
		line := indent + strconv.Quote(field(a, "name").Str) + " " + field(a, "type").Str
		if v := field(a, "token"); v.Kind != 0 {
			line += " token=" + strconv.Quote(v.Str)
		}
		name := field(a, "name").Str
		switch shown := field(a, "display_text"); {
		case (shown.Kind == 0) != slices.Contains([]string{"oneof", "block"}, field(a, "type").Str):
			require.Failf(t, "display_text", "of %q is there, or not, against its type", name)
		case shown.Kind != 0 && shown.Str != name:
			line += " shown=" + strconv.Quote(shown.Str)
		}
		for _, version := range []string{"since", "deprecated_since"} {
			if v := field(a, version); v.Kind != 0 {
				line += " " + version + "=" + v.Str
			}
		}
		if v := field(a, "key_spec_index"); v.Kind != 0 {
			line += fmt.Sprintf(" spec=%d", v.Int)
		}
		if v := field(a, "flags"); v.Kind != 0 {
			require.Equal(t, resp.Set, v.Kind)
			line += " " + texts(v)
		}
		f = describeArgs(t, append(f, line), field(a, "arguments"), indent+"  ")
	}
	return f
}

// newer reports whether a version is behind the golden file's.
func newer(version string) bool {
	if version == "" {
		return false
	}
	var v []int
	for _, part := range strings.Split(version, ".") {
		n, err := strconv.Atoi(part)
		if err != nil {
			panic(err)
		}
		v = append(v, n)
	}
	return slices.Compare(v, goldenVersion[:]) > 0
}

// field is the value of a map's key; its Kind is 0 if there is none.
func field(m resp.Value, name string) resp.Value {
	for i := 0; i+1 < len(m.Elems); i += 2 {
		if m.Elems[i].Str == name {
			return m.Elems[i+1]
		}
	}
	return resp.Value{}
}

// texts are the words of a set, in their order.
func texts(v resp.Value) string {
	var s []string
	for _, e := range v.Elems {
		s = append(s, e.Str)
	}
	return strings.Join(s, " ")
}

// Names are the keys of a map of facts in order.
func Names(m map[string]Facts) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// Golden is what Redis 7.4.1 says, by full name.
func Golden() map[string]Facts {
	all := map[string]Facts{}
	var name string
	for line := range strings.Lines(golden) {
		line = strings.TrimSuffix(line, "\n")
		if fact, ok := strings.CutPrefix(line, "  "); ok {
			all[name] = append(all[name], fact)
		} else {
			name = line
		}
	}
	return all
}

// Format writes facts as the golden file does.
func Format(all map[string]Facts) string {
	var b strings.Builder
	for _, name := range Names(all) {
		fmt.Fprintf(&b, "%s\n", name)
		for _, line := range all[name] {
			fmt.Fprintf(&b, "  %s\n", line)
		}
	}
	return b.String()
}
