package script

import "lockserver/commands"

// Caller is what the server does for its scripts. The contexts that it gets are those of the commands that
// run or call; their Session is the client's.
type Caller interface {
	// Show sends a command that runs a script to the monitors, before what that calls.
	Show(c *commands.Ctx)
	// Call runs and counts a command that a script calls, in the database that the client's session has
	// selected. c has all the rest; the reply goes to c.Out. failed says that the server has failed: the
	// script must end.
	Call(c *commands.Ctx) (failed bool, err error)
	// End is called when the script that c ran is over: the session is to be in the database of c again.
	// stopped says that the end of the server has cut it off in the middle: nothing that it changed may be
	// recorded, and its client gets no reply.
	End(c *commands.Ctx, stopped bool)

	// CountError counts an error that a call or the script itself replies, by its code.
	CountError(text string)
	// CountRejected counts a call that was refused before it ran, CountFailed a command that has replied an
	// error and does not return one.
	CountRejected(row *commands.Row)
	CountFailed(row *commands.Row)

	// Permit returns the error that the script gets if the client may not run a command that the script
	// calls, and logs it; nil if it may.
	Permit(c *commands.Ctx, row *commands.Row, argv [][]byte) error
	// Permitted reports whether it may, and logs nothing.
	Permitted(c *commands.Ctx, row *commands.Row, argv [][]byte) bool
	// Redirect returns the error that the script gets if another member of the group is the one to ask for
	// what a call touches.
	Redirect(c *commands.Ctx, row *commands.Row, argv [][]byte) error

	// Lifts reports whether scripts may, for now, call a command that its row forbids to scripts.
	Lifts(row *commands.Row, argv [][]byte) bool

	// RefusesWrites returns why the client may not write, nil if it may: ErrReadOnly, a disk error,
	// ErrNoReplicas or ErrLoading, the first of them that is true.
	RefusesWrites(c *commands.Ctx) error
	// Stale reports whether only commands with the flag Stale may run: there is no link to the master.
	Stale() bool
	// Obeys reports whether the command comes from the master or from a log. Then the state of this server
	// does not refuse what its script writes, and the script's failure is returned.
	Obeys(c *commands.Ctx) bool
	// Full reports whether memory was full, and could not be freed, when the client's command began.
	Full() bool
	// Loading reports whether the data is still being read from files.
	Loading() bool

	// Yield lets other clients in for a moment. From the first call until Idle, the script that c runs is
	// busy: the other clients must not touch the data. failed says that the server has failed meanwhile.
	Yield(c *commands.Ctx) (failed bool)
	// Idle is called when a busy script is over.
	Idle()

	// DumpLibraries returns the payload of FUNCTION DUMP for the code of libraries.
	DumpLibraries(sources [][]byte) []byte
	// ParseLibraries is the reverse of DumpLibraries. The error is for the client.
	ParseLibraries(payload []byte) (sources [][]byte, err error)
}
