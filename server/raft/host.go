package raft

import (
	"errors"
	"io"
	"log/slog"

	"lockserver/persistence"
	"lockserver/persistence/digest"
	"lockserver/server/gate"
	"lockserver/store"
)

// ErrEnding says that nothing is applied any more because the server is about to end.
var ErrEnding = errors.New("the server ends")

// MaxToken is above every fencing token.
const MaxToken = store.MaxToken

// MemberServer is the server that has the data. The methods listed after Slice are called under its lock,
// unless their comments say otherwise.
type MemberServer interface {
	// Locked runs f under the lock, perhaps in the middle of a unit.
	Locked(f func())
	// Slice runs f under the lock when no unit runs, and lets others have it when it is over. f may end units
	// by EndUnit.
	Slice(f func())
	// Background runs f beside everything else. The server does not end before f has.
	Background(f func())
	// Replace removes all data and loads a snapshot in its place. Others get the lock meanwhile, and clients
	// get -LOADING. nil: nothing is loaded. agreed is what the snapshot has beside the data. After an error
	// there is no data. Without the lock.
	Replace(read io.Reader) (at persistence.History, agreed persistence.Agreed, err error)

	Log() *slog.Logger
	NewID() string
	// Gate is what holds back replies. Its positions are rounds.
	Gate() *gate.Gate
	// NowMS is the time of the running unit, in milliseconds since 1970.
	NowMS() int64
	// MachineMS is the clock of the machine, in milliseconds since 1970. Its time is not the time of the data
	// if a clock was wrong.
	MachineMS() int64
	// SetTime makes the time go on from that of the machine, or from this one if that is later.
	SetTime(leastMS int64)
	// HandOn gives Member.Append the effects of what has been done since the last call. Records says whether
	// Member.Append gets the effects of each unit.
	HandOn()
	Records(on bool)
	// BeginUndo makes it possible to take back what is done from now on, in periods; AdvanceUndo begins the
	// next one, and makes what was done before the last one final. Undo takes back all of the last period, or
	// of the last two, and reports whether it could: else the data stays as it is. EndUndo makes all final.
	// UndoHolds reports whether what was removed takes much memory because of that. UndoSize returns the
	// number of changes in the last period, and the bytes that it keeps of what was removed.
	BeginUndo()
	AdvanceUndo()
	Undo(both bool) bool
	EndUndo()
	UndoHolds() bool
	UndoSize() (changes, bytes int)
	// Apply runs a command of the history: it ignores that keys have expired. It returns ErrEnding if the
	// server is about to end.
	Apply(db int, argv [][]byte) error
	EndUnit()
	// Cut takes the data, at a place of the history, with what the group has agreed on beside it.
	Cut(at persistence.History, agreed persistence.Agreed) DataCut
	// MayOwn returns why the group cannot begin to own slots as a text says (Options.Slots); nil: it can.
	// SlotFaults returns what is wrong with the slots of the cluster, a line for each fault.
	MayOwn(slots string) error
	SlotFaults() []string
	// SetUsers makes the users be these, each a name and its rules, and acts on the connections of those that
	// have changed. late says that this member may have other users in its configuration.
	SetUsers(lines []string, late bool)
	// OtherUsers returns the names of the users in force that are not as SetUsers makes them.
	OtherUsers(lines []string) []string
	// Followed is called when this member begins to follow, and does nothing by itself, or to lead.
	Followed(follows bool)
	// HoldWrites makes clients that write wait, and ends nothing, or goes on with that.
	HoldWrites(on bool)
	// HoldAll makes all clients wait, for a moment. HoldWrites(false) goes on with them.
	HoldAll()
	// TryAgain has clients try again that wait because of Member.AwaitsLeader.
	TryAgain()
	// ExtendLeases moves deadlines on by the time without a leader, unless MovedOn's effects have done that.
	// These are those of leases and of the holds of orders, and perhaps of all keys and fields.
	ExtendLeases(g Gap)
	// MovedOn changes nothing. It returns units that move some deadlines on by a time: all, or only those of
	// leases. It looks at a bounded number of keys from a cursor on, and returns the next cursor. Deadlines
	// is about how many there are.
	MovedOn(from Cursor, byMS int64, all bool) (units []Effects, next Cursor)
	Deadlines(all bool) int
	// MoveDeadlines moves deadlines on by a time, whatever the clock shows, and records nothing. It looks at
	// a bounded number of keys from a cursor on, and returns the next cursor.
	MoveDeadlines(from Cursor, byMS int64, all bool) (next Cursor)
	// HasLeases reports whether there are locks, orders that are held, or keys or fields with a deadline.
	HasLeases() bool
	// LastToken is above all fencing tokens so far; SeeToken makes the next ones higher than one.
	LastToken() int64
	SeeToken(token int64)
	// Seen is called with the members of the group, and with the leader among them that serves. Without the
	// lock.
	Seen(s Status)
	// DropClients closes all connections.
	DropClients()
}

// DataCut is a cut of the data, which is written or digested.
type DataCut interface {
	Cut
	// Digest returns the digest of what all members have in common; false: off has called it off. The cut can
	// only be released afterwards.
	Digest(off func() bool) (d digest.Digest, ok bool)
}

// Effects is what a unit has changed.
type Effects = []store.Effect

// Gap is a time without a leader.
type Gap struct {
	MS int64
	// All says that all deadlines are moved, and not only leases and the holds of orders.
	All bool
	// MovedMS is by how much MovedOn's effects have moved deadlines already; 0: not at all.
	MovedMS int64
}

// Cursor is a place among the keys of all databases. The zero value is the beginning.
type Cursor struct{ DB, Key int }

// AtEnd reports whether nothing is left.
func (c Cursor) AtEnd() bool { return c.DB < 0 }
