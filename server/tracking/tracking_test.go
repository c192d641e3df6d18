package tracking

import (
	"math/rand/v2"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/tests/testkit"
)

// TestTableModel compares the clients that hear of a changed key with a model, over random reads, changes and
// departures.
func TestTableModel(t *testing.T) {
	seed := testkit.Seed(t)
	r := rand.New(rand.NewPCG(seed, 0))
	var table Table[int]
	const clients, keys = 5, 12
	var trackers [clients]*Tracker[int]
	reads := [clients]map[string]bool{}
	for step := range 20_000 {
		i, key := r.IntN(clients), strconv.Itoa(r.IntN(keys))
		switch n := r.IntN(1000); {
		case trackers[i] == nil && n < 100: // it goes
			before := table.Readings()
			sweep := table.Leave(i)
			require.Equal(t, len(reads[i]) > 0 && table.InUse(), sweep)
			require.True(t, sweep || table.InUse() || table.Readings() == 0, "%d of %d", table.Readings(), before)
			reads[i] = nil
		case trackers[i] == nil:
			if trackers[i] = table.Start(i); reads[i] == nil {
				reads[i] = map[string]bool{}
			}
			trackers[i].NoLoop = r.IntN(2) == 0
		case n < 700:
			fresh := true
			for _, seen := range reads {
				fresh = fresh && !seen[key]
			}
			if k := table.Key([]byte(key)); k != nil { // a client that has left may still be in there
				fresh = false
			}
			require.Equal(t, fresh, table.Remember(trackers[i], []byte(key)))
			reads[i][key] = true
		case n < 900:
			heard := map[int]bool{}
			if k := table.Key([]byte(key)); k != nil {
				for _, reading := range k.Readers {
					if reading.By.Hears(i) {
						require.False(t, heard[reading.By.Of], "step %d", step)
						heard[reading.By.Of] = true
					}
				}
				table.Forget(k)
			}
			for j := range clients {
				want := reads[j][key] && trackers[j] != nil && !(j == i && trackers[j].NoLoop)
				require.Equal(t, want, heard[j], "step %d: client %d, key %s", step, j, key)
				delete(reads[j], key)
			}
		case n < 960:
			table.Stop(trackers[i])
			trackers[i] = nil // what it has read stays
		case n < 998:
			before := table.Readings()
			more := table.Sweep(3)
			require.LessOrEqual(t, before-table.Readings(), 3)
			require.Equal(t, len(table.leaving) > 0, more)
		default:
			table.ForgetAll()
			for j := range reads {
				clear(reads[j])
			}
		}
		require.NoError(t, table.Check(), "step %d", step)
	}
}

// All that a client has read who leaves is forgotten, so much at a time, and nothing else.
func TestSweep(t *testing.T) {
	var table Table[int]
	stays, leaves := table.Start(1), table.Start(2)
	for i := range 10 {
		table.Remember(leaves, []byte(strconv.Itoa(i)))
	}
	table.Remember(stays, []byte("0"))
	table.Stop(leaves)
	require.True(t, table.Leave(2))
	require.Equal(t, 11, table.Readings())
	require.True(t, table.Sweep(9))
	require.Equal(t, 2, table.Readings())
	require.False(t, table.Sweep(9))
	require.Equal(t, 1, table.Readings())
	require.Equal(t, 1, table.Keys())
	require.Equal(t, "0", table.KeyAt(0).Name)
	table.Stop(stays)
	require.True(t, table.InUse(), "it may go on")
	require.Equal(t, 1, table.Readings())
	require.Equal(t, stays, table.Start(1))
	require.True(t, stays.Hears(2))
	stays.BCast = true
	require.False(t, stays.Hears(2), "what was read before is of no interest")
	table.Stop(stays)
	require.False(t, table.Leave(1), "no client is left, so nothing needs to be kept")
	require.Zero(t, table.Keys())
	require.NoError(t, table.Check())
}

func TestRemembers(t *testing.T) {
	for _, c := range []struct {
		o             Options
		said, without bool // with CLIENT CACHING, without it
	}{
		{Options{}, true, true},
		{Options{OptIn: true}, true, false},
		{Options{OptOut: true}, false, true},
		{Options{BCast: true}, false, false},
	} {
		require.Equal(t, c.without, (&Tracker[int]{Options: c.o}).Remembers(), "%+v", c.o)
		require.Equal(t, c.said, (&Tracker[int]{Options: c.o, Caching: true}).Remembers(), "%+v", c.o)
	}
}

// Each prefix gathers the keys that begin with it, until the clients have got the message. The last client
// that changed a key counts.
func TestPrefixes(t *testing.T) {
	var table Table[int]
	a, b := table.Start(1), table.Start(2)
	table.Join(a, "user:")
	table.Join(a, "")
	table.Join(a, "user:")
	table.Join(b, "user:")
	var names []string
	for _, p := range table.Prefixes() {
		names = append(names, p.Name)
	}
	require.Equal(t, []string{"", "user:"}, names)
	require.Len(t, a.Prefixes(), 2)
	require.Len(t, b.Prefixes(), 1)
	require.NoError(t, table.Check())
	all, users := table.Prefixes()[0], table.Prefixes()[1]
	require.Nil(t, users.Changed())

	table.RecordChange([]byte("user:2"), 1)
	table.RecordChange([]byte("user:1"), 2)
	table.RecordChange([]byte("user:1"), 1)
	table.RecordChange([]byte("user:3"), 0)
	table.RecordChange([]byte("other"), 2)
	table.RecordChange([]byte("user"), 2)
	require.Equal(t, []string{"user:1", "user:2", "user:3"}, users.Changed())
	require.Equal(t, []string{"other", "user", "user:1", "user:2", "user:3"}, all.Changed())
	changed := users.Changed()
	require.Equal(t, []string{"user:3"}, users.ChangedByOthers(changed, 1))
	require.Equal(t, []string{"user:1", "user:2", "user:3"}, users.ChangedByOthers(changed, 2))
	require.Equal(t, []string{"user:1", "user:2", "user:3"}, changed, "they are others' still")
	users.MarkSent()
	require.Nil(t, users.Changed())
	require.NotNil(t, all.Changed())

	table.Stop(a)
	require.False(t, table.Leave(1))
	require.Equal(t, []*Prefix[int]{users}, table.Prefixes())
	require.NoError(t, table.Check())
	table.Stop(b)
	require.Empty(t, table.Prefixes())
	require.False(t, table.InUse())
}

func TestOverlap(t *testing.T) {
	require.True(t, Overlap("a", "ab"))
	require.True(t, Overlap("ab", "a"))
	require.True(t, Overlap("", "x"))
	require.True(t, Overlap("x", "x"))
	require.False(t, Overlap("xa", "xb"))
}

// A message is encoded once for each version of the protocol.
func TestInvalidation(t *testing.T) {
	some, all := Invalidation{Keys: []string{"a", ""}}, Invalidation{}
	require.Equal(t, ">2\r\n$10\r\ninvalidate\r\n*2\r\n$1\r\na\r\n$0\r\n\r\n", string(some.In(3)))
	require.Equal(t, "*3\r\n$7\r\nmessage\r\n$20\r\n__redis__:invalidate\r\n*2\r\n$1\r\na\r\n$0\r\n\r\n", string(some.In(2)))
	require.Equal(t, ">2\r\n$10\r\ninvalidate\r\n_\r\n", string(all.In(3)))
	require.True(t, strings.HasSuffix(string(all.In(2)), "__redis__:invalidate\r\n$-1\r\n"))
	require.Same(t, &some.In(2)[0], &some.In(2)[0])
	require.Same(t, &some.In(3)[0], &some.In(3)[0])
	require.Equal(t, ">2\r\n$21\r\ntracking-redir-broken\r\n:7\r\n", string(RedirectBroken(7)))
}

// A change of a key that no client has read costs a look-up.
func TestChangeAllocations(t *testing.T) {
	var table Table[*int]
	tr := table.Start(new(int))
	table.Remember(tr, []byte("somebody's"))
	table.Join(tr, "prefix")
	name := []byte("nobody's")
	require.Zero(t, testing.AllocsPerRun(100, func() {
		table.RecordChange(name, tr.Of)
		if table.Key(name) != nil {
			t.Fatal("a client has read it")
		}
	}))
}

// TestPrefixBytes: the same for prefixes.
func TestPrefixBytes(t *testing.T) {
	before := testkit.Heap()
	var table Table[int]
	tr := table.Start(1)
	for n := range 10_000 {
		table.Join(tr, "prefix "+strconv.Itoa(n)+":")
	}
	heap := testkit.Heap() - before
	require.InDelta(t, 1, float64(tr.Bytes())/float64(heap), 0.35, "counted %d, heap %d", tr.Bytes(), heap)
	table.Join(tr, "prefix 1:")
	require.Equal(t, 10_000*(prefixBytes+len("prefix 1234:"))-1110, tr.Bytes())
	table.Stop(tr)
	require.Zero(t, table.Start(1).Bytes())
	runtime.KeepAlive(&table)
}

// TestBytes: what is counted is not far from what the heap grows by, and nothing when nothing is remembered.
func TestBytes(t *testing.T) {
	before := testkit.Heap()
	var table Table[int]
	trackers := [4]*Tracker[int]{}
	for i := range trackers {
		trackers[i] = table.Start(i)
		for key := range 10_000 {
			table.Remember(trackers[i], []byte("a key with a name "+strconv.Itoa(key)))
		}
	}
	heap := testkit.Heap() - before
	require.InDelta(t, 1, float64(table.Bytes())/float64(heap), 0.35, "counted %d, heap %d", table.Bytes(), heap)
	for i := range 9000 {
		table.Forget(table.Key([]byte("a key with a name " + strconv.Itoa(i))))
	}
	require.Equal(t, 1000*(keyBytes+4*readingBytes+len("a key with a name 1234")), table.Bytes())
	table.ForgetAll()
	require.Zero(t, table.Bytes())
	runtime.KeepAlive(&trackers)
}
