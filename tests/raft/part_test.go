//go:build !raft

package raft

import "lockserver/tests/testkit"

// wholeOr returns the amount of a costly test: a part of it, unless the long form is asked for. make raft
// runs all of it.
func wholeOr(whole, part int) int { return testkit.Steps(part, whole) }
