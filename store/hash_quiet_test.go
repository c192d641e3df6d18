package store

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFieldsAreWatched: after any changes of hashes and deadlines, the queue holds exactly the hashes with a
// field that can expire before the hash does. Each is there at the first such deadline.
func TestFieldsAreWatched(t *testing.T) {
	for seed := range uint64(20) {
		w := newTimedWorld(t, seed)
		for range 400 {
			w.step()
			w.check()
		}
	}
}

// timedWorld is a store with random changes.
type timedWorld struct {
	t        *testing.T
	random   *rand.Rand
	s        *Store
	nowMS    int64
	reported []string
	cut      *Snapshot
}

func newTimedWorld(t *testing.T, seed uint64) *timedWorld {
	w := &timedWorld{t: t, random: rand.New(rand.NewPCG(seed, 1)), s: New(2, Limits{}), nowMS: 1_000_000}
	w.s.SetNow(w.nowMS * 1000)
	return w
}

func (w *timedWorld) key() []byte { return fmt.Appendf(nil, "k%d", w.random.IntN(4)) }

func (w *timedWorld) later() int64 { return w.nowMS + 1 + w.random.Int64N(50) }

// step makes one change.
func (w *timedWorld) step() {
	db, other := w.s.DB(w.random.IntN(2)), w.s.DB(w.random.IntN(2))
	key, field := w.key(), fmt.Appendf(nil, "f%d", w.random.IntN(3))
	e, ok := db.OpenHash(key)
	n := w.random.IntN(15)
	w.reported = append(w.reported, fmt.Sprintf("%d: %d of %s in %d, %s", w.nowMS, n, key, db.id, field))
	has := ok && e.Hash() != nil
	switch {
	case n == 0:
		w.nowMS += w.random.Int64N(20)
		w.s.SetNow(w.nowMS * 1000)
		for w.s.ExpireDue(3) {
		}
	case n == 1 && w.cut == nil:
		w.cut = w.s.Cut()
	case n == 1:
		w.cut.Release()
		w.cut = nil
	case n == 2 && w.random.IntN(10) == 0:
		db.Flush()
	case n == 3:
		w.s.SwapDB(db, other)
	case n < 6 || !has:
		e.Set(field, []byte("v"))
	case n < 9 && e.Hash().Has(field):
		e.ExpireField(field, w.later())
	case n < 11:
		e.Expire(w.later())
	case n == 11:
		e.Remove()
	case n == 12:
		db.Persist(key)
	case n == 13 && e.Hash().Has(field):
		if !e.PersistField(field) {
			e.Delete(field)
		}
	default:
		w.move(db, other, key)
	}
}

// move moves or copies a hash.
func (w *timedWorld) move(db, other *DB, key []byte) {
	to := w.key()
	switch {
	case db == other && string(key) == string(to):
	case w.random.IntN(2) == 0 && db == other:
		db.Rename(key, to)
	case w.random.IntN(2) == 0 && db != other:
		db.Move(key, other)
	case !other.Peek(to).OK():
		db.Copy(key, other, to)
	}
}

func (w *timedWorld) check() {
	queued := 0
	for _, db := range w.s.dbs {
		timed, inQueue := 0, 0
		db.space.keys.EachSided(func(key string, v *value, keyMS int64) bool {
			h := v.hash()
			_, atMS, ok := h.FirstDeadline()
			item := alarmOf(h)
			require.False(w.t, h.Quiet() && item != nil, "%s: %v", key, w.reported)
			switch {
			case !ok:
				require.False(w.t, h.Quiet() || item != nil, "%s has no deadline: %v", key, w.reported)
				return true
			case h.Quiet():
				require.True(w.t, keyMS != 0 && keyMS <= atMS && h.Timed() == 1, "%s is quiet: %v", key, w.reported)
			default:
				require.NotNil(w.t, item, "%s: %v", key, w.reported)
				require.True(w.t, item.Queued(), "%s: %v", key, w.reported)
				require.Equal(w.t, atMS, item.AtMS(), "%s: %v", key, w.reported)
				require.Equal(w.t, db.space, item.Of.space)
				require.Equal(w.t, key, item.Of.key)
				inQueue++
			}
			timed++
			return true
		})
		require.Equal(w.t, timed, db.Keys().TimedHashes(), "%v", w.reported)
		require.Equal(w.t, inQueue, db.space.queuedHashes, "%v", w.reported)
		queued += inQueue
	}
	require.Equal(w.t, queued, w.s.fields.Len(), "%v", w.reported)
}
