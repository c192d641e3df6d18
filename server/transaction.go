package server

import "lockserver/commands"

// A transaction is the commands that a client sent between MULTI and EXEC. They run as one
// unit: nobody else's command runs between them, whoever waits for a key is served after the
// last of them, and their effects reach the journal together. Nothing waits inside: a blocking
// command answers as if its time were up.
//
// What makes a command immediate (commands.Immediate) is that it is about the transaction or
// the connection itself; everything else is queued as it came, after the checks that a
// command sent alone would have to pass.

// transaction is what a client has queued since MULTI.
type transaction struct {
	queued  []queuedCommand
	args    [][]byte       // where the words of the queued commands stand
	room    []byte         // where their bytes do
	flags   commands.Flags // of all queued commands together
	aborted bool           // a command was refused: EXEC will run nothing
}

// queuedCommand is a command that waits for EXEC.
type queuedCommand struct {
	row  *commands.Row
	argv [][]byte
}

// add queues a command. Its words are copied.
func (tx *transaction) add(row *commands.Row, argv [][]byte) {
	first := len(tx.args)
	for _, a := range argv {
		at := len(tx.room)
		tx.room = append(tx.room, a...)
		tx.args = append(tx.args, tx.room[at:len(tx.room):len(tx.room)])
	}
	tx.queued = append(tx.queued, queuedCommand{row, tx.args[first:len(tx.args):len(tx.args)]})
	tx.flags |= row.Flags
}
