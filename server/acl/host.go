package acl

import "lockserver/commands"

// Directory is what the server does for the commands of this package.
type Directory interface {
	// Users are all users of the server.
	Users() *Users
	// Checker is that of the server.
	Checker() *Checker
	// Asking is the user of the session that runs the command.
	Asking() *User
	// Move carries a change out on the connections that are there.
	Move(Change)
	// Shared reports whether the users are those of a raft group. Then Agree changes them: it has the group
	// agree on what change makes of a draft, and lets the client wait for that. change may be called again.
	Shared() bool
	Agree(c *commands.Ctx, change func(draft *Users) error, reply func(c *commands.Ctx)) error
	// Lookup is the table of commands by the names that clients know them by.
	Lookup() *commands.Table

	// File is the path of the ACL file (aclfile), empty if there is none.
	File() string
	// PasswordSet reports whether requirepass is set.
	PasswordSet() bool
	// ReadFile returns the text of the ACL file. The error names the cause alone: "No such file or
	// directory".
	ReadFile() (string, error)
	// WriteFile replaces the ACL file as a whole. A reader, also after a crash, finds the old file or the new
	// one. The server logs why it failed.
	WriteFile(text string) error
}
