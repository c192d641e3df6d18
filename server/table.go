package server

import (
	"lockserver/commands"
	"lockserver/server/script"
)

// serverRows are the tables of the commands that need the server itself.
func serverRows() [][]commands.Row {
	return [][]commands.Row{
		connectionRows(), transactionRows(), pubsubRows(), monitorRows(), gaugeRows(), clientRows(), configRows(), infoRows(), saveRows(), aofRows(), debugRows(), dumpRows(), waitRows(), memoryRows(), lockRows(),
		script.Rows(scriptsOf),
		replicationRows(), clusterRows(), {aclRow()},
	}
}

// sessionOf is the session that runs the command.
func sessionOf(c *commands.Ctx) *session { return c.Session.(*session) }

// scriptsOf are the scripts of the server that runs the command.
func scriptsOf(c *commands.Ctx) *script.Engine { return sessionOf(c).executor.scripts }

// whenever are the flags of a command that works at any time and only from a client itself.
const whenever = commands.NoScript | commands.Loading | commands.Stale

// Table returns every command that a server knows: what a generator of documentation reads.
func Table() *commands.Table { return sharedTable() }
