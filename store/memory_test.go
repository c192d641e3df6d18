package store

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/store/hash"
	"lockserver/store/hll"
	"lockserver/store/list"
	"lockserver/store/renewals"
	"lockserver/store/set"
	"lockserver/store/stream"
	"lockserver/store/zset"
	"lockserver/tests/testkit"
)

// tightLimits returns limits with which containers change their form often.
func tightLimits() Limits {
	return Limits{Hash: hash.Limits{Entries: 6, Value: 20}, Set: set.Limits{IntsetEntries: 5, Entries: 6, Value: 20},
		List: list.Limits{Fill: 5, Large: 50}, ZSet: zset.Limits{Entries: 6, Value: 20},
		Stream: stream.Limits{NodeMaxBytes: 200, NodeMaxEntries: 5}, HLL: hll.Limits{SparseBytes: 300}}
}

// requireUsed compares the running sums with sums over all data.
func requireUsed(t *testing.T, s *Store, format string, args ...any) {
	t.Helper()
	total := 0
	for _, db := range s.dbs {
		used := 0
		db.space.keys.EachSided(func(key string, v *value, atMS int64) bool {
			used += keyBytes + named(len(key)) + v.size()
			if atMS != 0 {
				used += deadlineBytes
			}
			return true
		})
		used += lockRecordBytes*db.space.lockRecords.n + renewals.Bytes*db.space.renewals.Len()
		if used != db.space.used { // a call of require costs more than all the rest
			require.Equal(t, used, db.space.used, format, args)
		}
		requireBounds(t, db.space)
		requireQueued(t, db.space)
		total += used
	}
	if total != s.Used() {
		require.Equal(t, total, s.Used(), format, args)
	}
}

// requireBounds requires that no key has a deadline before its bound, and none has one before the store
// expects it.
func requireBounds(t *testing.T, sp *space) {
	t.Helper()
	timed, lockRecords := 0, 0
	for slot := range sp.keys.Len() {
		if atMS := sp.keys.Side(slot); atMS != 0 {
			timed++
			if bound := sp.bounds.Of(slot >> boundBits); bound > atMS || sp.store.soonestMS > atMS {
				require.Fail(t, "a key dies early", "slot %d at %d, bound %d, expected %d", slot, atMS, bound, sp.store.soonestMS)
			}
		}
		if sp.lockRecords.at(slot) != 0 {
			lockRecords++
		}
	}
	if timed != sp.timed || lockRecords != sp.lockRecords.n {
		require.Equal(t, []int{timed, lockRecords}, []int{sp.timed, sp.lockRecords.n}, "deadlines, records of locks")
	}
}

// requireQueued checks that the queue holds exactly the streams that remember messages, each at its first
// message.
func requireQueued(t *testing.T, sp *space) {
	t.Helper()
	n := 0
	sp.keys.Each(func(key string, v *value) bool {
		if v.tag() != Stream || v.stream().Producers() == nil {
			return true
		}
		if endMS, ok := v.stream().Producers().FirstEndMS(); ok {
			item := producersAlarm(v.stream().Producers())
			if !item.Queued() || item.Of != (timedKey{space: sp, key: key}) || item.AtMS() != endMS {
				require.Fail(t, "a stream is not queued at its first message", "%q: %v of %v at %d, not %d", key, item.Queued(), item.Of, item.AtMS(), endMS)
			}
			n++
		}
		return true
	})
	if n != sp.remembering {
		require.Equal(t, n, sp.remembering)
	}
	if sp.db.id == sp.store.Len()-1 {
		sum := 0
		for _, db := range sp.store.dbs {
			sum += db.space.remembering
		}
		if queued := sp.store.remembered.Len(); sum != queued {
			require.Equal(t, sum, queued)
		}
	}
}

// memoryWorld is a store with random changes.
type memoryWorld struct {
	rng *rand.Rand
	s   *Store
	id  uint64
}

func (w *memoryWorld) word(n int) []byte {
	if w.rng.IntN(3) == 0 {
		return fmt.Append(nil, w.rng.IntN(n)*w.rng.IntN(100000))
	}
	return []byte(strings.Repeat("x", w.rng.IntN(30)) + fmt.Sprint(w.rng.IntN(n)))
}

func (w *memoryWorld) db() *DB { return w.s.DB(w.rng.IntN(w.s.Len())) }

// step makes one random change to a random key.
func (w *memoryWorld) step() (what string) {
	db, key := w.db(), fmt.Append(nil, "key", w.rng.IntN(25))
	if w.rng.IntN(10) == 0 {
		key = append([]byte(CompanionPrefix), key...)
	}
	switch op := w.rng.IntN(24); op {
	case 0, 1:
		db.EditString(key).Set(w.word(1000), []TTL{NoTTL, KeepTTL, TTL(w.s.NowMS() + w.rng.Int64N(20))}[w.rng.IntN(3)])
		return "set"
	case 2, 3:
		if db.Peek(key).Is(String) {
			db.EditString(key).Append(w.word(100))
			db.EditString(key).SetRange(w.rng.IntN(40), w.word(10))
			return "append"
		}
	case 4:
		db.EditString(key).PutBuffer(w.word(9))
		return "put"
	case 5:
		db.Delete(key)
		if _, err := db.EditString(key).PFAdd([][]byte{w.word(1000), w.word(1000)}); err != nil {
			panic(err)
		}
		for range w.rng.IntN(200) {
			if _, err := db.EditString(key).PFAdd([][]byte{w.word(1000)}); err != nil {
				panic(err)
			}
		}
		if err := db.EditString(append(key, 'm')).PFMerge([][]byte{key}); w.rng.IntN(2) == 0 && err == nil {
			_, _ = db.EditString(key).PFToDense()
		}
		db.Delete(append(key, 'm'))
		return "pfadd"
	case 6:
		db.Expire(key, w.s.NowMS()+w.rng.Int64N(30))
		return "expire"
	case 7:
		db.Persist(key)
		return "persist"
	case 8:
		if db.Peek(key).OK() {
			db.Rename(key, w.word(5))
		}
		return "rename"
	case 9:
		if to := w.db(); to != db {
			db.Move(key, to)
		}
		return "move"
	case 10:
		if db.Peek(key).OK() {
			db.Copy(key, w.db(), append(w.word(9), 'c'))
		}
		return "copy"
	case 11:
		if w.rng.IntN(8) == 0 {
			w.s.SwapDB(w.db(), w.db())
		} else if w.rng.IntN(8) == 0 {
			db.Flush()
		} else if w.rng.IntN(20) == 0 {
			w.s.FlushAll()
		}
		return "flush"
	case 12, 13:
		return w.hash(db, key)
	case 14, 15:
		if e, ok := db.OpenSet(key); ok {
			e.Add(w.word(40))
			e.Remove(w.word(40))
			e.Add([]byte("7"))
			e.Add([]byte("7"))
		}
		return "set type"
	case 16, 17:
		if e, ok := db.OpenZSet(key); ok {
			e.Set(w.word(40), float64(w.rng.IntN(9)))
			e.Remove(w.word(40))
			if n := len("x"); e.ZSet() != nil && e.ZSet().Len() > 10 {
				e.RemoveRange(n, 5)
			}
		}
		return "zset"
	case 18, 19, 20:
		return w.list(db, key)
	default:
		return w.stream(db, key)
	}
	return "nothing"
}

func (w *memoryWorld) hash(db *DB, key []byte) string {
	e, ok := db.OpenHash(key)
	if !ok {
		return "no hash"
	}
	e.Set(w.word(20), w.word(1000))
	e.SetInt(w.word(20), w.rng.Int64())
	e.Update(w.word(20), w.word(20))
	f := w.word(20)
	e.Set(f, nil)
	if e.ExpireField(f, w.s.NowMS()+w.rng.Int64N(30)); w.rng.IntN(2) == 0 && e.Hash() != nil {
		e.PersistField(f)
		e.Set(f, []byte("a"))
	}
	for range w.rng.IntN(8) {
		e.Delete(w.word(20))
	}
	return "hash"
}

func (w *memoryWorld) list(db *DB, key []byte) string {
	e, ok := db.OpenList(key)
	if !ok {
		return "no list"
	}
	for range 1 + w.rng.IntN(6) {
		e.Push(list.Side(w.rng.IntN(2)), w.word(9), []byte(strings.Repeat("l", w.rng.IntN(70))))
	}
	e.Set(w.rng.IntN(e.Len()), []byte(strings.Repeat("s", w.rng.IntN(70))))
	e.Insert(w.rng.IntN(2) == 0, []byte("0"), w.word(9))
	e.Rotate(list.Left, list.Right)
	e.RemoveEqual(w.word(9), list.Left, w.rng.IntN(3))
	e.Pop(list.Side(w.rng.IntN(2)), w.rng.IntN(8), func(list.Value) {})
	if n := e.Len(); n > 0 && w.rng.IntN(4) == 0 {
		from := w.rng.IntN(n)
		e.Trim(from, w.rng.IntN(n-from+1))
	}
	return "list"
}

func (w *memoryWorld) stream(db *DB, key []byte) string {
	e, ok := db.OpenStream(key)
	if !ok {
		return "no stream"
	}
	if e.Stream() != nil {
		w.id = max(w.id, e.Stream().LastID().MS)
	}
	for range 1 + w.rng.IntN(7) {
		w.id++
		e.Add(stream.ID{MS: w.id}, [][]byte{w.word(3), w.word(1000)})
	}
	e.CreateGroup([]byte("g"), stream.ID{}, 0)
	if g, ok := e.EditGroup([]byte("g")); ok {
		c, _ := g.Consumer(w.word(3))
		g.Deliver(stream.Pending{ID: stream.ID{MS: w.id - uint64(w.rng.IntN(5))}}, c)
		g.Acknowledge(stream.ID{MS: w.id - uint64(w.rng.IntN(5))})
		if w.rng.IntN(3) == 0 {
			g.RemoveConsumer(w.word(3))
		}
	}
	if w.rng.IntN(5) == 0 {
		e.DestroyGroup([]byte("g"))
	}
	if w.rng.IntN(2) == 0 {
		if _, ok := e.Produced(w.word(3), w.word(9)); !ok {
			e.Remember(w.word(3), w.word(9), stream.ID{MS: w.id}, w.s.NowMS())
		}
		if w.rng.IntN(20) == 0 {
			e.LimitProducers(stream.ProducerLimits{DurationS: 1, MaxSize: 1 + w.rng.IntN(3)})
		}
	}
	e.Delete(stream.ID{MS: w.id - uint64(w.rng.IntN(9))})
	if w.rng.IntN(3) == 0 {
		e.Trim(stream.Strategy{By: stream.ByMaxLen, MaxLen: w.rng.IntN(10), Approx: w.rng.IntN(2) == 0})
	}
	return "stream"
}

// TestUsedIsTheSum: after any history with cuts and expired keys, the running sum is equal to a new count.
func TestUsedIsTheSum(t *testing.T) {
	seed := testkit.Seed(t)
	for round := range 4 {
		w := &memoryWorld{rng: rand.New(rand.NewPCG(seed, uint64(round))), s: New(3, tightLimits())}
		var cut *Snapshot
		w.s.Record(round%2 == 0)
		for i := range testkit.Steps(1500, 4000) {
			w.s.SetNow(int64(1000+i) * 1000)
			what := w.step()
			requireUsed(t, w.s, "round %d, step %d: %s", round, i, what)
			switch w.rng.IntN(60) {
			case 0:
				if cut == nil {
					cut = w.s.Cut()
				}
			case 1:
				if cut != nil {
					cut.Release()
					cut = nil
				}
			case 2:
				w.s.ExpireDue(50)
			}
			w.s.TakeEffects()
		}
		requireUsed(t, w.s, "the end")
		w.s.FlushAll()
		require.Zero(t, w.s.Used())
	}
}

// TestUsedIsNearTheHeap: for each kind of data the accounted size is near the growth of Go's heap.
func TestUsedIsNearTheHeap(t *testing.T) {
	def := Limits{Hash: hash.Limits{Entries: 512, Value: 64}, Set: set.Limits{IntsetEntries: 512, Entries: 128, Value: 64},
		List: list.DefaultLimits(), ZSet: zset.Limits{Entries: 128, Value: 64}, Stream: stream.DefaultLimits()}
	for _, c := range []struct {
		name string
		n    int
		fill func(db *DB, i int)
	}{
		{"small strings", 200_000, func(db *DB, i int) { db.EditString(fmt.Append(nil, "key:", i)).Set([]byte("value"), NoTTL) }},
		{"strings of 200 with a deadline", 100_000, func(db *DB, i int) {
			db.EditString(fmt.Append(nil, "key:", i)).Set(make([]byte, 200), TTL(1_000_000+int64(i)))
		}},
		{"small hashes", 50_000, func(db *DB, i int) {
			e := db.EditHash(fmt.Append(nil, "key:", i))
			for f := range 5 {
				e.Set(fmt.Append(nil, "field", f), fmt.Append(nil, "value", i))
			}
		}},
		{"a large hash", 200_000, func(db *DB, i int) {
			e := db.EditHash([]byte("h"))
			e.Set(fmt.Append(nil, "field", i), fmt.Append(nil, "value", i))
		}},
		{"a large set", 200_000, func(db *DB, i int) {
			e := db.EditSet([]byte("s"))
			e.Add(fmt.Append(nil, "member:", i))
		}},
		{"a large sorted set", 200_000, func(db *DB, i int) {
			e := db.EditZSet([]byte("z"))
			e.Set(fmt.Append(nil, "member:", i), float64(i*7919%200_000))
		}},
		{"a large list", 300_000, func(db *DB, i int) {
			e := db.EditList([]byte("l"))
			e.Push(list.Right, fmt.Append(nil, "element:", i))
		}},
		{"small lists", 50_000, func(db *DB, i int) {
			e := db.EditList(fmt.Append(nil, "l", i))
			e.Push(list.Right, []byte("element"), []byte("another"))
		}},
		{"a large stream", 300_000, func(db *DB, i int) {
			e := db.EditStream([]byte("x"))
			e.Add(stream.ID{MS: uint64(i + 1)}, [][]byte{[]byte("field"), fmt.Append(nil, "value", i)})
		}},
		{"a stream with a producer's messages", 100_000, func(db *DB, i int) {
			e := db.EditStream([]byte("x"))
			if i == 0 {
				e.Create()
				e.LimitProducers(stream.ProducerLimits{DurationS: 100, MaxSize: stream.MaxProducerSize})
			}
			e.Remember(fmt.Append(nil, "producer", i/9000), fmt.Append(nil, "message:", i), stream.ID{MS: uint64(i + 1)}, int64(i))
		}},
		{"small streams", 20_000, func(db *DB, i int) {
			e := db.EditStream(fmt.Append(nil, "x", i))
			e.Add(stream.ID{MS: uint64(i + 1)}, [][]byte{[]byte("field"), []byte("value")})
		}},
	} {
		s := New(1, def)
		before := heapOf()
		for i := range c.n / testkit.Steps(8, 1) {
			c.fill(s.DB(0), i)
		}
		grown := float64(heapOf()) - float64(before)
		factor := grown / float64(s.Used())
		t.Logf("%-32s heap %4.1f MB, accounted %4.1f MB: factor %.2f", c.name, grown/1e6, float64(s.Used())/1e6, factor)
		require.Greater(t, factor, 0.75, c.name)
		require.Less(t, factor, 1.35, c.name)
		runtime.KeepAlive(s)
	}
}

func heapOf() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
