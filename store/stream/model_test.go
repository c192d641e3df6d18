package stream

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"lockserver/store/cow"
	"lockserver/store/listpack"
	"lockserver/tests/testkit"

	"github.com/stretchr/testify/require"
)

// record is an entry of the model.
type record struct {
	id     ID
	fields []string
}

// model is a stream as a plain slice.
type model struct {
	entries    []record
	last       ID
	maxDeleted ID
	added      uint64
	wentBack   bool // the last ID has gone back, so entries may have come before deleted ones
}

func (m *model) add(id ID, fields [][]byte) {
	r := record{id: id}
	for _, f := range fields {
		r.fields = append(r.fields, string(f))
	}
	m.entries = append(m.entries, r)
	m.last, m.added = id, m.added+1
}

func (m *model) remove(id ID) bool {
	i := slices.IndexFunc(m.entries, func(r record) bool { return r.id == id })
	if i < 0 {
		return false
	}
	m.entries = slices.Delete(slices.Clone(m.entries), i, i+1)
	if m.maxDeleted.Less(id) {
		m.maxDeleted = id
	}
	return true
}

// trim trims exactly.
func (m *model) trim(t Strategy) int {
	n := 0
	for n < len(m.entries) {
		if t.By == ByMaxLen && len(m.entries)-n <= t.MaxLen || t.By == ByMinID && !m.entries[n].id.Less(t.MinID) {
			break
		}
		n++
	}
	m.entries = m.entries[n:]
	return n
}

func (m *model) between(start, end ID, reverse bool) []record {
	out := []record{}
	for _, r := range m.entries {
		if !r.id.Less(start) && !end.Less(r.id) {
			out = append(out, r)
		}
	}
	if reverse {
		slices.Reverse(out)
	}
	return out
}

// between reads the entries of model.between from the stream, at most count.
func between(s *Stream, start, end ID, reverse bool, count int) []record {
	out := []record{}
	if count == 0 {
		return out
	}
	s.Range(start, end, reverse, func(id ID, fv FieldValues) bool {
		r := record{id: id}
		n := fv.Len()
		for f, v, ok := fv.Next(); ok; f, v, ok = fv.Next() {
			r.fields = append(r.fields, string(f), string(v))
		}
		if len(r.fields) != 2*n {
			panic("Len is not what Next gives")
		}
		out = append(out, r)
		return len(out) < count
	})
	return out
}

// check compares everything visible, and checks the invariants.
func check(t require.TestingT, s *Stream, m *model) {
	require.Equal(t, len(m.entries), s.Len())
	require.Equal(t, m.last, s.LastID())
	require.Equal(t, m.maxDeleted, s.MaxDeletedID())
	require.Equal(t, m.added, s.EntriesAdded())
	var first, top ID
	if n := len(m.entries); n > 0 {
		first, top = m.entries[0].id, m.entries[n-1].id
	}
	require.Equal(t, first, s.FirstID())
	require.Equal(t, top, s.TopID())
	require.Equal(t, m.between(ID{}, MaxID(), false), between(s, ID{}, MaxID(), false, math.MaxInt))
	require.Equal(t, m.between(ID{}, MaxID(), true), between(s, ID{}, MaxID(), true, math.MaxInt))
	checkNodes(t, s)
}

func checkNodes(t require.TestingT, s *Stream) {
	live, nodes, bytes := 0, 0, 0
	var tail *node
	nodesOf(s).Scan(func(sl slot) bool {
		require.Equal(t, sl.master, sl.node.master)
		if tail != nil {
			require.True(t, tail.master.Less(sl.master))
		}
		tail = sl.node
		in, err := inspect(sl.master, sl.node.list)
		require.NoError(t, err)
		live += in.live
		nodes++
		bytes += sl.node.size()
		return true
	})
	require.Same(t, tail, s.tail)
	require.Equal(t, live, s.Len())
	require.Equal(t, bytes, s.bytes)
	require.Equal(t, nodes, s.NodeCount())
}

func randomFields(r *rand.Rand) [][]byte {
	schemas := []string{"userId voucherId id", "a b", "a c", "7", "", "userId voucherId"}
	var out [][]byte
	for f := range strings.SplitSeq(schemas[r.IntN(len(schemas))], " ") {
		v := strconv.FormatInt(int64(r.Uint64())>>r.IntN(64), 10)
		switch r.IntN(6) {
		case 0:
			v = strings.Repeat("v", r.IntN(100))
		case 1:
			v = fmt.Sprintf("value-%d", r.IntN(100))
		case 2:
			if r.IntN(30) == 0 {
				v = strings.Repeat("large", r.IntN(2000))
			}
		}
		out = append(out, []byte(f), []byte(v))
	}
	return out
}

func randomLimits(r *rand.Rand) Limits {
	bytes, entries := []int{0, 64, 200, 4096}, []int{0, 1, 3, 10, 100}
	return Limits{NodeMaxBytes: bytes[r.IntN(len(bytes))], NodeMaxEntries: entries[r.IntN(len(entries))]}
}

// above returns a random ID above id, often in the same millisecond.
func above(r *rand.Rand, id ID) ID {
	switch r.IntN(4) {
	case 0:
		return ID{id.MS, id.Seq + 1 + uint64(r.IntN(300))}
	case 1:
		return ID{id.MS + 1 + uint64(r.IntN(100_000)), uint64(r.IntN(3))}
	}
	return ID{id.MS + uint64(r.IntN(2)), id.Seq + 1}
}

// someID returns an ID that exists, or existed, or is near one.
func someID(r *rand.Rand, m *model) ID {
	if len(m.entries) == 0 || r.IntN(10) == 0 {
		return ID{m.last.MS, uint64(r.IntN(5))}
	}
	id := m.entries[r.IntN(len(m.entries))].id
	switch r.IntN(4) {
	case 0:
		return id.Next()
	case 1:
		return id.Prev()
	}
	return id
}

func randomStrategy(r *rand.Rand, m *model) Strategy {
	t := Strategy{By: TrimBy(r.IntN(2)), Approx: r.IntN(2) == 0}
	if t.By == ByMaxLen {
		t.MaxLen = max(0, len(m.entries)-r.IntN(40))
		if r.IntN(20) == 0 {
			t.MaxLen = 0
		}
	} else {
		t.MinID = someID(r, m)
		if r.IntN(4) > 0 && len(m.entries) > 0 {
			t.MinID = m.entries[r.IntN(min(20, len(m.entries)))].id
		}
	}
	if t.Approx {
		t.Limit = []int{DefaultLimit, 0, 5, 50}[r.IntN(4)]
	}
	return t
}

// step makes one random change and returns the stream for the next step: a new header if the old one was
// shared.
func step(t require.TestingT, r *rand.Rand, ep *cow.Epoch, lim Limits, s *Stream, m *model) *Stream {
	if ep.Shared(s.Stamp()) {
		s = s.Clone()
	}
	switch n := r.IntN(100); {
	case n < 65:
		id, fields := above(r, m.last), randomFields(r)
		s.Add(lim, id, fields)
		m.add(id, fields)
	case n < 92:
		id := someID(r, m)
		require.Equal(t, m.remove(id), s.Delete(id))
	case n < 97:
		st := randomStrategy(r, m)
		before := len(m.entries)
		removed := s.Trim(lim, st)
		if st.Approx || m.wentBack && st.By == ByMinID {
			// It never removes more than exact trimming, and the rest is that of a trim to the new length.
			// Exact trimming by ID ends at the first entry that is not below it, as in Redis, even if that
			// entry is deleted.
			exact := *m
			require.LessOrEqual(t, removed, exact.trim(st))
			require.Equal(t, removed, m.trim(Strategy{MaxLen: before - removed}))
			break
		}
		require.Equal(t, m.trim(st), removed)
	case n < 98: // back to the last existing ID, as XSETID could do
		if len(m.entries) > 0 {
			m.wentBack = m.wentBack || s.TopID().Less(m.last)
			m.last = s.TopID()
			s.SetID(m.last, nil, nil)
		}
	default:
		m.last = above(r, m.last)
		m.added += uint64(r.IntN(5))
		s.SetID(m.last, &m.added, &ID{})
	}
	return s
}

func TestModel(t *testing.T) {
	seed := testkit.Seed(t)
	r := rand.New(rand.NewPCG(seed, 0))
	for range 10 {
		var ep cow.Epoch
		s, m := New(&ep), &model{}
		lim := randomLimits(r)
		for i := range 600 {
			if r.IntN(100) == 0 {
				lim = randomLimits(r)
			}
			s = step(t, r, &ep, lim, s, m)
			if i%10 == 0 {
				check(t, s, m)
			}
			start, end, reverse, count := someID(r, m), someID(r, m), r.IntN(2) == 0, 1+r.IntN(10)
			want := m.between(start, end, reverse)
			require.Equal(t, want[:min(count, len(want))], between(s, start, end, reverse, count))
		}
		check(t, s, m)
		check(t, s.Copy(), m)
		check(t, reload(t, s), m)
	}
}

// reload builds the stream again from its nodes, like a load from a file.
func reload(t require.TestingT, s *Stream) *Stream {
	var ep cow.Epoch
	l := New(&ep)
	for master, list := range s.Nodes() {
		require.NoError(t, ValidateNode(master, list))
		require.NoError(t, l.AppendNode(master, append(listpack.List(nil), list...)))
	}
	added, deleted := s.EntriesAdded(), s.MaxDeletedID()
	l.SetID(s.LastID(), &added, &deleted)
	return l
}

// TestViewsOfSnapshots: a snapshot's view does not change while the stream does, and reading it has no race
// (go test -race).
func TestViewsOfSnapshots(t *testing.T) {
	seed := testkit.Seed(t)
	r := rand.New(rand.NewPCG(seed, 0))
	var ep cow.Epoch
	s, m := New(&ep), &model{}
	lim := Limits{NodeMaxBytes: 4096, NodeMaxEntries: 10}
	done := make(chan string, 4)
	active := 0
	for i := range 4000 {
		s = step(t, r, &ep, lim, s, m)
		if i%100 == 0 {
			ep.Cut()
			active++
			view, want := s, m.between(ID{}, MaxID(), false)
			go func() { done <- compareView(view, want) }()
		}
		for active > 3 || active > 0 && r.IntN(60) == 0 {
			require.Empty(t, <-done)
			ep.Release()
			active--
		}
	}
	for ; active > 0; active-- {
		require.Empty(t, <-done)
		ep.Release()
	}
	check(t, s, m)
}

// compareView reads a view several times while the writer continues.
func compareView(view *Stream, want []record) string {
	for range 5 {
		got := between(view, ID{}, MaxID(), false, math.MaxInt)
		if !slices.EqualFunc(got, want, func(a, b record) bool {
			return a.id == b.id && slices.Equal(a.fields, b.fields)
		}) {
			return fmt.Sprintf("view has %d entries, want %d", len(got), len(want))
		}
		live := 0
		for master, list := range view.Nodes() {
			in, err := inspect(master, list)
			if err != nil {
				return err.Error()
			}
			live += in.live
		}
		if live != len(want) || live != view.Len() {
			return fmt.Sprintf("nodes hold %d, want %d", live, len(want))
		}
	}
	return ""
}
