package acl

import "lockserver/commands"

// Directory is the server, as far as the commands of this package need it.
type Directory interface {
	// Users returns all users of the server.
	Users() *Users
	// Checker returns the server's Checker.
	Checker() *Checker
	// Asking returns the user of the session that runs the command.
	Asking() *User
	// Move applies a change to the existing connections.
	Move(Change)
	// Shared reports whether the users are those of a raft group. Agree then changes them: it makes the group
	// agree on the result of change, and lets the client wait for that. change may be called again.
	Shared() bool
	Agree(c *commands.Ctx, change func(draft *Users) error, reply func(c *commands.Ctx)) error
	// Lookup returns the table of commands by the names that clients use.
	Lookup() *commands.Table

	// File returns the path of the ACL file (aclfile), or "".
	File() string
	// PasswordSet reports whether requirepass is set.
	PasswordSet() bool
	// ReadFile returns the text of the ACL file. The error is only the cause: "No such file or directory".
	ReadFile() (string, error)
	// WriteFile replaces the ACL file as a whole. A reader finds the old file or the new file, even after a
	// crash. The server logs the error.
	WriteFile(text string) error
}
