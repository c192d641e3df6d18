package slotdata

import (
	"bytes"
	"crypto/sha1"
	"errors"
	"fmt"

	"lockserver/commands"
	"lockserver/persistence"
	"lockserver/store"
)

// pieceBytes is the size at which a piece of a cut ends.
const pieceBytes = 64 << 10

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
	// sum is of all whole frames. changed has the keys of units behind the last closing frame, and partial
	// the bytes of a frame that is not complete.
	sum     Sum
	changed changedKeys
	partial []byte
	failed  error // the first error of Add
}

// NewStaging returns an empty staging beside the data of a shard.
func NewStaging(beside *store.Store, slots *Slots) *Staging {
	s := &Staging{slots: slots, data: beside.Aside()}
	s.data.SetFrozenTime(true)
	return s
}

// Add adds the next bytes of the stream. nowUS is the time of the shard in microseconds since 1970. run
// executes a command of a unit in the database DB. After an error the staging is of no use, and its digest is
// that of no stream: Failed returns the error.
func (s *Staging) Add(nowUS int64, bytes []byte, run func(argv [][]byte) error) {
	if s.failed != nil {
		return
	}
	s.partial = append(s.partial, bytes...)
	rest := s.partial
	for {
		kind, frame, behind, ok, err := nextFrame(rest)
		if err == nil && ok {
			err = s.frame(nowUS, kind, frame, run)
		}
		if err != nil {
			s.fail(err)
			return
		}
		if !ok {
			break
		}
		rest = behind
	}
	if s.partial = append(s.partial[:0], rest...); len(rest) == 0 && cap(s.partial) > 2*pieceBytes {
		s.partial = nil
	}
}

// fail gives up the data.
func (s *Staging) fail(err error) {
	s.failed, s.partial, s.changed, s.sum = err, nil, changedKeys{}, Sum{}
	s.data.DB(0).Flush()
}

// Failed returns the error after which the staging is of no use; nil: there was none.
func (s *Staging) Failed() error { return s.failed }

// frame adds a frame.
func (s *Staging) frame(nowUS int64, kind byte, bytes []byte, run func(argv [][]byte) error) error {
	added := bytes
	switch kind {
	case framePiece:
		if err := s.Piece(nowUS, bytes); err != nil {
			return err
		}
	case frameUnit:
		unit, err := parseUnit(bytes)
		for i := 0; err == nil && i < len(unit); i++ {
			if t := touched(&unit[i]); t.unknown || t.foreign || !s.hasAll(t.written) {
				return errAstray
			}
			err = run(unit[i].Args)
		}
		if err != nil {
			return fmt.Errorf("slotdata: %w", err)
		}
		s.changed.add(unit)
	case frameClose:
		sum := s.changed.close(s.DB())
		added = sum[:]
	}
	s.sum.add(kind, added)
	return nil
}

// hasAll reports whether all keys are in the slots.
func (s *Staging) hasAll(keys [][]byte) bool {
	for _, key := range keys {
		if !s.slots.Has(key) {
			return false
		}
	}
	return true
}

// Piece adds the keys of a piece that Send has made. A key that the staging has already is an error.
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

// Digest returns the sum of the stream so far: that of Source.Digest, if all frames have arrived.
func (s *Staging) Digest() [sha1.Size]byte { return s.sum.Digest() }

// DB returns the database in which the commands of the stream run.
func (s *Staging) DB() *store.DB { return s.data.DB(0) }

// Used returns the memory of the data in bytes. The shard's own Used does not count it.
func (s *Staging) Used() int { return s.data.Used() + cap(s.partial) }

// ShiftLeases shifts leases, permits and limiters (commands.ShiftLeases) in steps, and holds of sales at the
// last step. It begins with the cursor 0, and returns the next one; -1: all are shifted.
func (s *Staging) ShiftLeases(cursor, most int, byMS int64) (next int) {
	if cursor = commands.ShiftLeases(s.DB(), cursor, most, byMS); cursor < 0 {
		commands.ShiftHolds(s.DB(), byMS)
	}
	return cursor
}

// Take moves up to most keys to the data of the shard, with their deadlines, and returns the number of
// keys that are left. The shard serves the slots when none is left.
func (s *Staging) Take(into *store.Store, most int) (left int) { return into.Absorb(s.data, most) }
