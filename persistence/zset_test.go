package persistence

import (
	"bytes"
	"math"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/persistence/rdb"
	"lockserver/store"
	"lockserver/store/zset"
)

func zsetStore() *store.Store {
	st := store.New(1, store.Limits{ZSet: zset.Limits{Entries: 128, Value: 64}})
	st.SetNow(1_700_000_000_000_000)
	return st
}

type scored struct {
	member string
	score  float64
}

func scoredOf(z *zset.ZSet) (all []scored) {
	z.Range(0, z.Len(), func(member []byte, score float64) bool {
		all = append(all, scored{string(member), score})
		return true
	})
	return all
}

// TestSortedSetsComeBack: both forms keep their exact scores, while a writer continues.
func TestSortedSetsComeBack(t *testing.T) {
	st := zsetStore()
	db := st.DB(0)
	scores := []float64{1, -1, 0.1, 1e17, math.Inf(1), math.Inf(-1), math.SmallestNonzeroFloat64, math.MaxFloat64, 1 << 62}
	for _, n := range []int{1, 9, 128, 129, 5000} {
		e := db.EditZSet([]byte("z" + strconv.Itoa(n)))
		for i := range n {
			e.Set([]byte("m"+strconv.Itoa(i)), scores[i%len(scores)]*float64(i/9+1))
		}
	}
	large := db.EditZSet([]byte("z5000"))
	large.Set([]byte("null"), math.Copysign(0, -1))
	want := map[string][]scored{}
	db.Keys().Each(func(key string, r store.Ref) bool {
		want[key] = scoredOf(r.ZSet())
		return true
	})

	snap := st.Cut()
	for key := range want {
		e := db.EditZSet([]byte(key))
		e.Set([]byte("later"), 7)
		e.RemoveRange(0, e.ZSet().Len()/2)
	}
	var file bytes.Buffer
	_, err := Save(&file, snap, SaveOptions{Checksum: true})
	require.NoError(t, err)
	snap.Release()

	again := zsetStore()
	_, err = Load(&file, again, LoadOptions{})
	require.NoError(t, err)
	require.Equal(t, len(want), again.DB(0).Len())
	for key, all := range want {
		z := again.DB(0).Peek([]byte(key)).ZSet()
		require.Equal(t, all, scoredOf(z), key)
		require.Equal(t, len(all) <= 128, z.Encoding() == "listpack", key)
	}
	null, _ := again.DB(0).Peek([]byte("z5000")).ZSet().Score([]byte("null"))
	require.True(t, math.Signbit(null))
}

// TestSmallTableIsLoadedCompact: a small sorted set becomes compact, whatever form the file has, as in Redis.
func TestSmallTableIsLoadedCompact(t *testing.T) {
	var file bytes.Buffer
	out := rdb.NewWriter(&file, rdb.WriterOptions{})
	out.SelectDB(0)
	out.Key([]byte("z"), 0)
	out.ZSet(3)
	out.Scored([]byte("c"), 3)
	out.Scored([]byte("b"), 2)
	out.Scored([]byte("a"), math.Copysign(0, -1))
	require.NoError(t, out.Close())
	st := zsetStore()
	_, err := Load(&file, st, LoadOptions{})
	require.NoError(t, err)
	z := st.DB(0).Peek([]byte("z")).ZSet()
	require.Equal(t, "listpack", z.Encoding())
	require.Equal(t, []scored{{"a", 0}, {"b", 2}, {"c", 3}}, scoredOf(z))
}

func TestMemberThatStandsTwiceIsRefused(t *testing.T) {
	var file bytes.Buffer
	out := rdb.NewWriter(&file, rdb.WriterOptions{})
	out.SelectDB(0)
	out.Key([]byte("z"), 0)
	out.ZSet(2)
	out.Scored([]byte("a"), 3)
	out.Scored([]byte("a"), 2)
	require.NoError(t, out.Close())
	_, err := Load(&file, zsetStore(), LoadOptions{})
	require.ErrorContains(t, err, `"a" occurs twice`)
}

// TestNegativeZeroOfAZiplist: a score that is text in a payload of Redis 6 stays that text.
func TestNegativeZeroOfAZiplist(t *testing.T) {
	st := zsetStore()
	loose, err := ReadPayload(st, []byte("\x0c\x20\x20\x00\x00\x00\x1d\x00\x00\x00\x06\x00\x00\x01\x61\x03\x02\x2d\x30\x04\x01\x62\x03\x04\x31\x2e\x35\x30\x06\x01\x63\x03\xf3\xff\x0b\x00\x60\x7e\x70\x25\x05\xb3\x33\xc8"))
	require.NoError(t, err)
	st.DB(0).Restore([]byte("z"), loose, store.Restoring{})
	r := st.DB(0).Find([]byte("z"))
	all := scoredOf(r.ZSet())
	require.Equal(t, []scored{{"a", math.Copysign(0, -1)}, {"b", 1.5}, {"c", 2}}, all)
	require.True(t, math.Signbit(all[0].score))
}
