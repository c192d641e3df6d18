// Package standalone answers the commands about what no server has here: modules.
//
// It owns these answers and nothing else: it must not know anything of the server. A client asks some of the
// commands when it connects, to find out what the server is. Clusters, which a server may be part of, are
// package topology's.
//
// To add a command: its row.
package standalone

import "lockserver/commands"

// Rows are the commands of this package.
func Rows() []commands.Row { return moduleRows() }

// moduleRows are about modules.
func moduleRows() []commands.Row {
	return []commands.Row{
		{Name: "module", Group: commands.Server, Since: "4.0.0", HelpSince: "5.0.0", Summary: "Commands about modules. This server has none.",
			Complexity: "Depends on the subcommand.", Sub: []commands.Row{
				{Name: "list", Group: commands.Server, Since: "4.0.0", Flags: commands.Admin | commands.NoScript, Run: moduleList,
					Tips: []string{"nondeterministic_output_order"}, Summary: "Lists the modules: none.", Complexity: "O(1)"}}},
	}
}

func moduleList(c *commands.Ctx) error {
	c.Out.Array(0)
	return nil
}
