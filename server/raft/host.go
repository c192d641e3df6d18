package raft

import (
	"errors"
	"io"
	"log/slog"

	"lockserver/persistence"
	"lockserver/persistence/digest"
	"lockserver/server/cluster"
	"lockserver/server/gate"
	"lockserver/server/slotdata"
	"lockserver/store"
)

// ErrEnding says that nothing is applied any more because the server is about to end.
var ErrEnding = errors.New("the server ends")

// MaxToken is above each fencing token.
const MaxToken = store.MaxToken

// MemberServer is the server that has the data. The methods behind Slice are called under its lock, unless
// their comments say otherwise.
type MemberServer interface {
	// Locked runs f under the lock, perhaps in the middle of a unit.
	Locked(f func())
	// Slice runs f under the lock when no unit runs, and gives up the lock after it. f may end units by
	// EndUnit.
	Slice(f func())
	// Background runs f in a goroutine. The server does not end before f has returned.
	Background(f func())
	// Replace removes all data and loads a snapshot in its place. Others get the lock meanwhile, and
	// clients get -LOADING. Without read, nothing is loaded. agreed are the parts of the snapshot beside
	// the data, such as users. After an error there is no data. Without the lock.
	Replace(read io.Reader) (at persistence.History, agreed persistence.Agreed, err error)

	Log() *slog.Logger
	NewID() string
	// Gate returns the gate that holds back replies. Its positions are rounds.
	Gate() *gate.Gate
	// NowMS returns the time of the running unit, in milliseconds since 1970.
	NowMS() int64
	// MachineMS returns the clock of the machine, in milliseconds since 1970. The time of the data differs
	// from it if a clock was wrong.
	MachineMS() int64
	// SetTime lets the time go on from the machine's clock, or from leastMS if that is later.
	SetTime(leastMS int64)
	// HandOn gives Member.Append the effects of what has been done since the last call. Records says whether
	// Member.Append gets the effects of each unit.
	HandOn()
	Records(on bool)
	// Undo returns the door to undo.
	Undo() Undo
	// Apply runs a command of the history. It ignores the expiry of keys. It returns ErrEnding if the
	// server is about to end.
	Apply(db int, argv [][]byte) error
	EndUnit()
	// Cut takes the data at a place of the history, and what the group has agreed on.
	Cut(at persistence.History, agreed persistence.Agreed) DataCut
	// NewStaging returns an empty store beside the data, for slots that arrive. ApplyTo runs a command of the
	// history in its database. TakeStaging moves up to most keys from it to the data, and returns how many
	// are left.
	NewStaging(slots []cluster.Range) *slotdata.Staging
	ApplyTo(db *store.DB, argv [][]byte) error
	TakeStaging(s *slotdata.Staging, most int) (left int)
	// MayOwn returns why the group cannot begin to own slots as a text says (Options.Slots); nil: it can.
	// Cluster returns what this server knows of the cluster that the group is a shard of.
	MayOwn(slots string) error
	Cluster() ClusterState
	// SetUsers makes the users be these, each a name and its rules, and acts on the connections of those that
	// have changed. late says that this member may have other users in its configuration.
	SetUsers(lines []string, late bool)
	// OtherUsers returns the names of the users in force that are not as SetUsers makes them.
	OtherUsers(lines []string) []string
	// Followed is called when this member begins to follow or to lead. A member that follows does nothing
	// by itself.
	Followed(follows bool)
	// HoldWrites makes clients with writes wait without ending anything, or lets them go on.
	HoldWrites(on bool)
	// HoldAll makes all clients wait for a moment. HoldWrites(false) lets them go on.
	HoldAll()
	// TryAgain lets the clients that wait because of Member.AwaitsLeader try again.
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
	// HasLeases reports whether there are locks, held orders, or keys or fields with a deadline.
	HasLeases() bool
	// RecursAt reports whether the hash at a key has a delayed entry that recurs.
	RecursAt(db int, key []byte) bool
	// LastToken returns a number that no fencing token so far exceeds. SeeToken makes the next tokens
	// higher than a number.
	LastToken() int64
	SeeToken(token int64)
	// Seen is called with the members of the group, and with the leader among them that serves. Without the
	// lock.
	Seen(s Status)
	// DropClients closes all connections.
	DropClients()
}

// Mover drives the moves of slots of a group. Its method is called without the lock.
type Mover interface {
	// Receive takes a message of a member of another shard, and returns the answer.
	Receive(message []byte) (answer []byte, err error)
}

// Undo makes it possible to take back changes of the data.
type Undo interface {
	// Begin begins the first period. Changes can be taken back from now on.
	Begin()
	// Advance begins the next period. The changes before the last period are final now.
	Advance()
	// Back takes back all of the last period, or of the last two. It reports whether it could. If not, the
	// data stay as they are.
	Back(both bool) bool
	// End makes all changes final.
	End()
	// Holds reports whether what was removed takes much memory, because it may come back.
	Holds() bool
	// Size returns the number of changes in the last period, and the bytes that it keeps of what was removed.
	Size() (changes, bytes int)
}

// DataCut is a cut of the data, for a snapshot or a digest.
type DataCut interface {
	Cut
	// Digest returns the digest of the data that all members share. It returns false if off has called it
	// off. The cut must be released afterwards.
	Digest(off func() bool) (d digest.Digest, ok bool)
}

// Effects are the changes that a unit has made.
type Effects = []store.Effect

// Gap is a time without a leader.
type Gap struct {
	MS int64
	// All says that all deadlines are moved. Otherwise only those of leases and of held orders are moved.
	All bool
	// MovedMS is the time by which the effects of MovedOn have already moved deadlines; 0: they have moved
	// none.
	MovedMS int64
}

// Cursor is a place among the keys of all databases. The zero value is the beginning.
type Cursor struct{ DB, Key int }

// AtEnd reports whether the cursor is behind the last key.
func (c Cursor) AtEnd() bool { return c.DB < 0 }
