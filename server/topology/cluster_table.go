package topology

import (
	"maps"
	"slices"

	"lockserver/commands"
)

// handler handles a command about a cluster.
type handler func(g *Group, p *Connection, c *commands.Ctx) error

// clusterHandlers returns the handler of each row of clusterRows. Commands that change a cluster have no
// entry: see refuseChange.
func clusterHandlers() map[string]handler {
	return map[string]handler{
		"readonly": readOnly, "readwrite": readWrite, "asking": asking,
		"info": clusterInfo, "nodes": nodes, "shards": shards, "links": links, "slots": slotRanges,
		"slaves": replicasOf, "replicas": replicasOf, "count-failure-reports": failureReports,
		"getkeysinslot": keysInSlot, "countkeysinslot": countKeysInSlot, "keyslot": keySlot, "map": mapText, "myid": myID, "myshardid": myShardID,
	}
}

// Rows returns the commands about clusters. A server outside of a cluster replies in the words of a Redis
// without cluster-enabled.
func Rows(of Of, later Later) []commands.Row {
	handlers := clusterHandlers()
	maps.Copy(handlers, moveHandlers(later))
	bind := func(rows []commands.Row) {
		for i := range rows {
			answer, known := handlers[rows[i].Name]
			if !known {
				answer = refuseChange
			}
			if len(rows[i].Sub) == 0 {
				rows[i].Run = func(c *commands.Ctx) error {
					g, p := of(c)
					if !g.IsCluster() {
						return commands.ErrNoCluster
					}
					return answer(g, p, c)
				}
			}
		}
	}
	rows := clusterRows()
	bind(rows)
	for i := range rows {
		bind(rows[i].Sub)
	}
	return rows
}

func clusterRows() []commands.Row {
	alone := func(name, summary string, flags commands.Flags) commands.Row {
		return commands.Row{Name: name, Group: commands.Cluster, Since: "3.0.0", Flags: flags | commands.Fast,
			Cats: commands.CatConnection, Summary: summary, Complexity: "O(1)"}
	}
	return []commands.Row{
		alone("readonly", "Says that the connection would read from a replica of a cluster.", commands.Loading|commands.Stale),
		alone("readwrite", "Ends READONLY.", commands.Loading|commands.Stale),
		alone("asking", "Would let the next command use a slot that is being imported.", 0),
		{Name: "cluster", Group: commands.Cluster, Since: "3.0.0", HelpSince: "5.0.0", Summary: "Commands about a cluster.",
			Complexity: "Depends on the subcommand.", Sub: slices.Concat(clusterQuestions(), clusterChanges(), moveRows())},
	}
}

func clusterRow(name, since string, flags commands.Flags, summary string, args ...commands.Arg) commands.Row {
	return commands.Row{Name: name, Group: commands.Cluster, Since: since, Flags: flags | commands.Stale,
		Summary: summary, Complexity: "O(1)", Args: args}
}

// clusterQuestions returns the subcommands that read the state of a cluster.
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
	slots := ask("slots", "3.0.0", "Tells which node has which slots.")
	slots.Flags |= commands.Loading
	slots.Deprecated, slots.ReplacedBy = "7.0.0", "`CLUSTER SHARDS`"
	slaves := admin(ask("slaves", "3.0.0", "Lists the replicas of a node.", node))
	slaves.Deprecated, slaves.ReplacedBy = "5.0.0", "`CLUSTER REPLICAS`"
	shards := ask("shards", "7.0.0", "Lists the shards with their nodes.")
	shards.Flags |= commands.Loading
	known := ask("map", "1.0.0", "Tells what this server knows of all shards, if they are raft groups: as JSON, for other servers.")
	known.Flags |= commands.Loading
	return []commands.Row{
		ask("info", "3.0.0", "Tells the state of the cluster."),
		ask("nodes", "3.0.0", "Lists the nodes."),
		shards,
		ask("links", "7.0.0", "Lists the connections between nodes. Here: two for each other node that is up."),
		slots, slaves,
		admin(ask("replicas", "5.0.0", "Lists the replicas of a node.", node)),
		admin(ask("count-failure-reports", "3.0.0", "Counts the reports of a node's failure.", node)),
		ask("getkeysinslot", "3.0.0", "Lists keys of a slot.", commands.Int("slot"), commands.Int("count")),
		plain("countkeysinslot", "Counts the keys of a slot.", commands.Int("slot")),
		plain("keyslot", "Tells the slot of a key.", commands.Str("key")),
		known,
		plain("myid", "Tells the id of this node."),
		ask("myshardid", "7.2.0", "Tells the id of this node's shard."),
	}
}

// clusterChanges returns the subcommands that change a cluster.
func clusterChanges() []commands.Row {
	change := func(name, since, summary string, args ...commands.Arg) commands.Row {
		return clusterRow(name, since, commands.Admin|commands.NoAsyncLoading, summary, args...)
	}
	node, slot := commands.Str("node-id"), commands.Int("slot")
	slotRange := commands.Block("range", commands.Int("start-slot"), commands.Int("end-slot")).Many()
	bump := change("bumpepoch", "3.0.0", "Tells the epoch of the cluster, which is high enough.")
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
		change("saveconfig", "3.0.0", "Returns OK: the configuration of the cluster is on disk."),
		change("set-config-epoch", "3.0.0", "Would set the epoch of a new node.", commands.Int("config-epoch")),
		change("setslot", "3.0.0", "Would move a slot.", slot, commands.OneOf("subcommand",
			node.Named("importing").Shown("node-id").After("IMPORTING"), node.Named("migrating").Shown("node-id").After("MIGRATING"),
			node.Named("node").Shown("node-id").After("NODE"), commands.Flag("STABLE"))),
	}
}
