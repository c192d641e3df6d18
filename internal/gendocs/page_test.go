package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/commands"
	"lockserver/internal/config"
	"lockserver/server"
)

func TestCommittedPagesAreUpToDate(t *testing.T) {
	root := filepath.Join("..", "..")
	files, err := parts(root)
	require.NoError(t, err)
	require.Len(t, files, 12)
	for name, want := range files {
		committed, err := os.ReadFile(filepath.Join(root, name))
		require.NoError(t, err)
		text := strings.ReplaceAll(string(committed), "\r\n", "\n") // a checkout on Windows may have such line ends
		require.True(t, text == want, "%s is not what its table says: run 'make docs'", name)
	}
}

func TestDirectives(t *testing.T) {
	text := directives(config.Reference{Sections: []config.Section{{Title: "Locks", Entries: []config.Entry{
		{Names: []string{"lease", "term"}, Default: "3", Redis: "not in Redis", Changes: "CONFIG SET", Doc: "seconds"},
		{Names: []string{"dir"}, Default: ".", Changes: "CONFIG SET, if allowed", Doc: "where"},
		{Names: []string{"port"}, Default: "1", Doc: "which"},
	}}}, Accepted: []string{"a", "b", "c", "d", "e"}, Refused: []config.Refusal{{Names: []string{"x", "y"}, Reason: "not there"}}})
	require.Equal(t, "### Locks\n\n| directive | default | what it does |\n|---|---|---|\n"+
		"| `lease` *, also `term` | 3 (not in Redis) | seconds |\n| `dir` (*) | . | where |\n| `port` | 1 | which |\n\n"+
		"### Accepted, without effect\n\nThese tune something inside Redis. They are checked, shown and written as there, and change no other reply and no file. They are:\n"+
		"`a`, `b`, `c`, `d`,\n`e`.\n\n### Refused, unless the value says no\n\n| directive | reason |\n|---|---|\n| `x`, `y` | not there |\n", text)
}

func TestUsage(t *testing.T) {
	run := func(*commands.Ctx) error { return nil }
	table := commands.NewTable([]commands.Row{{
		Name: "try", Group: commands.Lock, Since: "1.0.0", Summary: "Tries.", Complexity: "O(1)", Run: run,
		Args: []commands.Arg{
			commands.Str("first"),
			commands.OneOf("how", commands.Flag("FAST"), commands.Int("speed").After("AT")),
			commands.Opt(commands.OneOf("lease", commands.Int("ms").After("PX"), commands.Int("s").After("EX"))),
			commands.Opt(commands.OneOf("by", commands.Str("a").After("A"), commands.Str("b").After("B")).After("FILTERBY")),
			commands.Opt(commands.Int("id").After("ID").Many()),
			commands.Opt(commands.Str("tag").After("TAG").ManyTokens()),
			commands.OneOf("filter", commands.Str("addr").After("ADDR"), commands.Str("user").After("USER")).Many(),
			commands.Block("pair", commands.Str("field"), commands.Str("value")).Many(),
		},
	}, {
		Name: "box", Group: commands.Server, Since: "1.0.0", Summary: "Holds.", Complexity: "O(1)",
		Sub: []commands.Row{{Name: "open", Group: commands.Server, Since: "1.0.0", Summary: "Opens.", Complexity: "O(1)", Run: run}},
	}})
	require.Equal(t, "TRY first <FAST|AT speed> [PX ms|EX s] [FILTERBY <A a|B b>] [ID id [id ...]] [TAG tag [TAG tag ...]] "+
		"<ADDR addr|USER user> ... field value [field value ...]", usage(table.Lookup([]byte("try"))))
	require.Equal(t, "BOX OPEN", usage(table.LookupFull([]byte("box|open"))))

	text := string(page(table.Rows()))
	require.Contains(t, text, "\n### BOX\n\nHolds.\n", "a container that is no command by itself has no usage line")
	require.Contains(t, text, "\n#### BOX OPEN\n\n    BOX OPEN\n\nOpens.\n\nComplexity: O(1). Since: 1.0.0.\n")
	require.Less(t, strings.Index(text, "## Group: lock"), strings.Index(text, "## Group: server"), "native commands come first")
}

func TestAnchor(t *testing.T) {
	require.Equal(t, "lockforce", anchor("LOCK.FORCE"), "as GitHub does it")
	require.Equal(t, "group-sorted-set", anchor("Group: sorted set"))
	require.Equal(t, "eval_ro", anchor("EVAL_RO"))
}

// TestEveryLinkHasItsHeading: the table of contents leads to existing headings, each of them once.
func TestEveryLinkHasItsHeading(t *testing.T) {
	text := string(page(server.FullTable().Rows()))
	headings := make(map[string]int)
	for _, m := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(text, -1) {
		headings[anchor(m[1])]++
	}
	links := regexp.MustCompile(`\]\(#([^)]*)\)`).FindAllStringSubmatch(text, -1)
	require.NotEmpty(t, links)
	for _, m := range links {
		require.Equal(t, 1, headings[m[1]], "heading of #%s", m[1])
	}
}
