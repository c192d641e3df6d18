// Package standalone answers the commands about what a server that stands alone does not have: clusters
// and modules.
//
// It owns these answers and nothing else: it must not know anything of the server. A client asks some of the
// commands when it connects, to find out what the server is.
//
// To add a command: its row.
package standalone

import "lockserver/commands"

// Rows are the commands of this package.
func Rows() []commands.Row { return append(moduleRows(), clusterRows()...) }

// clusterRows are the commands on clusters. They say that there is none in the words of a Redis without
// cluster-enabled.
func clusterRows() []commands.Row {
	alone := func(name, summary string, flags commands.Flags) commands.Row {
		return commands.Row{Name: name, Group: commands.Cluster, Since: "3.0.0", Flags: flags | commands.Fast, Run: noCluster,
			Cats: commands.CatConnection, Summary: summary, Complexity: "O(1)"}
	}
	return []commands.Row{
		alone("readonly", "Would allow reads on a replica of a cluster.", commands.Loading|commands.Stale),
		alone("readwrite", "Would end READONLY.", commands.Loading|commands.Stale),
		alone("asking", "Would let the next command use a slot that is being imported.", 0),
		{Name: "cluster", Group: commands.Cluster, Since: "3.0.0", HelpSince: "5.0.0", Summary: "Commands about a cluster, which this server is no part of.",
			Complexity: "Depends on the subcommand.", Sub: append(clusterQuestions(), clusterChanges()...)},
	}
}

// noCluster is what all of them say.
func noCluster(*commands.Ctx) error { return commands.ErrNoCluster }

func clusterRow(name, since string, flags commands.Flags, summary string, args ...commands.Arg) commands.Row {
	return commands.Row{Name: name, Group: commands.Cluster, Since: since, Flags: flags | commands.Stale, Run: noCluster,
		Summary: summary, Complexity: "O(1)", Args: args}
}

// clusterQuestions are the subcommands that ask about a cluster.
func clusterQuestions() []commands.Row {
	ask := func(name, since, summary string, args ...commands.Arg) commands.Row {
		r := clusterRow(name, since, 0, summary, args...)
		r.Tips = []string{"nondeterministic_output"}
		return r
	}
	plain := func(name, summary string, args ...commands.Arg) commands.Row {
		return clusterRow(name, "3.0.0", 0, summary, args...)
	}
	admin := func(r commands.Row) commands.Row {
		r.Flags |= commands.Admin
		return r
	}
	node := commands.Str("node-id")
	slots := ask("slots", "3.0.0", "Would tell which node has which slots.")
	slots.Flags |= commands.Loading
	slots.Deprecated, slots.ReplacedBy = "7.0.0", "`CLUSTER SHARDS`"
	slaves := admin(ask("slaves", "3.0.0", "Would list the replicas of a node.", node))
	slaves.Deprecated, slaves.ReplacedBy = "5.0.0", "`CLUSTER REPLICAS`"
	shards := ask("shards", "7.0.0", "Would list the shards with their nodes.")
	shards.Flags |= commands.Loading
	return []commands.Row{
		ask("info", "3.0.0", "Would tell the state of the cluster."),
		ask("nodes", "3.0.0", "Would list the nodes."),
		shards,
		ask("links", "7.0.0", "Would list the connections between nodes."),
		slots, slaves,
		admin(ask("replicas", "5.0.0", "Would list the replicas of a node.", node)),
		admin(ask("count-failure-reports", "3.0.0", "Would count the reports of a node's failure.", node)),
		ask("getkeysinslot", "3.0.0", "Would list keys of a slot.", commands.Int("slot"), commands.Int("count")),
		plain("countkeysinslot", "Would count the keys of a slot.", commands.Int("slot")),
		plain("keyslot", "Would tell the slot of a key.", commands.Str("key")),
		plain("myid", "Would tell the id of this node."),
	}
}

// clusterChanges are the subcommands that change a cluster.
func clusterChanges() []commands.Row {
	change := func(name, since, summary string, args ...commands.Arg) commands.Row {
		return clusterRow(name, since, commands.Admin|commands.NoAsyncLoading, summary, args...)
	}
	node, slot := commands.Str("node-id"), commands.Int("slot")
	slotRange := commands.Block("range", commands.Int("start-slot"), commands.Int("end-slot")).Many()
	bump := change("bumpepoch", "3.0.0", "Would raise the epoch of the cluster.")
	bump.Tips = []string{"nondeterministic_output"}
	return []commands.Row{
		change("addslots", "3.0.0", "Would give this node slots.", slot.Many()),
		change("addslotsrange", "7.0.0", "Would give this node ranges of slots.", slotRange),
		bump,
		change("delslots", "3.0.0", "Would take slots from this node.", slot.Many()),
		change("delslotsrange", "7.0.0", "Would take ranges of slots from this node.", slotRange),
		change("failover", "3.0.0", "Would make a replica the master.",
			commands.Opt(commands.OneOf("options", commands.Flag("FORCE"), commands.Flag("TAKEOVER")))),
		change("flushslots", "3.0.0", "Would take all slots from this node."),
		change("forget", "3.0.0", "Would remove a node.", node),
		change("meet", "3.0.0", "Would join another node.", commands.Str("ip"), commands.Int("port"),
			commands.Opt(commands.Int("cluster-bus-port").From("4.0.0"))),
		change("replicate", "3.0.0", "Would make this node a replica of another.", node),
		clusterRow("reset", "3.0.0", commands.Admin|commands.NoScript, "Would forget the cluster.",
			commands.Opt(commands.OneOf("reset-type", commands.Flag("HARD"), commands.Flag("SOFT")))),
		change("saveconfig", "3.0.0", "Would write the cluster's configuration."),
		change("set-config-epoch", "3.0.0", "Would set the epoch of a new node.", commands.Int("config-epoch")),
		change("setslot", "3.0.0", "Would move a slot.", slot, commands.OneOf("subcommand",
			node.Named("importing").Shown("node-id").After("IMPORTING"), node.Named("migrating").Shown("node-id").After("MIGRATING"),
			node.Named("node").Shown("node-id").After("NODE"), commands.Flag("STABLE"))),
	}
}

// moduleRows are about modules.
func moduleRows() []commands.Row {
	return []commands.Row{
		{Name: "module", Group: commands.Server, Since: "4.0.0", HelpSince: "5.0.0", Summary: "Commands about modules, of which there are none.",
			Complexity: "Depends on the subcommand.", Sub: []commands.Row{
				{Name: "list", Group: commands.Server, Since: "4.0.0", Flags: commands.Admin | commands.NoScript, Run: moduleList,
					Tips: []string{"nondeterministic_output_order"}, Summary: "Lists the modules: none.", Complexity: "O(1)"}}},
	}
}

func moduleList(c *commands.Ctx) error {
	c.Out.Array(0)
	return nil
}
