// Package slotmove is the protocol by which slots move from one raft group to another. It has the state
// machine that the log of each of the two groups carries, and the rules by which their leaders drive a move.
//
// It is pure: it has no clock, no goroutine, no file and no network, and it knows no keys. The caller owns
// the data, the log and the messages. Table.Apply takes a committed entry and returns the Effect on the
// data. Next and NextIn tell a leader its next step from its own table and the newest answer of the other
// group.
//
// The log of the source decides. Its entries, in the order of a move without faults:
//
//	source  leave    the slots are cut: their data as of this entry, then their later effects, go to the target
//	target  arrive   a staging store, which no client sees and in which nothing ends
//	target  stage    a piece of the cut, or effects; repeated
//	source  freeze   commands on the slots wait, and nothing ends in them
//	target  ready    the staging has each effect up to freeze, and its digest is that of the source
//	source  give     the commit point: the source never serves these slots again
//	target  take     the staging becomes data
//	source  drop     the source deletes its data; the move is over
//
// Before give the source may write thaw, which serves the slots again and keeps the move, or cancel, which
// ends the move. The target writes drop for a cancelled move, or alone as long as it is not ready.
//
// Rules for the caller, which the simulation in tests/slotmoves plays and breaks one by one:
//   - Nothing of this package counts before it is committed, except freeze: a leader holds the commands on
//     the slots from the moment at which it proposes freeze.
//   - A leader sends effects and answers from committed entries only.
//   - A command that touches all slots, such as FLUSHALL, waits while a slot is frozen.
//
// To add an entry, add a Kind, its rule in Apply, a step that writes it in Next or NextIn, and a fault to
// the simulation.
package slotmove
