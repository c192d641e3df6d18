package server

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/internal/testkit"
	"lockserver/server/transport"
)

// permitRun plays random commands on locks and semaphores to a server and to permitWorld.
type permitRun struct {
	modelRun
	clock   *ManualClock
	world   *permitWorld
	log     []string
	wanted  map[string]int64 // the limit with which a semaphore is made
	cycles  int              // waits that were refused at once
	refused int              // and later
}

const permitStartMS = 1_750_000_000_000

func newPermitRun(t *testing.T, random *rand.Rand) *permitRun {
	clock := NewManualClock(time.UnixMilli(permitStartMS))
	srv := startWith(t, Options{Clock: clock}, nil)
	r := &permitRun{modelRun: modelRun{t: t, srv: srv, random: random}, clock: clock, wanted: map[string]int64{"s0": 3, "s1": 4},
		world: &permitWorld{nowMS: permitStartMS, keys: map[string]*permitKey{}}}
	for _, key := range []string{"k0", "k1", "k2"} {
		r.world.keys[key] = &permitKey{holds: map[string]*permitHold{}}
	}
	for key, limit := range r.wanted {
		r.world.keys[key] = &permitKey{limit, map[string]*permitHold{}}
	}
	for range 7 {
		out := &recorder{}
		s, _ := srv.executor.open(out, transport.Peer{Local: &net.UnixAddr{Net: "unix"}, Remote: &net.UnixAddr{Net: "unix"}})
		require.NotNil(t, s)
		r.sessions, r.outputs = append(r.sessions, s), append(r.outputs, out)
	}
	return r
}

func (r *permitRun) fail(format string, args ...any) {
	r.t.Helper()
	for _, line := range r.log {
		r.t.Log(line)
	}
	for _, key := range slices.Sorted(maps.Keys(r.world.keys)) {
		k := r.world.keys[key]
		r.t.Log(key, "limit", k.limit)
		for owner, h := range k.holds {
			r.t.Logf("  %s: %+v", owner, *h)
		}
	}
	for _, c := range r.world.waiters {
		r.t.Log("  waits:", c)
	}
	require.Failf(r.t, "the server differs from the model", format, args...)
}

// do sends a command that is answered at once, and requires an integer.
func (r *permitRun) do(client int, want int64, words ...string) {
	r.t.Helper()
	r.log = append(r.log, strings.Join(words, " "))
	r.say(client, words...)
	if got, answered := r.hear(client); !answered || got.IsError() || got.Int != want {
		r.fail("%v: %v, and not %d", words, got, want)
	}
}

// acquire begins a random call that may wait.
func (r *permitRun) acquire(client int) {
	n := r.random.IntN(4)
	// The calls of one owner have leases of one length: which of two is granted last is left open.
	c := &permitCall{client: client, owner: fmt.Sprint("o", n), leaseMS: 70 + 90*int64(n)}
	px, words := strconv.FormatInt(c.leaseMS, 10), []string(nil)
	switch r.random.IntN(5) {
	case 0, 1:
		k := r.random.IntN(3)
		c.keys, c.shared = []string{fmt.Sprint("k", k)}, (n+k)%2 == 0 // never both ways: no upgrades
		words = []string{"LOCK", c.keys[0], c.owner, "PX", px, "WAIT", "0"}
		if c.shared {
			words = append(words, "SHARED")
		}
	case 2:
		first := r.random.IntN(2)
		c.keys, c.shared = []string{fmt.Sprint("k", first)}, (n+first)%2 == 0
		if first == 0 {
			c.keys = append(c.keys, "k2") // of the same parity
		}
		words = append(append([]string{"MLOCK", strconv.Itoa(len(c.keys))}, c.keys...), c.owner, "PX", px, "WAIT", "0")
		if c.shared {
			words = append(words, "SHARED")
		}
	default:
		c.keys, c.permits, c.once = []string{fmt.Sprint("s", r.random.IntN(2))}, 1+r.random.Int64N(4), r.random.IntN(3) == 0
		k := r.world.keys[c.keys[0]]
		words = []string{"SEM.ACQUIRE", c.keys[0], c.owner, "PERMITS", strconv.FormatInt(c.permits, 10), "PX", px, "WAIT", "0"}
		if len(k.holds) == 0 || c.permits <= k.limit && r.random.IntN(2) == 0 {
			words = append(words, "LIMIT", strconv.FormatInt(k.limit, 10))
		}
		if c.once {
			words = append(words, "ONCE")
		}
	}
	r.begin(c, words)
}

// begin sends a call and compares its reply.
func (r *permitRun) begin(c *permitCall, words []string) {
	w := r.world
	r.log = append(r.log, fmt.Sprintf("%d: %s", c.client, strings.Join(words, " ")))
	r.say(c.client, words...)
	got, answered := r.hear(c.client)
	r.log[len(r.log)-1] += fmt.Sprintf(" -> %v %v", answered, got)
	switch {
	case w.fails(c):
		if !answered || !strings.HasPrefix(got.Str, "ERR semaphore '") {
			r.fail("%v asks for too much", c)
		}
	case w.canGo(c, w.waiters):
		w.take(c)
		if !answered || got.IsError() || got.IsNull() {
			r.fail("%v should be granted", c)
		}
	case answered:
		w.waiters = append(w.waiters, c)
		if !strings.HasPrefix(got.Str, "DEADLOCK ") || !slices.Contains(w.stuck(), c) {
			r.fail("%v could wait", c)
		}
		w.waiters = w.waiters[:len(w.waiters)-1]
		r.cycles++
	default:
		w.waiters = append(w.waiters, c)
		if left := w.stuck(); len(left) > 0 {
			r.fail("%v can never go", left[0])
		}
	}
}

// held picks something that is held.
func (r *permitRun) held() (key, owner string, ok bool) {
	var all [][2]string
	for _, key := range slices.Sorted(maps.Keys(r.world.keys)) {
		for _, owner := range slices.Sorted(maps.Keys(r.world.keys[key].holds)) {
			all = append(all, [2]string{key, owner})
		}
	}
	if len(all) == 0 {
		return "", "", false
	}
	one := all[r.random.IntN(len(all))]
	return one[0], one[1], true
}

// release gives something back.
func (r *permitRun) release(client int) {
	key, owner, ok := r.held()
	if !ok {
		return
	}
	k := r.world.keys[key]
	h := *k.holds[owner]
	if k.limit == 0 {
		want := int64(0)
		if h.exclusive+h.shared == 1 {
			want = 1
		}
		r.world.release(key, owner, 0)
		r.do(client, want, "UNLOCK", key, owner)
		return
	}
	permits := 1 + r.random.Int64N(h.shared)
	r.world.release(key, owner, permits)
	words := []string{"SEM.RELEASE", key, owner}
	if permits < h.shared || r.random.IntN(2) == 0 {
		words = append(words, "PERMITS", strconv.FormatInt(permits, 10))
	}
	r.do(client, h.shared-permits, words...)
}

// rest is a step that neither acquires nor releases.
func (r *permitRun) rest(client int) {
	w := r.world
	switch r.random.IntN(5) {
	case 0: // a wait ends
		if len(w.waiters) > 0 {
			i := r.random.IntN(len(w.waiters))
			c := w.waiters[i]
			w.waiters = slices.Delete(w.waiters, i, i+1)
			r.do(client, 1, "CLIENT", "UNBLOCK", fmt.Sprint(r.sessions[c.client].id))
			if got, _ := r.hear(c.client); !got.IsNull() {
				r.fail("%v was unblocked: %v", c, got)
			}
		}
	case 1: // a semaphore gets another limit
		key, limit := fmt.Sprint("s", r.random.IntN(2)), 1+r.random.Int64N(4)
		if len(w.keys[key].holds) == 0 {
			r.do(client, 0, "SEM.RESIZE", key, strconv.FormatInt(limit, 10))
			return
		}
		w.keys[key].limit = limit
		r.do(client, 1, "SEM.RESIZE", key, strconv.FormatInt(limit, 10))
	case 2: // a lease begins anew
		if key, owner, ok := r.held(); ok && w.keys[key].limit > 0 {
			w.keys[key].holds[owner].endMS = w.nowMS + 200
			r.do(client, 1, "SEM.RENEW", key, owner, "PX", "200")
		}
	case 3: // a holder loses all
		if key, owner, ok := r.held(); ok {
			delete(w.keys[key].holds, owner)
			r.do(client, 1, "LOCK.FORCE", key, "OWNER", owner)
		}
	default:
		r.advance(1 + r.random.Int64N(150))
	}
}

// advance lets leases end, each at its time.
func (r *permitRun) advance(ms int64) {
	w, endMS := r.world, r.world.nowMS+ms
	r.log = append(r.log, fmt.Sprintf("+%d ms", ms))
	for w.nowMS < endMS {
		next := w.nextMS(endMS)
		r.clock.Advance(time.Duration(next-w.nowMS) * time.Millisecond)
		w.nowMS = next
		w.expire()
		r.compare()
	}
}

// compare requires that the calls ended that the model ends, and that the server counts the same permits.
func (r *permitRun) compare() {
	w := r.world
	granted, failed := w.serve()
	var got, gotFailed, refused []int
	for i := range r.sessions {
		reply, answered := r.hear(i)
		switch {
		case !answered:
		case strings.HasPrefix(reply.Str, "DEADLOCK "):
			refused = append(refused, i)
		case reply.IsError():
			gotFailed = append(gotFailed, i)
		default:
			got = append(got, i)
		}
	}
	for left := w.stuck(); len(left) > 0; left = w.stuck() {
		i := slices.IndexFunc(left, func(c *permitCall) bool { return slices.Contains(refused, c.client) })
		if i < 0 {
			r.fail("%v and %d others can never go, and were not refused (%v)", left[0], len(left)-1, refused)
		}
		r.refused++
		refused = slices.DeleteFunc(refused, func(client int) bool { return client == left[i].client })
		w.waiters = slices.DeleteFunc(w.waiters, func(c *permitCall) bool { return c == left[i] })
		more, moreFailed := w.serve()
		granted, failed = append(granted, more...), append(failed, moreFailed...)
	}
	slices.Sort(granted)
	slices.Sort(failed)
	if len(refused) > 0 || !slices.Equal(granted, got) || !slices.Equal(failed, gotFailed) {
		r.fail("granted %v, and not %v; failed %v, and not %v; refused %v", got, granted, gotFailed, failed, refused)
	}
	for key, limit := range r.wanted {
		k := w.keys[key]
		if len(k.holds) == 0 && !slices.ContainsFunc(w.waiters, func(c *permitCall) bool { return slices.Contains(c.keys, key) }) {
			k.limit = limit // it is gone
		}
		r.compareInfo(key, k)
	}
}

// compareInfo compares what SEM.INFO says.
func (r *permitRun) compareInfo(key string, k *permitKey) {
	idle := slices.IndexFunc(r.sessions, func(s *session) bool { return s.waiter == nil })
	r.say(idle, "SEM.INFO", key)
	got, _ := r.hear(idle)
	want := fmt.Sprintf("[\"limit\" %d \"available\" %d \"used\" %d \"holders\" ", k.limit, max(0, k.limit-k.used()), k.used())
	if len(k.holds) == 0 {
		want = "$nil"
	}
	if !strings.HasPrefix(got.String(), want) {
		r.fail("%s: %s, and not %s", key, got, want)
	}
}

func (r *permitRun) step() {
	idle := []int{}
	for i, s := range r.sessions {
		if s.waiter == nil {
			idle = append(idle, i)
		}
	}
	client := idle[r.random.IntN(len(idle))]
	switch n := r.random.IntN(20); {
	case n < 9 && len(idle) > 1:
		r.acquire(client)
	case n < 14:
		r.release(client)
	default:
		r.rest(client)
	}
	r.compare()
}

// TestSemaphoresAgainstAModel: of locks, shared locks and semaphores together, who is granted, who waits and
// who is refused is what the model says. Leases end to the millisecond, and SEM.INFO counts exactly.
func TestSemaphoresAgainstAModel(t *testing.T) {
	t.Parallel()
	seed := testkit.Seed(t)
	cycles, refused := 0, 0
	for round := range testkit.Steps(8, 400) {
		r := newPermitRun(t, rand.New(rand.NewPCG(seed, uint64(round))))
		for range 300 {
			r.step()
		}
		cycles, refused = cycles+r.cycles, refused+r.refused
		for _, s := range r.sessions {
			s.Close()
		}
		checkParking(t, r.srv)
		require.Zero(t, r.srv.executor.queues.LenOwners())
		require.NoError(t, r.srv.Close())
	}
	t.Logf("%d waits were refused at once, and %d later", cycles, refused)
	require.Positive(t, cycles)
	require.Positive(t, refused)
}
