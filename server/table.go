package server

import (
	"sync"

	"lockserver/commands"
	"lockserver/server/debug"
	"lockserver/server/script"
)

// serverRows are the tables of the commands that need the server itself.
func serverRows() [][]commands.Row {
	return [][]commands.Row{
		connectionRows(), transactionRows(), pubsubRows(), monitorRows(), {slowlogRow(), latencyRow()}, clientRows(), configRows(), infoRows(), saveRows(), aofRows(), debug.Rows(debugHostOf), dumpRows(), waitRows(), memoryRows(), lockRows(),
		script.Rows(scriptsOf),
		replicationRows(), clusterRows(), {aclRow()},
	}
}

// scriptsOf are the scripts of the server that runs the command.
func scriptsOf(c *commands.Ctx) *script.Engine { return sessionOf(c).executor.scripts }

// Table returns every command that a server knows: what a generator of documentation reads.
func Table() *commands.Table { return sharedTable() }

// sharedTable holds every command: those on data, and the server's own. It never changes, so
// all servers of a process have one.
var sharedTable = sync.OnceValue(func() *commands.Table {
	return commands.NewTable(append(commands.Families(), serverRows()...)...)
})
