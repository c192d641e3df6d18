package commands

import (
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/resp"
)

func TestHelp(t *testing.T) {
	container := Row{Name: "thing", Group: Server, Since: "1.0.0", Summary: "Works with things.", Sub: []Row{
		{Name: "list", Group: Server, Since: "1.0.0", Summary: "Lists things.", Run: nothing, Args: []Arg{
			Opt(OneOf("type", Flag("NORMAL"), Flag("MASTER")).After("TYPE")), Opt(Int("id").After("ID").Many())}},
		{Name: "kill", Group: Server, Since: "1.0.0", Summary: "Ends things.", Run: nothing, Args: []Arg{
			OneOf("mode", Flag("ON"), Flag("OFF")), Str("name").Many(), Opt(Str("prefix").After("PREFIX").ManyTokens()),
			Opt(Block("range", Int("from"), Int("to")).After("RANGE"))}},
	}}
	table := NewTable([]Row{container}, CommandRows())
	var lines []string
	for _, e := range callValue(t, table, "thing", "HELP").Elems {
		require.Equal(t, resp.Simple, e.Kind)
		lines = append(lines, e.Str)
	}
	require.Equal(t, []string{
		"THING <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
		"LIST [TYPE NORMAL|MASTER] [ID <id> [<id> ...]]",
		"    Lists things.",
		"KILL (ON|OFF) <name> [<name> ...] [PREFIX <prefix> [PREFIX <prefix> ...]] [RANGE <from> <to>]",
		"    Ends things.",
		"HELP",
		"    Print this help.",
	}, lines)
	require.Equal(t, "ERR wrong number of arguments for 'thing' command", callValue(t, table, "thing").Str)
	require.Equal(t, "ERR wrong number of arguments for 'thing|help' command", callValue(t, table, "thing", "help", "x").Str)
	require.Equal(t, "(no subcommand)", callValue(t, table, "command", "help").Elems[1].Str)
}
