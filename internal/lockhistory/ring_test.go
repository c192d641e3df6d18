package lockhistory

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/tracecontext"
)

// record keeps every event as it is. The tests compare a ring with it.
type record struct {
	events []Event
	briefs int // how many of them were added with AddBrief
}

// brief reports whether AddBrief may be called with an event.
func brief(e *Event) bool {
	return e.DB == 0 && e.Trace == nil && e.Key != nil && e.ID%8 > 0
}

func (r *record) add(ring *Ring, e Event) {
	e.ID = int64(len(r.events)) + 1
	if brief(&e) && ring.AddBrief(Brief(e.Kind, e.Reason, e.Mode), e.Permits, e.AtUS, e.Token, e.TookUS, e.Client, &Names{e.Key, e.Owner}) {
		r.briefs++
	} else {
		ring.Add(&e)
	}
	e.Key, e.Owner = bytes.Clone(cut(e.Key)), bytes.Clone(cut(e.Owner))
	e.Address = e.Address[:min(len(e.Address), mostText)]
	r.events = append(r.events, e)
}

// wanted returns the matching events from the number first on, the oldest first.
func (r *record) wanted(first int64, q Query) (list []Event) {
	for _, e := range r.events {
		all := e.Key == nil
		if e.ID >= first && e.ID > q.After && e.DB == q.DB && (all || q.Key == nil || bytes.Equal(cut(q.Key), e.Key)) &&
			(all || q.Owner == nil || bytes.Equal(cut(q.Owner), e.Owner)) && (q.SinceUS == 0 || e.AtUS >= q.SinceUS) && (q.UntilUS == 0 || e.AtUS <= q.UntilUS) {
			list = append(list, e)
		}
	}
	return list
}

func collect(visit func(q Query, f func(e *Event) bool), q Query) (list []Event) {
	visit(q, func(e *Event) bool {
		c := *e
		c.Key, c.Owner = bytes.Clone(e.Key), bytes.Clone(e.Owner)
		list = append(list, c)
		return true
	})
	return list
}

// source makes events and queries from bytes. When the bytes have run out, all its numbers are zero.
type source struct{ data []byte }

func (s *source) byte() int {
	if len(s.data) == 0 {
		return 0
	}
	b := s.data[0]
	s.data = s.data[1:]
	return int(b)
}

// long returns a number: a small one, a time near the given one, or an extreme one.
func (s *source) long(near int64) int64 {
	switch n := int64(s.byte()); s.byte() % 8 {
	case 0, 1:
		return n
	case 2, 3:
		return near + n - 128
	case 4:
		return near - n<<24
	case 5:
		return near + (n-128)<<40
	case 6:
		return math.MinInt64 + n
	default:
		return math.MaxInt64 - n
	}
}

// text is one of a few short texts, or a long one.
func (s *source) text() []byte {
	n := s.byte()
	if n >= 250 {
		return bytes.Repeat([]byte{byte(n)}, (n-248)*300)
	}
	return fmt.Appendf(nil, "%s%d", "a text of some length"[:n%16], n/16)
}

func (s *source) event(nowUS int64) Event {
	e := Event{AtUS: nowUS, Kind: Kind(1 + s.byte()%int(kinds-1)), Reason: Reason(s.byte() % int(reasons)), Mode: Mode(s.byte() % len(modeNames)),
		Token: s.long(nowUS), TookUS: s.long(0), Owner: s.text(), Key: s.text()}
	rare := s.byte()
	if len(e.Owner) == 0 {
		e.Owner = nil
	}
	if rare >= 128 { // most events have no such parts
		e.Client = int64(rare % 4)
		e.Address = fmt.Sprint("10.0.0.1:", e.Client)
		if e.Token = nowUS - int64(rare%16); e.Client == 0 {
			e.Address = ""
		}
		e.TookUS = int64(s.byte()) - 1
		return e
	}
	if rare%16 == 0 {
		e.Key, e.Owner = nil, nil
	}
	if rare%8 == 1 {
		e.DB = s.byte()
	}
	if rare%8 == 2 {
		e.Permits = int32(s.long(0))
	}
	if rare%8 == 3 {
		e.Trace = &tracecontext.Context{Trace: [16]byte{1: byte(s.byte())}, Span: [8]byte{7: byte(s.byte())}, Flags: byte(s.byte())}
	}
	if rare%4 > 0 {
		e.Client = int64(s.byte()%(2*clients)) * 129
		e.Address = strings.Repeat("10.0.0.1:", int(e.Client%5)*30) + fmt.Sprint(e.Client)
	}
	if e.Client == 0 {
		e.Address = ""
	}
	return e
}

func (s *source) query(r *Ring, nowUS int64) Query {
	q := Query{DB: s.byte() % 2 * s.byte()}
	if s.byte()%2 == 0 {
		q.Key = s.text()
	}
	if s.byte()%2 == 0 {
		q.Owner = s.text()
	}
	if s.byte()%2 == 0 {
		q.SinceUS = s.long(nowUS)
	}
	if s.byte()%4 == 0 {
		q.UntilUS = s.long(nowUS)
	}
	if s.byte()%2 == 0 {
		q.After = r.LastID() - int64(s.byte())*int64(s.byte())
	}
	return q
}

// checkRing adds events that are made from bytes to a ring, and compares the ring with a record of all
// events. It returns how many events the ring has dropped.
func checkRing(t *testing.T, data []byte) (dropped int64) {
	t.Helper()
	s, ring, all, nowUS := &source{data}, New(), record{}, int64(1<<50)
	ring.Resize(MinBytes, 5, "start")
	for len(s.data) > 40 {
		switch by := int64(s.byte()); by {
		case 0: // the clock changes
			nowUS = s.long(nowUS)
		case 1:
			nowUS += int64(s.byte()) << 26
		default:
			nowUS += by
		}
		all.add(ring, s.event(nowUS))
	}
	require.EqualValues(t, len(all.events), ring.LastID())
	if len(all.events) > 500 {
		require.Greater(t, all.briefs, len(all.events)/8)
	}
	require.LessOrEqual(t, ring.Bytes(), MinBytes)
	databases := map[int]bool{0: true}
	for _, e := range all.events {
		databases[e.DB] = true
	}
	first := ring.LastID() + 1
	for db := range databases {
		for _, e := range collect(ring.Oldest, Query{DB: db}) {
			first = min(first, e.ID)
		}
	}
	for db := range databases {
		require.Equal(t, all.wanted(first, Query{DB: db}), collect(ring.Oldest, Query{DB: db}))
	}
	sinceUS, why := ring.Since()
	if first <= 1 {
		require.Equal(t, "start", why)
		require.EqualValues(t, 5, sinceUS)
	} else {
		require.Equal(t, "full", why)
		require.Equal(t, max(5, all.events[first-1].AtUS), sinceUS)
	}
	for range 8 {
		q := s.query(ring, nowUS)
		want := all.wanted(first, q)
		require.Equal(t, want, collect(ring.Oldest, q), "%+v", q)
		back := collect(ring.Latest, q)
		require.Len(t, back, len(want), "%+v", q)
		for i := range back {
			require.Equal(t, want[len(want)-1-i], back[i], "%+v", q)
		}
	}
	return first - 1
}

// TestRingAgainstRecord: a ring returns the latest of all events, and for each query the matching events.
func TestRingAgainstRecord(t *testing.T) {
	t.Parallel()
	dropped := 0
	for seed := range uint64(60) {
		random := rand.New(rand.NewPCG(seed, 1))
		data := make([]byte, random.IntN(60_000))
		for i := range data {
			data[i] = byte(random.Uint32())
		}
		if checkRing(t, data) > 0 {
			dropped++
		}
	}
	require.Greater(t, dropped, 20, "most rings are full")
}

// FuzzRing does what TestRingAgainstRecord does, for any bytes.
func FuzzRing(f *testing.F) {
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) < 1<<16 {
			checkRing(t, data)
		}
	})
}

// TestRingKeeps: each kind of value comes back unchanged, and takes no more memory than necessary.
func TestRingKeeps(t *testing.T) {
	const nowUS = 1 << 50
	usual := Event{AtUS: nowUS, Kind: Granted, Key: []byte("order:1"), Owner: []byte("worker"), Token: nowUS, Client: 7, Address: "10.0.0.1:1"}
	for name, c := range map[string]struct {
		change func(e *Event)
		bytes  int
	}{
		"usual":                {func(*Event) {}, 24},
		"no key":               {func(e *Event) { e.Key, e.Owner = nil, nil }, 24},
		"an empty key":         {func(e *Event) { e.Key = []byte{} }, 24},
		"no owner":             {func(e *Event) { e.Owner = nil }, 24},
		"no client":            {func(e *Event) { e.Client, e.Address = 0, "" }, 24},
		"a later time":         {func(e *Event) { e.AtUS, e.Token = nowUS+1<<32-1, nowUS+1<<32 }, 24},
		"a much later time":    {func(e *Event) { e.AtUS, e.Token = nowUS+1<<32, nowUS+1<<32 }, 32},
		"an earlier time":      {func(e *Event) { e.AtUS, e.Token = nowUS-1, nowUS }, 32},
		"no time":              {func(e *Event) { e.AtUS, e.Token = 0, 5 }, 32},
		"no token":             {func(e *Event) { e.Token = 0 }, 32},
		"a token far ahead":    {func(e *Event) { e.Token = nowUS + 1<<31 }, 32},
		"the largest token":    {func(e *Event) { e.Token = math.MaxInt64 }, 32},
		"an old token":         {func(e *Event) { e.Token = nowUS - 1<<31 }, 24},
		"unknown":              {func(e *Event) { e.Kind, e.TookUS = Released, Unknown }, 24},
		"half an hour":         {func(e *Event) { e.Kind, e.TookUS = Released, 1<<31-1 }, 24},
		"more than that":       {func(e *Event) { e.Kind, e.TookUS = Released, 1<<31 }, 32},
		"permits":              {func(e *Event) { e.Mode, e.Permits = Semaphore, math.MaxInt32 }, 28},
		"another database":     {func(e *Event) { e.DB = 15 }, 28},
		"a trace":              {func(e *Event) { e.Trace = &tracecontext.Context{Trace: [16]byte{1}, Span: [8]byte{2}, Flags: 3} }, 49},
		"the last of each":     {func(e *Event) { e.Kind, e.Reason, e.Mode = kinds-1, reasons-1, Semaphore }, 24},
		"all together, but no": {func(e *Event) { e.AtUS, e.Token, e.TookUS, e.DB, e.Permits = 1, math.MaxInt64, math.MinInt64, 3, -1 }, 56},
	} {
		ring := New()
		ring.Resize(MinBytes, 0, "start")
		ring.Add(&usual)
		e := usual
		c.change(&e)
		ring.Add(&e) // this event writes its names
		end := ring.chunks[0].end
		ring.Add(&e)
		require.Equal(t, c.bytes, ring.chunks[0].end-end, name)
		require.LessOrEqual(t, c.bytes, 64, name)
		found := collect(ring.Latest, Query{DB: e.DB})
		e.ID = 3
		require.Equal(t, e, found[0], name)
		e.ID = 2
		require.Equal(t, e, found[1], name)
	}
}

// TestRingWritesNamesOnce: the end of a hold refers to the names of its grant, and the next hold of the same
// client refers to the names of the end. A copied lock has the token of another key: it does not share names.
func TestRingWritesNamesOnce(t *testing.T) {
	ring := New()
	ring.Resize(4<<20, 0, "start")
	size := func(e Event) int {
		n, end := &Names{e.Key, e.Owner}, 0
		if c := ring.last; c != nil {
			end = c.end
		}
		if !ring.AddBrief(Brief(e.Kind, e.Reason, e.Mode), e.Permits, e.AtUS, e.Token, e.TookUS, e.Client, n) {
			ring.Add(&e)
		}
		return ring.last.end - end
	}
	address := clientHead + len("10.0.0.1:1")
	for client := range int64(2) {
		token := 1000 * client
		event := func(kind Kind, key string, number int64) Event {
			e := Event{Kind: kind, Key: []byte(key), Owner: []byte("worker-17"), Token: token + number, Client: client}
			if client != 0 {
				e.Address = "10.0.0.1:1"
			}
			return e
		}
		names := namesHead + len("order:1") + len("worker-17")
		require.Equal(t, headBytes+names+int(client)*address, size(event(Granted, "order:1", 1)))
		require.Equal(t, headBytes, size(event(Released, "order:1", 1)))
		require.Equal(t, headBytes+names, size(event(Released, "order:2", 1)), "a copy")
		require.Equal(t, headBytes+names, size(event(Granted, "order:3", 3)))
		require.Equal(t, headBytes, size(event(Released, "order:3", 3)))
		require.Equal(t, headBytes, size(event(Granted, "order:3", 4)), "the same client")
		for i := range int64(tokens - 1) {
			size(event(Granted, fmt.Sprint("many:", i), 5+i))
		}
		require.Equal(t, headBytes, size(event(Expired, "order:3", 4)), "by its token")
	}
}

// TestNamesAreCompared: names of any length are found, and not found if one byte differs.
func TestNamesAreCompared(t *testing.T) {
	for n := range 20 {
		for m := range 20 {
			c := &chunk{buf: make([]byte, 2*windowBytes)}
			text := []byte("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJ")
			names := &Names{text[:n], text[20 : 20+m]}
			require.Equal(t, 1+namesHead+n+m, c.writeNames(1, names))
			require.True(t, c.has(1, names))
			key, owner := c.namesAt(1)
			require.Equal(t, [2]string{string(names.Key), string(names.Owner)}, [2]string{string(key), string(owner)})
			for i := range n + m {
				other := append(bytes.Clone(names.Key), names.Owner...)
				other[i] ^= 1
				require.False(t, c.has(1, &Names{other[:n], other[n:]}), "%d and %d bytes, another byte %d", n, m, i)
			}
			require.False(t, c.has(1, &Names{text[:n], text[20 : 21+m]}))
			require.False(t, c.has(1, &Names{text[:n+1], text[20 : 20+m]}))
		}
	}
}

// TestRingBytes: an event takes at most 64 bytes if its texts are in the chunk already, and the ring never
// exceeds its size.
func TestRingBytes(t *testing.T) {
	const size = 1 << 20
	ring := New()
	ring.Resize(size, 0, "start")
	e := Event{Kind: Granted, Key: []byte("k"), Owner: []byte("o"), Client: 1, Address: "a", Token: math.MaxInt64, TookUS: math.MaxInt64, DB: 1, Permits: 1}
	for range 4 * size / 48 {
		ring.Add(&e)
	}
	require.LessOrEqual(t, ring.Bytes(), size)
	kept := len(collect(ring.Oldest, Query{DB: 1}))
	require.Greater(t, kept, size/64*15/16, "one chunk of sixteen is being filled")
}

// TestRingAllocates: adding an event allocates nothing, also with a trace.
func TestRingAllocates(t *testing.T) {
	r := New()
	r.Resize(1<<20, 0, "start")
	trace := tracecontext.Context{Trace: [16]byte{1}, Span: [8]byte{2}}
	token := int64(0)
	add := func(trace *tracecontext.Context) {
		token++
		r.Add(&Event{Kind: Granted, Key: []byte("order:1"), Owner: []byte("worker-17"), Token: token, Client: token % 3, Address: "10.0.0.1:1", Trace: trace})
	}
	for range 100_000 {
		add(nil)
	}
	require.Zero(t, testing.AllocsPerRun(10_000, func() { add(nil) }))
	require.Zero(t, testing.AllocsPerRun(10_000, func() { add(&trace) }))
}

// TestRingCuts: a long text is cut, and found by the whole text.
func TestRingCuts(t *testing.T) {
	ring := New()
	ring.Resize(MinBytes, 0, "start")
	long := bytes.Repeat([]byte("x"), 5000)
	for i := range int64(1000) {
		ring.Add(&Event{Kind: Granted, Key: long, Owner: long, Client: 1 + i, Address: string(long)})
	}
	found := collect(ring.Latest, Query{Key: long, Owner: long})
	require.NotEmpty(t, found)
	require.Len(t, found[0].Key, 1024)
	require.Len(t, found[0].Address, 1024)
	require.Empty(t, collect(ring.Latest, Query{Key: long[:10]}))
}

// TestRingOff: a ring without bytes keeps nothing, and another size empties it.
func TestRingOff(t *testing.T) {
	ring := New()
	e := Event{Kind: Granted, Key: []byte("k")}
	ring.Add(&e)
	require.False(t, ring.On())
	require.Zero(t, ring.LastID())
	ring.Resize(MinBytes, 7, "configured")
	ring.Add(&e)
	ring.Resize(MinBytes, 8, "configured")
	require.Len(t, collect(ring.Oldest, Query{}), 1, "the same size changes nothing")
	ring.Resize(2*MinBytes, 9, "configured")
	require.Empty(t, collect(ring.Oldest, Query{}))
	ring.Add(&e)
	require.EqualValues(t, 2, collect(ring.Oldest, Query{})[0].ID, "numbers go on")
	ring.Restart(10, "failover")
	at, why := ring.Since()
	require.EqualValues(t, 10, at)
	require.Equal(t, "failover", why)
	require.Empty(t, collect(ring.Latest, Query{}))
	ring.Resize(0, 11, "configured")
	ring.Add(&e)
	require.Empty(t, collect(ring.Oldest, Query{}))
}

// TestVisitEnds: a search ends when visit returns false.
func TestVisitEnds(t *testing.T) {
	ring := New()
	ring.Resize(MinBytes, 0, "start")
	for i := range int64(5000) {
		ring.Add(&Event{Kind: Granted, Key: []byte("k"), Token: i})
	}
	for _, visit := range []func(Query, func(*Event) bool){ring.Oldest, ring.Latest} {
		visited := 0
		visit(Query{}, func(*Event) bool { visited++; return visited < 7 })
		require.Equal(t, 7, visited)
	}
	require.Empty(t, collect(ring.Oldest, Query{After: 5000}))
	require.Len(t, collect(ring.Oldest, Query{After: 4999}), 1)
	require.Len(t, collect(ring.Latest, Query{After: 4999}), 1)
}

// TestNames: each kind, each reason and each mode has a name of its own.
func TestNames(t *testing.T) {
	seen := map[string]bool{}
	add := func(name string) {
		require.NotEmpty(t, name)
		require.False(t, seen[name], name)
		seen[name] = true
	}
	for k := Kind(1); k < kinds; k++ {
		add(k.String())
	}
	for r := None + 1; r < reasons; r++ {
		add("reason " + r.String())
	}
	for m := range modeNames {
		add("mode " + Mode(m).String())
	}
	require.Empty(t, None.String())
}

// TestEnds: the events that end a hold, and the events that end a wait.
func TestEnds(t *testing.T) {
	for _, c := range []struct {
		kind       Kind
		reason     Reason
		hold, wait bool
	}{
		{Queued, None, false, false}, {Granted, None, false, true}, {Granted, Again, false, true}, {Granted, Upgraded, false, true},
		{Released, None, true, false}, {Released, Undone, true, false}, {Released, ByScript, true, false}, {Released, Partly, false, false},
		{Released, Downgraded, false, false}, {Renewed, Once, false, false}, {Expired, None, true, false}, {Forced, None, true, false},
		{Lost, Flushed, true, false}, {Refused, Timeout, false, true}, {Deadlock, None, false, true}, {Confirmed, None, false, false},
		{Unconfirmed, None, false, false},
	} {
		require.Equal(t, c.hold, EndsHold(c.kind.String(), c.reason.String()), "%s %s", c.kind, c.reason)
		require.Equal(t, c.wait, EndsWait(c.kind.String()), "%s %s", c.kind, c.reason)
	}
}
