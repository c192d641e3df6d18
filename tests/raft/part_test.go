//go:build !raft

package raft

import "lockserver/tests/testkit"

// wholeOr returns how much of a costly test is done: a part, unless the long form is asked for. make raft
// does all of it.
func wholeOr(whole, part int) int { return testkit.Steps(part, whole) }
