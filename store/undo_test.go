package store

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/store/stream"
	"lockserver/tests/testkit"
)

// undoWorld is a store with random changes.
type undoWorld struct {
	s   *Store
	rng *rand.Rand
	did []string // the changes so far
}

// do makes a change, and records its description.
func (w *undoWorld) do(change func(), words ...any) {
	w.did = append(w.did, fmt.Sprintf("%s", words))
	change()
}

// beginMS is before all deadlines of the world, and laterMS after them.
const beginMS, laterMS = 5_000, 1_000_000

func (w *undoWorld) db() *DB { return w.s.DB(w.rng.IntN(w.s.Len())) }

// key returns one of a few keys of a kind.
func (w *undoWorld) key(kind string) []byte {
	if kind == "z" { // a key with an alarm
		return fmt.Appendf(nil, "%s%d", HoldsPrefix, w.rng.IntN(4))
	}
	return fmt.Appendf(nil, "%s%d", kind, w.rng.IntN(8))
}

func (w *undoWorld) moment() int64 { return 10_000 + w.rng.Int64N(laterMS/2) }

// change makes one change, sometimes of whole databases.
func (w *undoWorld) change() {
	db, other, s := w.db(), w.db(), w.s
	key := w.key([]string{"s", "h", "x", "z"}[w.rng.IntN(4)])
	name := fmt.Sprint(db.ID(), " ", string(key))
	switch n := w.rng.IntN(320); {
	case n < 8:
		w.do(func() { s.FlushAll() }, "flush all")
	case n < 16:
		w.do(func() { db.Flush() }, "flush", fmt.Sprint(db.ID()))
	case n < 24:
		w.do(func() { s.SwapDB(db, other) }, "swap", fmt.Sprint(db.ID()), fmt.Sprint(other.ID()))
	case n < 30:
		w.do(func() {
			w.s.SetNow(w.moment() * 1000)
			w.s.ExpireDue(w.rng.IntN(5))
		}, "time passes")
	case n < 60:
		atMS := w.moment()
		w.do(func() { db.Expire(key, atMS) }, "expire", name, fmt.Sprint(atMS))
	case n < 100:
		w.do(func() { db.Delete(key) }, "delete", name)
	default:
		w.do(func() { w.write(db, key) }, "write", name)
	}
}

// write writes to a key by a command for its kind.
func (w *undoWorld) write(db *DB, key []byte) {
	switch key[0] {
	case 'x':
		w.append(db, key)
	case 'h':
		e := db.EditHash(key)
		field := fmt.Appendf(nil, "field %d", w.rng.IntN(4))
		e.Set(field, fmt.Appendf(nil, "%d", w.rng.IntN(100)))
		if w.rng.IntN(2) == 0 {
			e.ExpireField(field, w.moment())
		}
	case HoldsPrefix[0]:
		if len(key) == 2 {
			db.EditString(key).Set(fmt.Appendf(nil, "value %d", w.rng.IntN(1000)), NoTTL)
			return
		}
		e := db.EditZSet(key)
		e.Set(fmt.Appendf(nil, "member %d", w.rng.IntN(4)), float64(w.moment()))
	}
}

// append adds an entry to a stream that remembers it for a while.
func (w *undoWorld) append(db *DB, key []byte) {
	e := db.EditStream(key)
	if e.Stream() == nil {
		e.Create()
	}
	id := stream.ID{MS: e.Stream().LastID().MS + 1}
	e.Add(id, [][]byte{[]byte("a"), []byte("1")})
	e.Remember([]byte("producer"), fmt.Appendf(nil, "message %d", id.MS), id, w.rng.Int64N(laterMS/2))
}

// shown returns everything visible in the store: its data, its sums, and the times of all deadlines.
func (w *undoWorld) shown() (lines []string) {
	s := w.s
	for id := range s.Len() {
		db := s.DB(id)
		lines = append(lines, fmt.Sprint("db ", id, ": ", db.Len(), " keys, ", db.Keys().Timed(), " timed, mean ", db.Keys().MeanTTL(), ", ", db.Keys().TimedHashes(), " timed hashes, alarms ",
			db.Keys().AlarmSets(HoldAlarm)))
		snap := s.Cut()
		snap.Each(id, func(key string, r Ref) bool {
			text := fmt.Sprint("key ", id, " ", key, " until ", r.DeadlineMS(), ": ")
			switch r.Kind() {
			case String:
				text += string(r.Bytes())
			case Hash:
				r.Hash().Each(func(field, val []byte) bool {
					text += fmt.Sprint(string(field), "=", string(val), " until ", r.Hash().Deadline(field), " ")
					return true
				})
			case ZSet:
				for i := range r.ZSet().Len() {
					member, score := r.ZSet().At(i, nil)
					text += fmt.Sprint(string(member), "=", score, " ")
				}
			case Stream:
				text += fmt.Sprint(r.Stream().Len(), " ", r.Stream().LastID())
				if p := r.Stream().Producers(); p != nil {
					endMS, ok := p.FirstEndMS()
					text += fmt.Sprint(", forgets at ", endMS, ok)
				}
			}
			lines = append(lines, text)
			return true
		})
		snap.Release()
	}
	lines = append(lines, fmt.Sprint("used ", s.Used()))
	slices.Sort(lines)
	return lines
}

// dies returns what is left at some times, until everything is overdue.
func (w *undoWorld) dies() (lines []string) {
	for atMS := int64(0); atMS <= laterMS; atMS += laterMS / 20 {
		w.s.SetNow(atMS * 1000)
		for w.s.ExpireDue(100) {
		}
		lines = append(lines, w.shown()...)
	}
	return lines
}

// TestUndoOfWholeDatabases: random changes, of keys and of whole databases, are undone. The store is then
// equal to that at the start of the period, including its sums and deadlines.
func TestUndoOfWholeDatabases(t *testing.T) {
	seed := testkit.Seed(t)
	for round := range testkit.Steps(150, 5000) {
		made := func() *undoWorld {
			w := &undoWorld{s: New(3, Limits{}), rng: rand.New(rand.NewPCG(seed, uint64(round)))}
			w.s.SetNow(beginMS * 1000)
			for range w.rng.IntN(100) {
				w.change()
			}
			w.s.SetNow(beginMS * 1000)
			return w
		}
		w, twin := made(), made()
		want := twin.shown()
		require.Equal(t, want, w.shown())
		began := len(w.did)
		w.s.Undo().Begin()
		both := w.rng.IntN(2) == 0
		advance := w.rng.IntN(40)
		for n := range 40 {
			if n == advance && both {
				w.do(w.s.Undo().Advance, "advance")
			}
			w.change()
		}
		require.True(t, w.s.Undo().Back(both))
		w.s.SetNow(beginMS * 1000)
		if diff := w.shown(); !slices.Equal(want, diff) {
			require.Equal(t, want, diff, "round %d: %s", round, strings.Join(w.did[began:], "\n"))
		}
		if want, got := twin.dies(), w.dies(); !slices.Equal(want, got) {
			require.Equal(t, want, got, "round %d", round)
		}
	}
}

// TestUndoHoldsWhatWasRemoved: a database that was emptied, and a large value that was removed, are kept for
// two periods, and no longer.
func TestUndoHoldsWhatWasRemoved(t *testing.T) {
	for _, remove := range []func(s *Store){
		func(s *Store) { s.FlushAll() },
		func(s *Store) { s.DB(0).Delete([]byte("a")) },
		func(s *Store) { s.DB(0).EditString([]byte("a")).Set([]byte("1"), NoTTL) },
	} {
		undoHolds(t, remove)
	}
}

func undoHolds(t *testing.T, remove func(s *Store)) {
	t.Helper()
	s := New(1, Limits{})
	large := make([]byte, 2*leastHeld)
	s.DB(0).EditString([]byte("a")).Set(large, NoTTL)
	remove(s)
	require.False(t, s.Undo().Holds(), "nothing is to be undone")
	s.Undo().Begin()
	s.FlushAll()
	require.False(t, s.Undo().Holds(), "it was empty")
	s.DB(0).EditString([]byte("a")).Set(large, NoTTL)
	remove(s)
	require.True(t, s.Undo().Holds())
	_, freed := s.Undo().Size()
	require.Greater(t, freed, len(large)-100)
	s.Undo().Advance()
	require.True(t, s.Undo().Holds())
	s.Undo().Advance()
	require.False(t, s.Undo().Holds())
}

// TestUndoHasNoLimit: however many changes there are, they are undone. Undoing.Size counts them.
func TestUndoHasNoLimit(t *testing.T) {
	const keys = 300_000
	s := New(1, Limits{})
	s.DB(0).EditString([]byte("kept")).Set([]byte("1"), NoTTL)
	s.Undo().Begin()
	for i := range keys {
		s.DB(0).EditString(fmt.Appendf(nil, "%d", i)).Set([]byte("1"), NoTTL)
	}
	changes, _ := s.Undo().Size()
	require.Equal(t, keys, changes)
	s.Undo().Advance()
	changes, _ = s.Undo().Size()
	require.Zero(t, changes)
	require.True(t, s.Undo().Back(true))
	require.Equal(t, 1, s.DB(0).Len())
}

// TestNothingIsUndoneWhileUndoIsOff: the data stays as it is.
func TestNothingIsUndoneWhileUndoIsOff(t *testing.T) {
	s := New(1, Limits{})
	for _, off := range []func(){
		func() { s.Undo().Enable(false); s.Undo().Begin() },
		func() { s.Undo().Begin(); s.Undo().Enable(false) },
		func() { s.Undo().Begin(); s.Undo().Enable(false); s.Undo().Advance() },
	} {
		off()
		s.DB(0).EditString([]byte("a")).Set([]byte("1"), NoTTL)
		require.False(t, s.Undo().Back(false))
		require.Equal(t, 1, s.DB(0).Len())
		s.Undo().Enable(true)
	}
	s.Undo().Begin()
	s.FlushAll()
	require.True(t, s.Undo().Back(false))
	require.Equal(t, 1, s.DB(0).Len())
}

// BenchmarkUndoOfMany measures the undo of a million changes among a million keys.
func BenchmarkUndoOfMany(b *testing.B) {
	const keys = 1_000_000
	s := New(1, Limits{})
	name := func(i int) []byte { return fmt.Appendf(nil, "key:%d", i) }
	for i := range keys {
		s.DB(0).EditString(name(i)).Set([]byte("a value"), NoTTL)
	}
	for range b.N {
		b.StopTimer()
		s.Undo().Begin()
		for i := range keys {
			s.DB(0).EditString(name(i)).Set([]byte("another"), NoTTL)
		}
		b.StartTimer()
		require.True(b, s.Undo().Back(false))
	}
}
