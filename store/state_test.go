package store

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/tests/testkit"
)

// putState replaces a state like a command.
func putState(db *DB, key, text string, atMS int64) {
	slot, _ := db.FindState([]byte(key))
	db.PutState(slot, []byte(key), []byte(text), atMS)
}

// TestStatesAreOverwritten: a state overwrites the previous one, and no other key, cut or reader is affected.
func TestStatesAreOverwritten(t *testing.T) {
	s, db := openTestStore()
	s.Record(true)
	const first, second, third = "1700000000000000001", "1700000000000000002", "1700000000000000003"
	read := func(key string) string { return string(db.Peek([]byte(key)).Bytes()) }
	putState(db, "k", first, 5000)
	old := db.Peek([]byte("k")).Bytes()
	require.Equal(t, "int", db.Peek([]byte("k")).Encoding())
	require.Equal(t, String, db.Peek([]byte("k")).Kind())
	used, dirty := s.Used(), s.Dirty()
	putState(db, "k", second, 6000)
	require.Equal(t, second, string(old), "in place")
	require.Equal(t, int64(6000), db.Peek([]byte("k")).DeadlineMS())
	require.Equal(t, used, s.Used())
	require.Equal(t, dirty+1, s.Dirty())

	db.Copy([]byte("k"), db, []byte("copy"))
	cut := s.Cut()
	putState(db, "k", third, 7000)
	require.Equal(t, second, string(old), "a cut may read it")
	cut.Each(0, func(key string, r Ref) bool {
		require.Equal(t, second, string(r.Bytes()), key)
		return true
	})
	require.Equal(t, second, read("copy"))
	cut.Release()
	putState(db, "k", first, 7000)
	require.Equal(t, second, read("copy"))
	putState(db, "copy", third, 7000)
	require.Equal(t, first, read("k"))

	putState(db, "k", first+"+1/3", 8000)
	require.Equal(t, first+"+1/3", read("k"))
	require.Equal(t, "embstr", db.Peek([]byte("k")).Encoding())
	putState(db, "k", first, 7500) // an earlier deadline, as after a smaller take
	require.Equal(t, int64(7500), db.Peek([]byte("k")).DeadlineMS())
	db.EditString([]byte("k")).Set([]byte("x"), NoTTL)
	putState(db, "k", "5", 7500)
	require.Equal(t, "5", read("k"))
	db.EditString([]byte("copy")).Append([]byte("x"))
	require.Equal(t, third+"x", read("copy"))
	s.SetNow(7_500_999)
	require.True(t, db.Peek([]byte("k")).OK(), "it lives through the millisecond of its deadline")
	s.SetNow(7_501_000)
	require.False(t, db.Peek([]byte("k")).OK())
	require.Equal(t, int64(7501), s.NowMS())
}

// TestStatesAreAsStrings: with any other changes, a store of states is equal to one of strings: values,
// deadlines, effects, memory, and expired keys.
func TestStatesAreAsStrings(t *testing.T) {
	random := rand.New(rand.NewPCG(testkit.Seed(t), 0))
	states, asStates := openTestStore()
	texts, asStrings := openTestStore()
	var cut [2]*Snapshot
	nowMS := int64(1000)
	for range 20_000 {
		key, atMS := fmt.Sprint("k", random.IntN(50)), nowMS+1+random.Int64N(500)
		text := fmt.Sprint(random.Int64())
		if random.IntN(2) == 0 {
			text = fmt.Sprint(1_700_000_000_000_000_000 + random.Int64N(1e9))
		}
		states.Record(true)
		texts.Record(true)
		switch random.IntN(20) {
		case 0:
			asStates.Delete([]byte(key))
			asStrings.Delete([]byte(key))
		case 1:
			asStates.EditString([]byte(key)).Set([]byte(text), KeepTTL)
			asStrings.EditString([]byte(key)).Set([]byte(text), KeepTTL)
		case 2:
			for i, s := range []*Store{states, texts} {
				if cut[i] == nil {
					cut[i] = s.Cut()
				} else {
					cut[i].Release()
					cut[i] = nil
				}
			}
		case 3:
			if other := fmt.Sprint("k", random.IntN(50)); other != key && asStates.Peek([]byte(key)).OK() {
				asStates.Copy([]byte(key), asStates, []byte(other))
				asStrings.Copy([]byte(key), asStrings, []byte(other))
			}
		case 4:
			nowMS += random.Int64N(100)
			for _, s := range []*Store{states, texts} {
				s.SetNow(nowMS * 1000)
				for s.ExpireDue(10) {
				}
			}
		default:
			putState(asStates, key, text, atMS)
			asStrings.FindToWrite([]byte(key))
			asStrings.EditString([]byte(key)).Update([]byte(text), TTL(atMS))
		}
		require.Equal(t, texts.TakeEffects(), states.TakeEffects())
		require.Equal(t, texts.Used(), states.Used())
		require.Equal(t, texts.Dirty(), states.Dirty())
		require.Equal(t, asStrings.Keys().MeanTTL(), asStates.Keys().MeanTTL())
	}
	require.Equal(t, asStrings.Len(), asStates.Len())
	asStrings.Keys().Each(func(key string, r Ref) bool {
		got := asStates.Peek([]byte(key))
		require.Equal(t, string(r.Bytes()), string(got.Bytes()), key)
		require.Equal(t, r.DeadlineMS(), got.DeadlineMS(), key)
		require.Equal(t, r.Encoding(), got.Encoding(), key)
		return true
	})
}

// TestStatesDoNotAllocate: a state that replaces one of the same length allocates nothing.
func TestStatesDoNotAllocate(t *testing.T) {
	s, db := openTestStore()
	key, text, atMS := []byte("k"), []byte("1700000000000000001"), int64(5000)
	putState(db, "k", string(text), atMS)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		atMS++
		slot, _ := db.FindState(key)
		db.PutState(slot, key, text, atMS)
	}))
	s.SetNow(1_000_001)
}
