package server

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/internal/config"
	"lockserver/tests/testkit"
)

// layoutWorld sends random commands about locks to a server and to layoutModel.
type layoutWorld struct {
	t      *testing.T
	random *rand.Rand
	clock  *ManualClock
	dir    string
	logged bool // with a log, otherwise a snapshot is what outlives the server
	srv    *instance
	c      *testkit.Client
	m      layoutModel
	events []string
}

const layoutLeaseMS = 900

func newLayoutWorld(t *testing.T, seed uint64) *layoutWorld {
	began := time.UnixMilli(1_750_000_000_000)
	w := &layoutWorld{t: t, random: rand.New(rand.NewPCG(seed, 0)), clock: NewManualClock(began), dir: t.TempDir(), logged: seed%2 == 0,
		m: layoutModel{nowMS: began.UnixMilli(), leaseMS: layoutLeaseMS, keys: map[string]*layout{}, renewals: map[[2]string]*layoutRenewal{}}}
	w.begin()
	return w
}

func (w *layoutWorld) begin() {
	w.srv = startWith(w.t, Options{Clock: w.clock}, func(c *config.Config) {
		c.Dir, c.DBFilename, c.AppendOnly, c.LockWatchdogTimeoutMS = w.dir, "dump.rdb", w.logged, layoutLeaseMS
	})
	w.c = client(w.t, w.srv)
}

// restart ends the server and its clients, and with them renewals, and begins anew with what is on the disk.
func (w *layoutWorld) restart() {
	if !w.logged {
		require.Equal(w.t, "+OK", w.do("SAVE"))
	}
	require.NoError(w.t, w.srv.Close())
	clear(w.m.renewals)
	w.begin()
}

func (w *layoutWorld) do(words ...string) string {
	reply := w.c.Do(words...).String()
	w.events = append(w.events, fmt.Sprint(w.m.nowMS, " ", words, " -> ", reply))
	return reply
}

func (w *layoutWorld) key() string   { return "k" + strconv.Itoa(w.random.IntN(3)) }
func (w *layoutWorld) owner() string { return "owner" + strconv.Itoa(w.random.IntN(4)) }

// lease is a time for PX, 0 if there is none.
func (w *layoutWorld) lease() (words []string, ms int64) {
	if w.random.IntN(3) == 0 {
		return nil, 0
	}
	ms = 1 + w.random.Int64N(2*layoutLeaseMS)
	return []string{"PX", strconv.FormatInt(ms, 10)}, ms
}

// lock is a LOCK, or an MLOCK of two keys.
func (w *layoutWorld) lock() {
	keys, owner, shared, once := []string{w.key()}, w.owner(), w.random.IntN(2) == 0, w.random.IntN(4) == 0
	words := []string{"LOCK", keys[0], owner}
	if other := w.key(); w.random.IntN(6) == 0 && other != keys[0] {
		keys = append(keys, other)
		words = []string{"MLOCK", "2", keys[0], other, owner}
	}
	px, leaseMS := w.lease()
	words = append(words, px...)
	if shared {
		words = append(words, "SHARED")
	}
	if once {
		words = append(words, "ONCE")
	}
	may := true
	for _, k := range keys {
		may = may && w.m.mayLock(k, owner, shared)
	}
	w.events = append(w.events, fmt.Sprint(w.m.nowMS, " ", words))
	v := w.c.Do(words...)
	if !may {
		require.True(w.t, v.IsNull(), "%v", v)
		return
	}
	for i, k := range keys {
		token := v.Int
		if len(keys) > 1 {
			require.Len(w.t, v.Elems, 2, "%v", v)
			token = v.Elems[i].Int
		}
		require.Empty(w.t, w.m.lock(k, owner, shared, once, leaseMS, token))
	}
}

// step is one random command.
func (w *layoutWorld) step() {
	key, to, owner, m := w.key(), w.key(), w.owner(), &w.m
	l := m.keys[key]
	switch n := w.random.IntN(100); {
	case n < 40:
		w.lock()
	case n < 60:
		words, shared := []string{"UNLOCK", key, owner}, w.random.IntN(3) == 0
		if shared {
			words = append(words, "SHARED")
		}
		want := map[int64]string{-1: "$nil", 0: "0", 1: "1"}[m.unlock(key, owner, shared)]
		require.Equal(w.t, want, w.do(words...))
	case n < 68:
		px, leaseMS := w.lease()
		want := strconv.FormatInt(m.renew(key, owner, leaseMS), 10)
		require.Equal(w.t, want, w.do(append([]string{"RENEW", key, owner}, px...)...))
	case n < 80:
		ms := 1 + w.random.Int64N(layoutLeaseMS/2)
		w.clock.Advance(time.Duration(ms) * time.Millisecond)
		m.advance(ms)
		w.events = append(w.events, fmt.Sprint("to ", m.nowMS))
	case n < 82:
		w.do("LOCK.FORCE", key)
		if l != nil && len(l.owners) > 0 {
			m.remove(key)
		}
	case n < 84:
		w.do("DEL", key)
		delete(m.keys, key)
	case n < 87 && l != nil && l.owners[owner] != nil:
		w.do("HDEL", key, owner)
		delete(l.owners, owner)
	case n < 90 && l != nil && key != to:
		w.do("RENAME", key, to)
		m.rename(key, to)
	case n < 93 && l != nil && key != to:
		w.do("COPY", key, to, "REPLACE")
		m.keys[to] = l.clone()
	case n < 96 && l != nil:
		dump := w.c.Do("DUMP", key).Str
		w.events = append(w.events, fmt.Sprint("RESTORE from ", key, " to ", to))
		require.Equal(w.t, "+OK", w.c.Do("RESTORE", to, strconv.FormatInt(l.endMS-1, 10), dump, "REPLACE", "ABSTTL").String())
		m.keys[to] = l.clone()
	case n == 99:
		w.events = append(w.events, "restart")
		w.restart()
	}
}

// shown returns the server's fields of a key, in the form of layout.text.
func (w *layoutWorld) shown(key string) string {
	fields := map[string]string{}
	v := w.c.Do("HGETALL", key)
	for i := 0; i+1 < len(v.Elems); i += 2 {
		at := w.c.Do("HPEXPIRETIME", key, "FIELDS", "1", v.Elems[i].Str).Elems[0]
		fields[v.Elems[i].Str] = v.Elems[i+1].Str + " " + at.String()
	}
	if len(fields) == 0 {
		return "none"
	}
	return layoutText(fields, w.c.Do("PEXPIRETIME", key).Int)
}

// TestLayoutOfLocks: after each of many random commands every lock's hash has the right fields, deadlines of
// fields, and deadline. So have a copy, a restored payload, and the hash after a start from the log or a
// snapshot.
func TestLayoutOfLocks(t *testing.T) {
	t.Parallel()
	const steps = 300
	worlds := uint64(testkit.Steps(2, 4))
	first := testkit.Seed(t)
	for seed := first; seed < first+worlds; seed++ {
		w := newLayoutWorld(t, seed)
		for range steps {
			w.step()
			for _, key := range []string{"k0", "k1", "k2"} {
				shown := w.shown(key)
				if shown != w.m.keys[key].text() {
					w.m.sooner(key, w.c.Do("PEXPIRETIME", key).Int+1) // over in the millisecond behind the deadline
					require.Equal(t, w.m.keys[key].text(), shown, "seed %d, %s\n%s", seed, key, w.story())
				}
			}
		}
		require.NoError(t, w.srv.Close())
	}
}

// story is the last of what was done.
func (w *layoutWorld) story() (lines string) {
	for _, line := range w.events[max(0, len(w.events)-30):] {
		lines += line + "\n"
	}
	return lines
}
