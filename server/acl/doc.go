// Package acl owns users: their passwords, what they may do, the log of what they were refused, and the
// command ACL that shows and changes it.
//
// A User has rules. They are a value that never changes: SETUSER makes new rules and replaces the old ones. A
// session that holds the User obeys the new rules from its next command on.
//
// Rules consist of selectors. Each selector has a set of rows (a bitmap over their numbers), patterns of
// keys, patterns of channels, and numbers of databases. A command may run if one selector allows all of it.
// User.Check decides that, and User.Passes (shortcut.go) quickly says yes to most commands. User.Unrestricted
// is set for users that may do everything; the hot path looks at nothing else.
//
// The package must not know sessions or the server: what it needs of them is Directory. It has no lock: the
// server calls it under the executor's lock. It reads and writes files only through functions that the caller
// passes in.
//
// To add a subcommand: its row in rows.go and its handler. To add a rule: a case in rule.go, and its text in
// describe.go, from which ACL LIST, ACL SAVE and CONFIG REWRITE follow.
package acl
