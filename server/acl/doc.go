// Package acl owns users: their passwords, their rights, the log of refusals, and the command ACL, which
// shows and changes them.
//
// A User has rules. They are a value that never changes: SETUSER makes new rules and replaces the old ones. A
// session that holds the User obeys the new rules from its next command on.
//
// Rules consist of selectors. Each selector has a set of rows (a bitmap over their numbers), patterns of
// keys, patterns of channels, and numbers of databases. A command may run if one selector allows all of it.
// Checker.Check decides that, and User.Passes (shortcut.go) quickly allows most commands. User.Unrestricted
// is set for users with all rights; the hot path checks only that.
//
// The package must not know sessions or the server: it uses them through Directory. It has no lock: the
// server calls it under the executor's lock. It reads and writes files only through functions that the caller
// passes in.
//
// To add a subcommand, add its row to rows.go and its handler. To add a rule, add a case to rule.go, and its
// text to describe.go, from which ACL LIST, ACL SAVE and CONFIG REWRITE follow.
package acl
