package server

import (
	"slices"
	"sync"

	"lockserver/commands"
	"lockserver/internal/config"
	"lockserver/server/acl"
	"lockserver/server/attach"
	"lockserver/server/audit"
	"lockserver/server/debug"
	"lockserver/server/dump"
	"lockserver/server/durability"
	"lockserver/server/memory"
	"lockserver/server/monitor"
	"lockserver/server/pubsub"
	"lockserver/server/raft"
	"lockserver/server/replication"
	"lockserver/server/script"
	"lockserver/server/standalone"
	"lockserver/server/stats"
	"lockserver/server/testmode"
	"lockserver/server/topology"
	"lockserver/server/wait"
)

// serverRows are the tables of the commands that need the server itself.
func serverRows() [][]commands.Row {
	return [][]commands.Row{
		connectionRows(), transactionRows(), pubsub.Rows(subscriberOf), monitor.Rows(beginMonitoring), clientRows(), configRows(), infoRows(), durability.Rows(storageOf), shutdownRows(),
		waitRows(), wait.Rows(),
		stats.Rows(statsOf), memory.Rows(usageOf), debug.Rows(debugHostOf), script.Rows(scriptsOf), dump.Rows(dumpHostOf), acl.Rows(usersOf), attach.Rows(wait.AttachHostOf), standalone.Rows(), topology.Rows(groupOf, laterOf),
		aloneInTests(roleInGroup(replication.Rows(replicationOf))), raft.Rows(raftOf),
	}
}

// processWide are the commands that count for all shards of a process, by their names with that of the
// container.
var processWide = []string{"flushall", "script|load", "script|flush", "function|load", "function|delete", "function|flush", "function|restore",
	"config|set", "config|resetstat", "acl|setuser", "acl|deluser", "acl|load", "acl|save"}

// forAllShards makes the commands of processWide count for all shards of a process.
func forAllShards(families [][]commands.Row) [][]commands.Row {
	out := make([][]commands.Row, len(families))
	for i, rows := range families {
		out[i] = slices.Clone(rows)
		for j := range out[i] {
			row := &out[i][j]
			if slices.Contains(processWide, row.Name) {
				row.Run = repeated(row.Run)
			}
			row.Sub = slices.Clone(row.Sub)
			for k := range row.Sub {
				if slices.Contains(processWide, row.Name+"|"+row.Sub[k].Name) {
					row.Sub[k].Run = repeated(row.Sub[k].Run)
				}
			}
		}
	}
	return out
}

// repeated is the handler of a command that the other shards of the process run, too, if it succeeds. Its
// reply comes when they have; in a script or transaction it comes before. A command that another shard has
// repeated here, and that fails therefore, gets the reply of that shard.
func repeated(run func(c *commands.Ctx) error) func(c *commands.Ctx) error {
	return func(c *commands.Ctx) error {
		s := sessionOf(c)
		p := s.executor.opts.peers
		if p == nil || s.obeyed {
			return run(c)
		}
		argv, mark, mayBlock := commands.CloneAll(c.Argv), c.Out.Mark(), c.MayBlock
		if err := run(c); err != nil {
			if reply := p.given(argv); reply != nil {
				c.Out.Rollback(mark)
				c.Out.Raw(reply)
				return nil
			}
			return err
		}
		if !mayBlock {
			s.executor.host.background(func() { p.repeat(argv) })
			return nil
		}
		reply := slices.Clone(c.Out.Buf[mark:])
		c.Out.Rollback(mark)
		return raftAsked{s}.Later(c, func() (raft.Reply, error) {
			p.repeat(argv)
			return func(c *commands.Ctx) { c.Out.Raw(reply) }, nil
		})
	}
}

// laterOf runs work for a client that waits: see topology.Later.
func laterOf(c *commands.Ctx, work func() error) error {
	return raftAsked{sessionOf(c)}.Later(c, func() (raft.Reply, error) {
		return func(c *commands.Ctx) { c.Out.OK() }, work()
	})
}

// scriptsOf are the scripts of the server that runs the command.
func scriptsOf(c *commands.Ctx) *script.Engine { return sessionOf(c).executor.scripts }

// storageOf returns the storage of the server that runs the command.
func storageOf(c *commands.Ctx) *durability.Storage { return &sessionOf(c).executor.Durable }

// statsOf returns the statistics of the server that runs the command.
func statsOf(c *commands.Ctx) *stats.Book { return &sessionOf(c).executor.Stats }

// Table returns every command that a server knows: what a generator of calls reads.
func Table() *commands.Table { return sharedTable().table }

// FullTable also has the commands of test mode and of Sentinels. A generator of documentation reads it.
func FullTable() *commands.Table { return testSentinelTable().table }

// catalogue is a table with what follows from its rows. It never changes, so all servers of a process with
// these commands have one.
type catalogue struct {
	table  *commands.Table
	plain  []plainness
	timing *stats.Timing
}

func newCatalogue(more ...[]commands.Row) *catalogue {
	rows := forAllShards(append(append(commands.Families(), serverRows()...), more...))
	table := commands.NewTable(audit.Wrap(rows, auditRunner{}, config.OpensFile)...)
	return &catalogue{table, plainnessOf(table), stats.NewTiming(table)}
}

// catalogueOf holds the commands of a server with these options.
func catalogueOf(o *Options, c *config.Config) *catalogue {
	switch sentinel := o.Group.IsSentinel(); {
	case c.TestMode && sentinel:
		return testSentinelTable()
	case c.TestMode:
		return testTable()
	case sentinel:
		return sentinelTable()
	}
	return sharedTable()
}

// sharedTable holds every command: those on data, and the server's own.
var sharedTable = sync.OnceValue(func() *catalogue { return newCatalogue() })

// sentinelTable is sharedTable for servers with a group that is found as behind Sentinels.
var sentinelTable = sync.OnceValue(func() *catalogue { return newCatalogue(topology.SentinelRows(groupOf)) })

// testTable is sharedTable for servers in test mode.
var testTable = sync.OnceValue(func() *catalogue { return newCatalogue(testmode.Rows(testModeOf)) })

// testSentinelTable is testTable for servers that look like a group behind Sentinels.
var testSentinelTable = sync.OnceValue(func() *catalogue {
	return newCatalogue(testmode.Rows(testModeOf), topology.SentinelRows(groupOf))
})
