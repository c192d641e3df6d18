// Package standalone has the commands for a feature that no server here has: modules.
//
// It owns only their replies: it must not know anything of the server. A client sends some of the commands
// when it connects, to find out what the server is. Clusters, which a server may be part of, belong to
// package topology.
//
// To add a command, add its row.
package standalone

import "lockserver/commands"

// Rows returns the commands of this package.
func Rows() []commands.Row { return moduleRows() }

// moduleRows returns the commands about modules.
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
