package rdb

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
)

// randomBytes returns a string: empty, an integer of any width, compressible or not.
func randomBytes(r *rand.Rand) []byte {
	switch r.IntN(6) {
	case 0:
		return strconv.AppendInt(nil, int64(r.Uint64())>>r.IntN(64), 10)
	case 1:
		return bytes.Repeat([]byte("ab"), r.IntN(200))
	case 2:
		b := make([]byte, r.IntN(100))
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		return b
	case 3:
		return []byte("0" + strconv.Itoa(r.IntN(100)))
	}
	return []byte("w" + strconv.Itoa(r.IntN(100000)))
}

// distinct makes n different strings.
func distinct(r *rand.Rand, n int) [][]byte {
	var all [][]byte
	seen := map[string]bool{}
	for len(all) < n {
		if b := randomBytes(r); !seen[string(b)] {
			seen[string(b)] = true
			all = append(all, b)
		}
	}
	return all
}

// wordsOf formats byte strings. It sorts them if their order does not count.
func wordsOf(all [][]byte, sorted bool) string {
	var words []string
	for _, b := range all {
		words = append(words, word(b))
	}
	if sorted {
		slices.Sort(words)
	}
	return strings.Join(words, " ")
}

func packBytes(all [][]byte) []byte {
	lp := pack()
	for _, b := range all {
		lp = lp.Append(b)
	}
	return lp
}

// randomValue writes a value and returns the expected result of describe.
func randomValue(r *rand.Rand, w *Writer) string {
	n := 1 + r.IntN(40)
	switch r.IntN(9) {
	case 0:
		b := randomBytes(r)
		w.String(b)
		return "string " + word(b)
	case 1:
		i := int64(r.Uint64()) >> r.IntN(64)
		w.StringInt(i)
		return fmt.Sprintf("string %d", i)
	case 2:
		return randomHash(r, w, n)
	case 3:
		all := distinct(r, n)
		w.Set(n)
		for _, m := range all {
			w.Member(m)
		}
		return "set " + wordsOf(all, true)
	case 4:
		shift := r.IntN(64)
		ints := make([]int64, 0, n)
		for range n {
			ints = append(ints, int64(r.Uint64())>>shift)
		}
		slices.Sort(ints)
		ints = slices.Compact(ints)
		w.SetInts(ints)
		var all [][]byte
		for _, i := range ints {
			all = append(all, strconv.AppendInt(nil, i, 10))
		}
		return "set " + wordsOf(all, true)
	case 5:
		all := distinct(r, n)
		w.ListElements(n)
		for _, m := range all {
			w.Element(m)
		}
		return "list " + wordsOf(all, false)
	case 6:
		all := append(distinct(r, n), []byte("plain"), []byte("tail"))
		w.List(3)
		w.ListPacked(packBytes(all[:n]))
		w.ListPlain(all[n])
		w.ListPacked(packBytes(all[n+1:]))
		return "list " + wordsOf(all, false)
	case 7:
		return randomZSet(r, w, n)
	}
	return randomStream(r, w, n)
}

func randomHash(r *rand.Rand, w *Writer, n int) string {
	names := distinct(r, n)
	var all [][]byte
	var want []string
	for _, name := range names {
		value := randomBytes(r)
		all = append(all, name, value)
		want = append(want, word(name)+"="+word(value))
	}
	slices.Sort(want)
	if r.IntN(2) == 0 {
		w.HashListpack(packBytes(all))
	} else {
		w.Hash(n)
		for i := 0; i < len(all); i += 2 {
			w.Field(all[i], all[i+1])
		}
	}
	return "hash " + strings.Join(want, " ")
}

func randomZSet(r *rand.Rand, w *Writer, n int) string {
	members := distinct(r, n)
	slices.SortFunc(members, bytes.Compare)
	packed := r.IntN(2) == 0
	score := r.NormFloat64() * 1000
	var all [][]byte
	var want []string
	if !packed {
		w.ZSet(n)
	}
	for i, m := range members {
		if i == n-1 {
			score = math.Inf(1)
		}
		text := strconv.FormatFloat(score, 'g', -1, 64)
		want = append(want, word(m)+":"+text)
		if packed {
			all = append(all, m, []byte(strings.TrimPrefix(strings.ToLower(text), "+")))
		} else {
			w.Scored(m, score)
		}
		score += float64(r.IntN(3))
	}
	if packed {
		w.ZSetListpack(packBytes(all))
	}
	slices.Sort(want)
	return "zset " + strings.Join(want, " ")
}

// randomStream writes a stream with one entry in each node, a field "f", and two groups.
func randomStream(r *rand.Rand, w *Writer, n int) string {
	var s strings.Builder
	s.WriteString("stream")
	w.Stream(n)
	base := 1 + r.Uint64N(1<<42)
	for i := range n {
		v := strconv.Itoa(r.IntN(1000))
		w.StreamNode(ID{base + uint64(i), 5}, pack("1", "0", "1", "f", "0", "2", "0", "0", v, "4"))
		fmt.Fprintf(&s, " [%d-5: 1 0 1 f 0 2 0 0 %s 4]", base+uint64(i), v)
	}
	last := ID{base + uint64(n-1), 5}
	info := StreamInfo{Length: uint64(n), LastID: last, FirstID: ID{base, 5}, EntriesAdded: uint64(n), Groups: 2}
	w.StreamInfo(info)
	w.Group(&Group{Name: []byte("empty"), EntriesRead: 0})
	g := &Group{Name: []byte("g"), LastID: last, EntriesRead: int64(n), Consumers: []Consumer{{Name: []byte("a"), SeenMS: 1}, {Name: []byte("b"), SeenMS: 2}}}
	for i := range n {
		g.Pending = append(g.Pending, Pending{ID: ID{base + uint64(i), 5}, DeliveredMS: r.Int64N(1 << 40), Deliveries: r.Uint64N(100), Consumer: r.IntN(2)})
	}
	w.Group(g)
	fmt.Fprintf(&s, " %+v empty {0 0} read=0 []  g %v read=%d %v a,b", info, last, n, g.Pending)
	return s.String()
}

// randomSnapshot writes a snapshot of every type, and returns it with the expected result of readAll.
func randomSnapshot(t testing.TB, seed uint64, opts WriterOptions) ([]byte, snapshot) {
	r := rand.New(rand.NewPCG(seed, 1))
	var out bytes.Buffer
	w := NewWriter(&out, opts)
	w.Aux("redis-ver", "7.0.15")
	w.AuxInt("redis-bits", 64)
	want := snapshot{}
	for db := range 3 {
		keys := distinct(r, 60)
		w.SelectDB(db)
		w.ResizeDB(len(keys), 0)
		for _, key := range keys {
			expire := int64(0)
			if r.IntN(3) == 0 {
				expire = 4102444800000 + r.Int64N(1e9)
			}
			w.Key(key, expire)
			s := randomValue(r, w)
			if expire != 0 {
				s += fmt.Sprintf(" @%d", expire)
			}
			want[fmt.Sprintf("%d/%s", db, word(key))] = s
		}
	}
	require.NoError(t, w.Close())
	require.EqualValues(t, out.Len(), w.Written())
	return out.Bytes(), want
}

func TestRoundTrip(t *testing.T) {
	for seed := range uint64(8) {
		t.Logf("seed %d", seed)
		data, want := randomSnapshot(t, seed, WriterOptions{Compress: seed%2 == 0, NoChecksum: seed%3 == 0})
		got, r, err := readAll(bytes.NewReader(data), ReaderOptions{})
		require.NoError(t, err)
		require.Equal(t, want, got)
		require.EqualValues(t, len(data), r.Offset())
		require.Equal(t, []AuxField{{"redis-ver", "7.0.15"}, {"redis-bits", "64"}}, r.Aux())
		slow, _, err := readAll(iotest.OneByteReader(bytes.NewReader(data)), ReaderOptions{})
		require.NoError(t, err)
		require.Equal(t, want, slow)
	}
}

// TestCopyOfGoldenFiles copies the files of Redis, with everything around the values.
func TestCopyOfGoldenFiles(t *testing.T) {
	for _, g := range goldens {
		data, err := os.ReadFile(g.path())
		require.NoError(t, err)
		_, from, err := readAll(bytes.NewReader(data), ReaderOptions{})
		require.NoError(t, err)
		var out bytes.Buffer
		require.NoError(t, copySnapshot(&out, bytes.NewReader(data), WriterOptions{Compress: true}))
		got, r, err := readAll(&out, ReaderOptions{})
		require.NoError(t, err)
		require.Equal(t, g.want, got, g.name)
		require.Equal(t, from.Aux(), r.Aux())
		require.Equal(t, from.Functions(), r.Functions())
	}
}

func TestRoundTripOfFieldDeadlines(t *testing.T) {
	var out bytes.Buffer
	w := NewWriter(&out, WriterOptions{Version: VersionFieldExpiry})
	w.SelectDB(0)
	w.Key([]byte("h"), 0)
	w.HashExpiring(3, 1000)
	w.ExpiringField([]byte("a"), []byte("1"), 1000)
	w.ExpiringField([]byte("b"), []byte("2"), 0)
	w.ExpiringField([]byte("c"), []byte("3"), maxFieldDeadlineMS)
	require.NoError(t, w.Close())
	got, _, err := readAll(&out, ReaderOptions{})
	require.NoError(t, err)
	require.Equal(t, snapshot{"0/h": "hash a=1@1000 b=2 c=3@281474976710655"}, got)
}

// TestWritersLeaveNoGarbage: consecutive snapshots reuse the same buffer.
func TestWritersLeaveNoGarbage(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // the garbage collector would take the buffer
	value := bytes.Repeat([]byte("v"), 1000)
	write := func() {
		w := NewWriter(io.Discard, WriterOptions{})
		w.SelectDB(0)
		for range 1000 {
			w.Key([]byte("k"), 0)
			w.String(value)
		}
		require.NoError(t, w.Close())
	}
	write()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	const snapshots = 20
	for range snapshots {
		write()
	}
	runtime.ReadMemStats(&after)
	// Under the race detector, a pool drops a quarter of the objects.
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(snapshots*writerBuffer*3/4))
}

// TestLongStrings reads strings with lengths around and beyond the size of the buffer, in every place of a
// string.
func TestLongStrings(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	long := func(n int) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		return b
	}
	for _, n := range []int{smallBuffer - 1, smallBuffer, writeThrough - 1, writeThrough, sourceBuffer, sourceBuffer + 1, firstPiece + 17} {
		for _, compress := range []bool{false, true} {
			key, name, value, soft := long(n), long(n), long(n), bytes.Repeat([]byte("soft"), n/4)
			var out bytes.Buffer
			w := NewWriter(&out, WriterOptions{Compress: compress})
			w.SelectDB(0)
			w.Key(key, 0)
			w.Hash(2)
			w.Field(name, value)
			w.Field(soft, soft)
			w.Key([]byte("z"), 0)
			w.ZSet(1)
			w.Scored(value, 1)
			w.Key([]byte("s"), 0)
			w.String(soft)
			require.NoError(t, w.Close())
			rd := NewReader(&out, ReaderOptions{})
			e, err := rd.Next()
			require.NoError(t, err)
			require.True(t, bytes.Equal(key, e.Key))
			f, ok := e.NextField()
			require.True(t, ok && bytes.Equal(name, f.Name) && bytes.Equal(value, f.Value))
			f, ok = e.NextField()
			require.True(t, ok && bytes.Equal(soft, f.Name) && bytes.Equal(soft, f.Value))
			e, err = rd.Next()
			require.NoError(t, err)
			m, score, ok := e.NextScored()
			require.True(t, ok && bytes.Equal(value, m) && score == 1)
			e, err = rd.Next()
			require.NoError(t, err)
			require.True(t, bytes.Equal(soft, e.Bytes))
			require.Equal(t, len(soft) > sourceBuffer, e.Owned)
		}
	}
}

// TestTakeOver: the reader offers a whole value for use unchanged exactly when the value permits it.
func TestTakeOver(t *testing.T) {
	lp := pack("a", "1", "b", "2")
	for _, c := range []struct {
		body             []byte
		listpack, intset bool
	}{
		{cat(16, str("k"), str(lp)), true, false},
		{cat(17, str("k"), str(lp)), true, false},
		{cat(17, str("k"), str(pack("a", "2", "b", "1"))), false, false}, // out of order
		{cat(17, str("k"), str(pack("b", "1", "a", "1"))), false, false}, // equal scores out of order
		{cat(20, str("k"), str(lp)), true, false},
		{cat(25, str("k"), le64(0), str(pack("f", "v", "0"))), false, false},
		{cat(11, str("k"), str([]byte{2, 0, 0, 0, 1, 0, 0, 0, 5, 0})), false, true},
		{cat(13, str("k"), str(ziplist(zs("f"), zs("v")))), false, false},
	} {
		e, err := NewReader(bytes.NewReader(file(12, c.body)), ReaderOptions{}).Next()
		require.NoError(t, err)
		require.Equal(t, c.listpack, e.Listpack != nil, "%q", c.body)
		require.Equal(t, c.intset, e.Intset != nil, "%q", c.body)
	}
}
