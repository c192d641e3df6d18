package slotdata

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc64"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/keyslot"
	"lockserver/persistence"
	"lockserver/persistence/digest"
	"lockserver/server/cluster"
	"lockserver/store"
)

// nowUS is before the deadlines in the files of Redis.
const nowUS = 1_600_000_000_000_000

// upper and lower are the halves of all slots.
var (
	lower = SlotsOf([]cluster.Range{{First: 0, Last: 8191}})
	upper = SlotsOf([]cluster.Range{{First: 8192, Last: 16383}})
)

func newStore() *store.Store {
	st := store.New(16, store.Limits{})
	st.SetNow(nowUS)
	return st
}

// load loads the keys of database 0 that keep accepts.
func load(t testing.TB, st *store.Store, path string, keep func(key []byte) bool) {
	t.Helper()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	_, err = persistence.Load(bytes.NewReader(b), st, persistence.LoadOptions{Keep: keep})
	require.NoError(t, err)
	for id := 1; id < st.Len(); id++ {
		st.DB(id).Flush()
	}
}

func sumOf(st *store.Store) digest.Digest {
	cut := st.Cut()
	defer cut.Release()
	d, _ := digest.Exact(cut, digest.ExactOptions{})
	return d
}

// send returns the pieces of some slots.
func send(t testing.TB, st *store.Store, slots *Slots) (all [][]byte) {
	t.Helper()
	cut := st.Cut()
	defer cut.Release()
	require.NoError(t, Send(cut, slots, nil, func(piece []byte) error {
		all = append(all, piece)
		return nil
	}))
	return all
}

// fill adds n keys of several kinds, some of them locks. It returns the highest token in the slots.
func fill(st *store.Store, n int, slots *Slots) (token int64) {
	db := st.DB(0)
	for i := range n {
		key := fmt.Appendf(nil, "key:%d", i)
		switch i % 4 {
		case 0:
			db.EditString(key).Set(bytes.Repeat(key, 20), store.NoTTL)
		case 1:
			h := db.EditHash(key)
			h.Set([]byte(store.TokenField), strconv.AppendInt(nil, int64(1000+i), 10))
			h.Set([]byte("owner"), []byte("1"))
			h.ExpireField([]byte("owner"), nowUS/1000+int64(i)+1)
			if slots.Has(key) {
				token = int64(1000 + i)
			}
		case 2:
			z := db.EditZSet(key)
			z.Set(key, float64(i))
		default:
			s := db.EditSet(key)
			s.Add(key)
		}
		if i%3 == 0 {
			db.Expire(key, nowUS/1000+int64(i)+1)
		}
	}
	return token
}

// TestSlotsAreTheirRanges compares a set with its ranges at each slot.
func TestSlotsAreTheirRanges(t *testing.T) {
	ranges := []cluster.Range{{First: 0, Last: 0}, {First: 63, Last: 64}, {First: 5000, Last: 5461}, {First: 16383, Last: 16383}}
	s, in := SlotsOf(ranges), 0
	for i := range 60000 {
		key := []byte(strconv.Itoa(i))
		has := false
		for _, r := range ranges {
			has = has || r.Has(keyslot.Of(key))
		}
		require.Equal(t, has, s.Has(key), "%s", key)
		if has {
			in++
		}
	}
	require.Positive(t, in)
}

// TestFilesOfRedisMove: of each file that Redis has written, half of the slots move to a store that has the
// other half, in steps of two keys. The target is then equal to the whole.
func TestFilesOfRedisMove(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join("..", "..", "persistence", "rdb", "testdata", "redis-7.0", "*.rdb"))
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	moved := 0
	for _, path := range paths {
		for _, slots := range []*Slots{lower, upper} {
			source, target := newStore(), newStore()
			load(t, source, path, nil)
			load(t, target, path, func(key []byte) bool { return !slots.Has(key) })
			stayed := target.DB(0).Len()
			staging := NewStaging(target, slots)
			for _, piece := range send(t, source, slots) {
				require.NoError(t, staging.Piece(nowUS, piece))
			}
			require.Equal(t, stayed, target.DB(0).Len(), "%s: a staging is not seen", path)
			for left := staging.DB().Len(); left > 0; {
				now := staging.Take(target, 2)
				require.Equal(t, max(left-2, 0), now)
				left = now
				moved++
			}
			require.Equal(t, sumOf(source), sumOf(target), path)
			require.Equal(t, source.HighestToken(), target.HighestToken())
			require.Zero(t, staging.Used(), path)
		}
	}
	require.Greater(t, moved, 10)
}

// TestPiecesAreBounded: pieces are of about one size, a writer breathes, and changes while pieces are sent
// are not in them.
func TestPiecesAreBounded(t *testing.T) {
	const n = 40000
	token := int64(0)
	filled := func() *store.Store {
		st := newStore()
		token = fill(st, n, lower)
		st.DB(0).EditString([]byte("large")).Set(make([]byte, 3*pieceBytes), store.NoTTL)
		return st
	}
	want, target := filled(), newStore()
	for _, slots := range []*Slots{lower, upper} {
		source := filled()
		cut := source.Cut()
		staging, pieces, breaths, large, last := NewStaging(target, slots), 0, 0, 0, 0
		require.NoError(t, Send(cut, slots, func(keys int) {
			require.Greater(t, keys, last)
			breaths, last = breaths+1, keys
		}, func(piece []byte) error {
			pieces++
			if len(piece) > pieceBytes+4096 {
				large++
			}
			source.DB(0).EditString(fmt.Appendf(nil, "key:%d", 4*pieces)).Set([]byte("later"), store.NoTTL)
			source.DB(0).Delete(fmt.Appendf(nil, "key:%d", n-pieces))
			return staging.Piece(nowUS, piece)
		}))
		cut.Release()
		require.Greater(t, pieces, 4)
		require.LessOrEqual(t, large, 1, "only the piece with the large value")
		require.Positive(t, breaths)
		if slots == lower {
			require.Equal(t, token, staging.data.HighestToken())
		}
		require.Zero(t, staging.Take(target, n+1))
		require.GreaterOrEqual(t, target.HighestToken(), token)
	}
	require.Equal(t, sumOf(want), sumOf(target))
	require.Equal(t, want.DB(0).Keys().Timed(), target.DB(0).Keys().Timed())
	require.Equal(t, want.DB(0).Keys().TimedHashes(), target.DB(0).Keys().TimedHashes())
	require.Equal(t, want.DB(0).Keys().Holders(), target.DB(0).Keys().Holders())
}

// TestLooksBreathe: a writer breathes while it looks at keys that stay.
func TestLooksBreathe(t *testing.T) {
	source := newStore()
	fill(source, 5000, lower)
	cut, breaths := source.Cut(), 0
	defer cut.Release()
	require.NoError(t, Send(cut, new(Slots), func(int) { breaths++ }, nil))
	require.Greater(t, breaths, 1)
}

// TestNothingEndsInTheStaging: an overdue key arrives, stays, and ends in the data.
func TestNothingEndsInTheStaging(t *testing.T) {
	source, target := newStore(), newStore()
	source.DB(0).EditString([]byte("k")).Set([]byte("v"), store.NoTTL)
	source.DB(0).Expire([]byte("k"), nowUS/1000+5)
	slots := SlotsOf([]cluster.Range{cluster.All()})
	pieces := send(t, source, slots)
	require.Len(t, pieces, 1)
	late := int64(nowUS + 10_000_000)
	target.SetNow(late)
	staging := NewStaging(target, slots)
	require.NoError(t, staging.Piece(late, pieces[0]))
	require.True(t, staging.DB().Persist([]byte("k")), "a command finds the key")
	require.True(t, staging.DB().Expire([]byte("k"), nowUS/1000+5), "an effect sets a deadline that has passed")
	require.Equal(t, 1, staging.DB().Len())
	require.EqualValues(t, nowUS/1000+5, staging.DB().Peek([]byte("k")).DeadlineMS())
	require.Zero(t, staging.Take(target, 1))
	require.Equal(t, 1, target.DB(0).Len())
	for target.ExpireDue(10) {
	}
	require.Zero(t, target.DB(0).Len())
}

// TestPiecesAreRefused: pieces that are not those of the slots.
func TestPiecesAreRefused(t *testing.T) {
	source := newStore()
	fill(source, 100, lower)
	piece := send(t, source, lower)[0]
	target := newStore()

	require.ErrorIs(t, NewStaging(target, upper).Piece(nowUS, piece), errAstray)

	staging := NewStaging(target, lower)
	require.NoError(t, staging.Piece(nowUS, piece))
	require.ErrorContains(t, staging.Piece(nowUS, piece), "slotdata: ", "a key is there already")

	cut, other := source.Cut(), []byte(nil)
	require.NoError(t, persistence.SavePieces(cut, persistence.PieceOptions{Keep: lower.Has, MostBytes: 1, Version: pieceVersion}, func(p []byte) error {
		other = p
		return nil
	}))
	cut.Release()
	at := bytes.Index(other, []byte{0xfe, 0}) // SELECTDB 0
	other[at+1] = 1
	require.ErrorIs(t, NewStaging(target, lower).Piece(nowUS, summed(other[:len(other)-8])), errDatabase)

	for i := range piece {
		for b := range byte(2) {
			bad := bytes.Clone(piece)
			bad[i] ^= 1 + b // a version before 5 has no checksum
			require.Error(t, NewStaging(target, lower).Piece(nowUS, bad), "byte %d", i)
		}
	}
	require.ErrorContains(t, NewStaging(target, lower).Piece(nowUS, append([]byte("REDIS0002"), piece[9:]...)), "has no checksum")
	for i := range 8 {
		bad := bytes.Clone(piece)
		clear(bad[len(bad)-8+i:])
		require.Error(t, NewStaging(target, lower).Piece(nowUS, bad), "the end is empty: %d bytes", 8-i)
	}
	require.Error(t, NewStaging(target, lower).Piece(nowUS, nil))
	require.Zero(t, target.DB(0).Len())

	gone := errors.New("the target is gone")
	cut = source.Cut()
	defer cut.Release()
	calls := 0
	require.ErrorIs(t, Send(cut, lower, nil, func([]byte) error { calls++; return gone }), gone)
	require.Equal(t, 1, calls)
}

// summed returns a piece with the checksum of its bytes.
func summed(piece []byte) []byte {
	jones := crc64.MakeTable(0x95ac9329ac4bc9b5)
	return binary.LittleEndian.AppendUint64(bytes.Clone(piece), ^crc64.Update(math.MaxUint64, jones, piece))
}

// FuzzPiece: no piece makes a staging panic, and none changes the data beside it. The input is a piece
// without its checksum.
func FuzzPiece(f *testing.F) {
	source := newStore()
	fill(source, 60, lower)
	for _, slots := range []*Slots{lower, upper} {
		for _, piece := range send(f, source, slots) {
			require.Equal(f, piece, summed(piece[:len(piece)-8]))
			f.Add(piece[:len(piece)-8])
		}
	}
	f.Add([]byte("REDIS0010\xfe\x00\x00\x01a\x01b\xff"))
	f.Fuzz(func(t *testing.T, piece []byte) {
		target := newStore()
		fill(target, 8, lower)
		was := sumOf(target)
		staging := NewStaging(target, upper)
		err := staging.Piece(nowUS, summed(piece))
		require.Equal(t, was, sumOf(target))
		if err != nil {
			return
		}
		staging.DB().Keys().Each(func(key string, _ store.Ref) bool {
			require.True(t, upper.Has([]byte(key)), "%q", key)
			return true
		})
		want := sumOf(staging.data)
		empty := newStore()
		again := NewStaging(empty, upper)
		for _, p := range send(t, staging.data, upper) {
			require.NoError(t, again.Piece(nowUS, p))
		}
		require.Equal(t, want, sumOf(again.data))
	})
}

// BenchmarkLook is a look at a key that stays.
func BenchmarkLook(b *testing.B) {
	st := newStore()
	for i := range 1_000_000 {
		st.DB(0).Loading().String(fmt.Appendf(nil, "user:%d", i), []byte("some value"), 0)
	}
	none := new(Slots)
	b.ReportAllocs()
	for b.Loop() {
		cut := st.Cut()
		if err := Send(cut, none, nil, nil); err != nil {
			b.Fatal(err)
		}
		cut.Release()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1e6, "ns/key")
}

// BenchmarkMove is all that happens to a key that moves: it is written, read, and taken.
func BenchmarkMove(b *testing.B) {
	st := newStore()
	fill(st, 100_000, lower)
	all := SlotsOf([]cluster.Range{cluster.All()})
	for b.Loop() {
		target := newStore()
		staging := NewStaging(target, all)
		cut := st.Cut()
		if err := Send(cut, all, nil, func(p []byte) error { return staging.Piece(nowUS, p) }); err != nil {
			b.Fatal(err)
		}
		cut.Release()
		staging.Take(target, 100_000)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1e5, "ns/key")
}
