package raft

import "lockserver/commands"

// Errors of Hold.
const (
	errHeld      commands.Error = "ERR clients wait for something else"
	errNotHolden commands.Error = "ERR what was done before is not committed"
)

// HoldKind says for which step of a move of slots all clients of a leader are held.
type HoldKind uint8

// A shard can be the source of one move and the target of others at the same time. So the end of a step of
// one of them must not end a hold of another one.
const (
	notHeld   HoldKind = iota
	ForFreeze          // from before freeze until thaw, or until clients are sent to the target
	ForTake            // while take is written and applied
)

// holds is the hold of all clients for a step of a move. The zero value holds none.
type holds struct {
	held   HoldKind
	number uint64 // of the last hold; each one has its own
}
