package server

import (
	"lockserver/commands"
	"lockserver/internal/resp"
)

// A server is a master without replicas: that is what ROLE says, and all that REPLICAOF can make of it.
// Besides them, what a server has nothing of but is asked for: modules.

func replicationRows() []commands.Row {
	replicaOf := func(name, since string) commands.Row {
		return commands.Row{Name: name, Group: commands.Server, Since: since,
			Flags:   commands.Admin | commands.NoScript | commands.Stale | commands.NoAsyncLoading,
			Summary: "Makes the server a master, which it is; it cannot be a replica.", Complexity: "O(1)", Run: replicaof,
			Args: []commands.Arg{commands.OneOf("args",
				commands.Block("host-port", commands.Str("host"), commands.Int("port")),
				commands.Block("no-one", commands.Flag("NO"), commands.Flag("ONE")))}}
	}
	slaveOf := replicaOf("slaveof", "1.0.0")
	slaveOf.Deprecated, slaveOf.ReplacedBy = "5.0.0", "`REPLICAOF`"
	return []commands.Row{
		{Name: "role", Group: commands.Server, Since: "2.8.12", Flags: whenever | commands.Fast, Run: role,
			Cats: commands.CatAdmin | commands.CatDangerous, Summary: "Tells that the server is a master without replicas.", Complexity: "O(1)"},
		replicaOf("replicaof", "5.0.0"), slaveOf,
		{Name: "module", Group: commands.Server, Since: "4.0.0", Summary: "Commands about modules, of which there are none.",
			Complexity: "Depends on the subcommand.", Sub: []commands.Row{
				{Name: "list", Group: commands.Server, Since: "4.0.0", Flags: commands.Admin | commands.NoScript, Run: moduleList,
					Tips: []string{"nondeterministic_output_order"}, Summary: "Lists the modules: none.", Complexity: "O(1)"}}},
	}
}

// role answers as a master: the place in the stream that replicas would read, and the replicas.
func role(c *commands.Ctx) error {
	c.Out.Array(3)
	c.Out.BulkString("master")
	c.Out.Int(0)
	c.Out.Array(0)
	return nil
}

func replicaof(c *commands.Ctx) error {
	host, port := c.Argv[1], c.Argv[2]
	if equalWord(host, "no") && equalWord(port, "one") {
		c.Out.OK()
		return nil
	}
	if n, ok := resp.ParseInt(port); !ok || n < 0 || n > 65535 {
		return commands.ErrMasterPort
	}
	return commands.ErrNoReplication
}

func moduleList(c *commands.Ctx) error {
	c.Out.Array(0)
	return nil
}
