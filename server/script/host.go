package script

import "lockserver/commands"

// Caller is the server, as far as scripts need it. The contexts that it gets are those of the commands that
// run a script, or that a script calls; their Session is that of the client.
type Caller interface {
	// Show shows a command that runs a script to the monitors, before the commands of the script.
	Show(c *commands.Ctx)
	// Call runs and counts a command that a script calls, in the selected database of the client's session. c
	// has everything else; the reply goes to c.Out. failed says that the server has failed: the script must
	// end.
	Call(c *commands.Ctx) (failed bool, err error)
	// End is called after the script that c ran: the session must return to the database of c. stopped says
	// that the end of the server has cut the script off: its changes must not be recorded, and its client
	// gets no reply.
	End(c *commands.Ctx, stopped bool)

	// CountError counts an error reply of a call, or of the script itself, by its code.
	CountError(text string)
	// CountRejected counts a call that was refused before it ran. CountFailed counts a command that has
	// replied an error without returning it.
	CountRejected(row *commands.Row)
	CountFailed(row *commands.Row)

	// Permit returns the error for the script if the client may not run a command that the script calls, and
	// logs it; otherwise nil.
	Permit(c *commands.Ctx, row *commands.Row, argv [][]byte) error
	// Permitted reports whether the client may run the command, and logs nothing.
	Permitted(c *commands.Ctx, row *commands.Row, argv [][]byte) bool
	// Redirect returns the error for the script if another member of the group must be asked for the keys of
	// a call.
	Redirect(c *commands.Ctx, row *commands.Row, argv [][]byte) error

	// Lifts reports whether scripts may now call a command that its row forbids to scripts.
	Lifts(row *commands.Row, argv [][]byte) bool

	// RefusesWrites returns the reason why the client may not write, or nil: ErrReadOnly, a disk error,
	// ErrNoReplicas or ErrLoading, the first that applies.
	RefusesWrites(c *commands.Ctx) error
	// Stale reports whether only commands with the flag Stale may run, because there is no link to the
	// master.
	Stale() bool
	// Obeys reports whether the command comes from the master or from a log. The state of this server then
	// does not refuse the script's writes, and the script's failure is returned.
	Obeys(c *commands.Ctx) bool
	// Full reports whether memory was full, and could not be freed, when the client's command began.
	Full() bool
	// Loading reports whether the data is still being read from files.
	Loading() bool

	// Yield gives other clients a turn. From the first call until Idle, the script that c runs is busy: the
	// other clients must not touch the data. failed says that the server has failed meanwhile.
	Yield(c *commands.Ctx) (failed bool)
	// Idle is called after a busy script.
	Idle()

	// DumpLibraries returns the payload of FUNCTION DUMP for the code of libraries.
	DumpLibraries(sources [][]byte) []byte
	// ParseLibraries is the inverse of DumpLibraries. The error is for the client.
	ParseLibraries(payload []byte) (sources [][]byte, err error)
}
