// Package checkhistory checks a recorded history of locks: did two owners hold a lock at the same time, did a
// stale token write, and which owner waited longest?
//
// It owns the format of a line, which `lockserver history --json` writes, and the rules. It must not know the
// server: a history may come from any program that writes such lines. Lines are checked in their order, and
// writes of the application by their time.
//
// To add a rule, add a field to Report, find it in check.go, and print it in print.go. The test has a history
// with a planted fault for each rule.
package checkhistory
