package server

import "lockserver/commands"

// serverRows are the tables of the commands that need the server itself.
func serverRows() [][]commands.Row {
	return [][]commands.Row{
		connectionRows(), transactionRows(), pubsubRows(), monitorRows(), gaugeRows(), clientRows(), configRows(), infoRows(), saveRows(), aofRows(), debugRows(), dumpRows(), waitRows(), memoryRows(), lockRows(), scriptRows(),
		replicationRows(), clusterRows(), {aclRow()},
	}
}

// sessionOf is the session that runs the command.
func sessionOf(c *commands.Ctx) *session { return c.Session.(*session) }

// whenever are the flags of a command that works at any time and only from a client itself.
const whenever = commands.NoScript | commands.Loading | commands.Stale

// Table returns every command that a server knows: what a generator of documentation reads.
func Table() *commands.Table { return sharedTable() }
