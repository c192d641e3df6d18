// Package acl owns users: their passwords, what they may do, the log of what they were refused, and the
// command ACL that tells and changes it.
//
// A User has rules, which are a value that never changes: SETUSER makes new ones of the old ones and puts
// them in their place, so that a session that holds the User obeys them from its next command on. Rules
// consist of selectors, each a set of rows (a bitmap over their numbers), patterns of keys, patterns of
// channels and numbers of databases; a command may run if one selector allows all of it. User.Check is that
// question, and User.Passes (shortcut.go) the quick yes to most of them. User.Unrestricted answers it
// beforehand for those who may do everything, and is all that the hot path looks at.
//
// The package must not know sessions or the server: what it needs of them is Host. It is not locked: the
// server calls it under the executor's lock. Files are read and written through functions that are handed in.
//
// To add a subcommand: its row in rows.go and its handler. To add a rule: a case in rule.go, and its text in
// describe.go, from which ACL LIST, ACL SAVE and CONFIG REWRITE follow.
package acl
