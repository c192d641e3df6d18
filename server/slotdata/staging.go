package slotdata

import (
	"bytes"
	"errors"
	"fmt"

	"lockserver/persistence"
	"lockserver/store"
)

// pieceBytes is the size at which a piece of a cut ends.
const pieceBytes = 256 << 10

// pieceVersion is the Redis version that a piece states.
const pieceVersion = "7.0.15"

// Send writes the keys of the slots as pieces, in the form of snapshots. A piece has about pieceBytes, or one
// large value. send owns the piece that it gets, and its error ends the work. Send needs no lock, and calls
// breathe, which may be nil, between short pieces of work. It drains the cut, which can only be released
// afterwards.
func Send(cut *store.Snapshot, slots *Slots, breathe func(keys int), send func(piece []byte) error) error {
	return persistence.SavePieces(cut, persistence.PieceOptions{Keep: slots.Has, MostBytes: pieceBytes, Version: pieceVersion, Breathe: breathe}, send)
}

// These are errors of a piece: the data of the source is not that of the slots. After any error of Piece the
// staging is of no use.
var (
	errAstray   = errors.New("a piece has a key of another slot")
	errDatabase = errors.New("a piece has a key of another database than 0")
)

// Staging is the data of slots that arrive. No command sees it, and nothing ends in it: time is frozen. Only
// the executor may use it.
type Staging struct {
	slots *Slots
	data  *store.Store
}

// NewStaging returns an empty staging beside the data of a shard.
func NewStaging(beside *store.Store, slots *Slots) *Staging {
	s := &Staging{slots: slots, data: beside.Aside()}
	s.data.SetFrozenTime(true)
	return s
}

// Piece adds the keys of a piece that Send has made. nowUS is the time of the shard in microseconds since
// 1970. A key that the staging has already is an error.
func (s *Staging) Piece(nowUS int64, piece []byte) error {
	s.data.SetNow(nowUS)
	astray := false
	_, err := persistence.Load(bytes.NewReader(piece), s.data, persistence.LoadOptions{NeedsChecksum: true, Keep: func(key []byte) bool {
		has := s.slots.Has(key)
		astray = astray || !has
		return has
	}})
	switch {
	case err != nil:
		return fmt.Errorf("slotdata: %w", err)
	case astray:
		return errAstray
	}
	for id := 1; id < s.data.Len(); id++ {
		if s.data.DB(id).Len() > 0 {
			return errDatabase
		}
	}
	return nil
}

// DB returns the database in which the commands of the stream run.
func (s *Staging) DB() *store.DB { return s.data.DB(0) }

// Used returns the memory of the data in bytes. The shard's own Used does not count it.
func (s *Staging) Used() int { return s.data.Used() }

// Cut takes a cut of the staging: of nothing but the slots' data.
func (s *Staging) Cut() *store.Snapshot { return s.data.Cut() }

// Take moves up to most keys to the data of the shard, with their deadlines, and returns the number of
// keys that are left. The shard serves the slots when none is left.
func (s *Staging) Take(into *store.Store, most int) (left int) { return into.Absorb(s.data, most) }
