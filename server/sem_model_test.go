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

	"lockserver/internal/resp"
	"lockserver/server/transport"
	"lockserver/tests/testkit"
)

// permitShape has the numbers of locks and owners of a permitRun.
type permitShape struct {
	locks, owners int
	semaphores    map[string]int64 // the limit with which each is made
	levels        bool             // calls have priorities
	notify        bool             // some calls wait with NOTIFY
}

// The first sessions of a permitRun make calls that block. The others have one wait with NOTIFY at a time.
const (
	blockingSessions = 7
	notifiedSessions = 3
)

// permitRun plays random commands on locks and semaphores to a server and to permitWorld.
type permitRun struct {
	modelRun
	permitShape
	clock   *ManualClock
	world   *permitWorld
	log     []string
	cycles  int // waits that were refused at once
	refused int // and later
	// seen counts the grants of each kind after a wait.
	seen map[string]int
}

const permitStartMS = 1_750_000_000_000

func newPermitRun(t *testing.T, random *rand.Rand, shape permitShape, seen map[string]int) *permitRun {
	clock := NewManualClock(time.UnixMilli(permitStartMS))
	srv := startWith(t, Options{Clock: clock}, nil)
	r := &permitRun{modelRun: modelRun{t: t, srv: srv, random: random}, permitShape: shape, clock: clock,
		world: &permitWorld{nowMS: permitStartMS, keys: map[string]*permitKey{}}, seen: seen}
	for i := range shape.locks {
		r.world.keys[fmt.Sprint("k", i)] = &permitKey{holds: map[string]*permitHold{}}
	}
	for key, limit := range shape.semaphores {
		r.world.keys[key] = &permitKey{limit, map[string]*permitHold{}}
	}
	for i := range blockingSessions + notifiedSessions {
		out := &recorder{}
		s, _ := srv.executor.open(out, transport.Peer{Local: &net.UnixAddr{Net: "unix"}, Remote: &net.UnixAddr{Net: "unix"}})
		require.NotNil(t, s)
		r.sessions, r.outputs = append(r.sessions, s), append(r.outputs, out)
		if i >= blockingSessions {
			r.say(i, "HELLO", "3")
			_, _ = r.hear(i)
		}
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

// locksOf picks n locks, in any order.
func (r *permitRun) locksOf(n int) (keys []string) {
	for _, k := range r.random.Perm(r.locks)[:min(n, r.locks)] {
		keys = append(keys, fmt.Sprint("k", k))
	}
	return keys
}

// acquire begins a random call that may wait.
func (r *permitRun) acquire(client int) {
	n := r.random.IntN(r.owners)
	upgrades := ""
	if key, owner, ok := r.held(); ok && r.random.IntN(5) == 0 && r.world.keys[key].limit == 0 {
		_, _ = fmt.Sscanf(owner, "o%d", &n)
		upgrades = key
	}
	// The calls of one owner for locks have leases of one length, and all have ONCE or none: which of two is
	// granted last is left open.
	c := &permitCall{client: client, owner: fmt.Sprint("o", n), leaseMS: 70 + 90*int64(n), once: n == 1}
	px, words := strconv.FormatInt(c.leaseMS, 10), []string(nil)
	switch kind := r.random.IntN(5); {
	case upgrades != "":
		c.keys = []string{upgrades}
		words = []string{"LOCK", upgrades, c.owner, "PX", px, "WAIT", "0"}
	case kind > 2 && len(r.semaphores) > 0:
		names := slices.Sorted(maps.Keys(r.semaphores))
		c.keys, c.permits, c.once = []string{names[r.random.IntN(len(names))]}, 1+r.random.Int64N(4), r.random.IntN(3) == 0
		k := r.world.keys[c.keys[0]]
		words = []string{"SEM.ACQUIRE", c.keys[0], c.owner, "PERMITS", strconv.FormatInt(c.permits, 10), "PX", px, "WAIT", "0"}
		if len(k.holds) == 0 || c.permits <= k.limit && r.random.IntN(2) == 0 {
			words = append(words, "LIMIT", strconv.FormatInt(k.limit, 10))
		}
	case kind == 2:
		c.keys, c.shared = r.locksOf(1+r.random.IntN(3)), r.random.IntN(2) == 0
		if r.random.IntN(10) == 0 {
			c.keys = append(c.keys, c.keys[0])
		}
		words = append(append([]string{"MLOCK", strconv.Itoa(len(c.keys))}, c.keys...), c.owner, "PX", px, "WAIT", "0")
	default:
		c.keys, c.shared = r.locksOf(1), r.random.IntN(2) == 0
		words = []string{"LOCK", c.keys[0], c.owner, "PX", px, "WAIT", "0"}
	}
	if c.shared {
		words = append(words, "SHARED")
	}
	if c.once {
		words = append(words, "ONCE")
	}
	if c.sinceMS = r.world.nowMS; r.levels && r.random.IntN(2) == 0 {
		c.level = r.random.Int64N(10)
		words = append(words, "PRIORITY", strconv.FormatInt(c.level, 10))
	}
	if r.notify && !r.mayNotify(c, &words) {
		return
	}
	r.begin(c, words)
}

// mayNotify makes a call wait with NOTIFY, perhaps. The owner has no other waits then, because a wait that is
// asked for again keeps its place. It returns false if the owner has such a wait already.
func (r *permitRun) mayNotify(c *permitCall, words *[]string) bool {
	waits := r.world.waiters
	if slices.ContainsFunc(waits, func(b *permitCall) bool { return b.owner == c.owner && b.client >= blockingSessions }) {
		return false
	}
	for i := blockingSessions; i < len(r.sessions) && !r.world.waits(c.owner); i++ {
		if !slices.ContainsFunc(waits, func(b *permitCall) bool { return b.client == i }) && r.random.IntN(2) == 0 {
			c.client = i
			*words = append(*words, "NOTIFY")
			break
		}
	}
	return true
}

// confirm confirms a grant after a wait with NOTIFY. The lease begins again in the moment in which it began.
func (r *permitRun) confirm(c *permitCall) {
	command, kind := "RENEW", fmt.Sprint(len(c.keys), " locks with NOTIFY")
	if c.permits > 0 {
		command, kind = "SEM.RENEW", "permits with NOTIFY"
	}
	r.seen[kind]++
	r.do(c.client, 1, command, c.keys[0], c.owner, "PX", strconv.FormatInt(c.leaseMS, 10))
}

// begin sends a call and compares its reply.
func (r *permitRun) begin(c *permitCall, words []string) {
	w := r.world
	r.log = append(r.log, fmt.Sprintf("%d: %s", c.client, strings.Join(words, " ")))
	r.say(c.client, words...)
	got, answered := r.hear(c.client)
	r.log[len(r.log)-1] += fmt.Sprintf(" -> %v %v", answered, got)
	queued := got.Str == "QUEUED"
	if queued { // the outcome may follow at once, if the call stands before the others
		got, answered = r.hear(c.client)
	}
	place := w.placeOf(c)
	switch {
	case w.fails(c):
		if !answered || !strings.HasPrefix(got.Str, "ERR semaphore '") {
			r.fail("%v asks for too much", c)
		}
	case w.canGo(c, w.waiters[:place]) && (place == len(w.waiters) || !strings.HasPrefix(got.Str, "DEADLOCK ")):
		w.take(c)
		if !answered || got.IsError() || got.IsNull() {
			r.fail("%v should be granted", c)
		}
		if queued {
			r.confirm(c)
		}
	case answered:
		w.waiters = slices.Insert(w.waiters, place, c)
		if left := w.stuck(); !strings.HasPrefix(got.Str, "DEADLOCK ") || len(left) == 0 || c.level == 0 && !slices.Contains(left, c) {
			r.fail("%v could wait", c)
		}
		w.waiters = slices.Delete(w.waiters, place, place+1)
		r.cycles++
	default:
		w.waiters = slices.Insert(w.waiters, place, c)
		if left := w.stuckNow(); len(left) > 0 {
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
	if k.limit == 0 {
		r.unlock(client, key, owner)
		return
	}
	h := *k.holds[owner]
	permits := 1 + r.random.Int64N(h.shared)
	r.world.release(key, owner, permits)
	words := []string{"SEM.RELEASE", key, owner}
	if permits < h.shared || r.random.IntN(2) == 0 {
		words = append(words, "PERMITS", strconv.FormatInt(permits, 10))
	}
	r.do(client, h.shared-permits, words...)
}

// unlock gives back one hold of a lock, or of it and of others.
func (r *permitRun) unlock(client int, key, owner string) {
	keys, words := []string{key}, []string{"UNLOCK", key, owner}
	if r.random.IntN(4) == 0 {
		keys = append(keys, r.locksOf(r.random.IntN(r.locks))...) // perhaps a part of what an MLOCK took, or more
		words = append(append([]string{"MUNLOCK", strconv.Itoa(len(keys))}, keys...), owner)
	}
	shared := r.random.IntN(3) == 0
	if shared {
		words = append(words, "SHARED")
	}
	var want []string
	for _, key := range keys {
		want = append(want, r.world.unlock(key, owner, shared))
	}
	r.log = append(r.log, strings.Join(words, " "))
	r.say(client, words...)
	got, _ := r.hear(client)
	reply := strings.Join(want, " ")
	if words[0] == "MUNLOCK" {
		reply = "[" + reply + "]"
	}
	if got.String() != reply {
		r.fail("%v: %s, and not %s", words, got, reply)
	}
}

// cancel ends the waits of an owner for a key.
func (r *permitRun) cancel(client int) {
	w := r.world
	if len(w.waiters) == 0 {
		return
	}
	c := w.waiters[r.random.IntN(len(w.waiters))]
	key := c.keys[r.random.IntN(len(c.keys))]
	var ended []*permitCall
	w.waiters = slices.DeleteFunc(w.waiters, func(other *permitCall) bool {
		ends := other.owner == c.owner && slices.Contains(other.keys, key)
		if ends {
			ended = append(ended, other)
		}
		return ends
	})
	r.do(client, 1, "LOCK.CANCEL", key, c.owner)
	for _, c := range ended {
		got, answered := r.hear(c.client)
		if !answered || !got.IsNull() && (got.Kind != resp.Push || got.Elems[2].Str != "cancelled") {
			r.fail("%v was cancelled: %v", c, got)
		}
	}
}

// rest is a step that neither acquires nor releases.
func (r *permitRun) rest(client int) {
	w := r.world
	switch r.random.IntN(6) {
	case 0:
		r.cancel(client)
	case 1: // a wait ends
		if len(w.waiters) > 0 {
			i := r.random.IntN(len(w.waiters))
			c := w.waiters[i]
			if c.client >= blockingSessions {
				return
			}
			w.waiters = slices.Delete(w.waiters, i, i+1)
			r.do(client, 1, "CLIENT", "UNBLOCK", fmt.Sprint(r.sessions[c.client].Number))
			if got, _ := r.hear(c.client); !got.IsNull() {
				r.fail("%v was unblocked: %v", c, got)
			}
		}
	case 2: // a semaphore gets another limit
		if len(r.semaphores) == 0 {
			return
		}
		key, limit := fmt.Sprint("s", r.random.IntN(len(r.semaphores))), 1+r.random.Int64N(4)
		if len(w.keys[key].holds) == 0 {
			r.do(client, 0, "SEM.RESIZE", key, strconv.FormatInt(limit, 10))
			return
		}
		w.keys[key].limit = limit
		r.do(client, 1, "SEM.RESIZE", key, strconv.FormatInt(limit, 10))
	case 3: // a lease begins anew
		if key, owner, ok := r.held(); ok {
			w.keys[key].holds[owner].endMS = w.nowMS + 200
			command := "RENEW"
			if w.keys[key].limit > 0 {
				command = "SEM.RENEW"
			}
			r.do(client, 1, command, key, owner, "PX", "200")
		}
	case 4: // a holder loses all
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
	var got outcome
	for i := range r.sessions {
		reply, answered := r.hear(i)
		switch {
		case !answered:
		case reply.Kind == resp.Push && reply.Elems[0].Str == "lock-refused":
			if reply.Elems[2].Str == "deadlock" {
				got.refused = append(got.refused, i)
			} else {
				got.failed = append(got.failed, i)
			}
		case strings.HasPrefix(reply.Str, "DEADLOCK "):
			got.refused = append(got.refused, i)
		case reply.IsError():
			got.failed = append(got.failed, i)
		default:
			got.granted = append(got.granted, i)
		}
	}
	after := r.world.serve(got, r.seen)
	if after == nil {
		r.fail("no order of the waiters leads to %+v", got)
		return
	}
	r.refused += len(got.refused)
	w := r.world
	granted := slices.DeleteFunc(slices.Clone(w.waiters), func(c *permitCall) bool {
		return c.client < blockingSessions || !slices.Contains(got.granted, c.client)
	})
	*w = *after
	for key, limit := range r.semaphores {
		k := w.keys[key]
		if len(k.holds) == 0 && !slices.ContainsFunc(w.waiters, func(c *permitCall) bool { return slices.Contains(c.keys, key) }) {
			k.limit = limit // it is gone
		}
		r.compareInfo(key, k)
	}
	for _, c := range granted {
		r.confirm(c)
	}
}

// compareInfo compares what SEM.INFO says.
func (r *permitRun) compareInfo(key string, k *permitKey) {
	idle := slices.IndexFunc(r.sessions, func(s *session) bool { return s.Waiter == nil })
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
	for i, s := range r.sessions[:blockingSessions] {
		if s.Waiter == nil {
			idle = append(idle, i)
		}
	}
	client := idle[r.random.IntN(len(idle))]
	switch n := r.random.IntN(20); {
	case n < 11 && len(idle) > 1:
		r.acquire(client)
	case n < 16:
		r.release(client)
	default:
		r.rest(client)
	}
	r.compare()
}

// drain lets the owners that wait for nothing lose what they have, until no holder is left. Then no owner
// waits: each deadlock was found when it was there.
func (r *permitRun) drain() {
	client := slices.IndexFunc(r.sessions, func(s *session) bool { return s.Waiter == nil })
	for freed := true; freed; {
		freed = false
		for _, key := range slices.Sorted(maps.Keys(r.world.keys)) {
			for _, owner := range slices.Sorted(maps.Keys(r.world.keys[key].holds)) {
				if r.world.keys[key].holds[owner] == nil || r.world.waits(owner) {
					continue
				}
				freed = true
				delete(r.world.keys[key].holds, owner)
				r.do(client, 1, "LOCK.FORCE", key, "OWNER", owner)
				r.compare()
			}
		}
	}
	if len(r.world.waiters) > 0 {
		r.fail("%v can never go, and was not refused", r.world.waiters[0])
	}
}

// runPermits plays a number of rounds of random commands. At the end of each round the server has forgotten
// its clients.
func runPermits(t *testing.T, rounds int, shape permitShape) (seen map[string]int) {
	seed := testkit.Seed(t)
	seen = map[string]int{}
	cycles, refused := 0, 0
	for round := range rounds {
		r := newPermitRun(t, rand.New(rand.NewPCG(seed, uint64(round))), shape, seen)
		if shape.levels && round%4 > 0 {
			r.world.agingMS = []int64{0, 40, 120, 10_000}[round%4]
		}
		r.say(0, "CONFIG", "SET", "lock-priority-aging", strconv.FormatInt(r.world.agingMS, 10))
		_, _ = r.hear(0)
		for range 400 {
			r.step()
		}
		r.drain()
		cycles, refused = cycles+r.cycles, refused+r.refused
		for _, s := range r.sessions {
			s.Close()
		}
		checkParking(t, r.srv)
		require.Zero(t, r.srv.executor.Waits.Queues.LenOwners())
		require.NoError(t, r.srv.Close())
	}
	t.Logf("%d waits were refused at once, and %d later; granted after a wait: %v", cycles, refused, seen)
	require.Positive(t, cycles)
	require.Positive(t, refused)
	for _, kind := range []string{"shared", "exclusive", "upgrade", "MLOCK shared", "MLOCK exclusive", "MLOCK upgrade", "upgrade before others"} {
		require.Positive(t, seen[kind], kind)
	}
	return seen
}

// TestPrioritiesAgainstAModel: the calls of the two tests beside it with priorities, and waiters that age.
func TestPrioritiesAgainstAModel(t *testing.T) {
	t.Parallel()
	runPermits(t, testkit.Steps(12, 400), permitShape{locks: 3, owners: 4, semaphores: map[string]int64{"s0": 3, "s1": 4}, levels: true})
}

// TestNotifiedPrioritiesAgainstAModel: the same, and some calls wait with NOTIFY.
func TestNotifiedPrioritiesAgainstAModel(t *testing.T) {
	t.Parallel()
	seen := runPermits(t, testkit.Steps(12, 400), permitShape{locks: 3, owners: 6, semaphores: map[string]int64{"s0": 3, "s1": 4}, levels: true, notify: true})
	for _, kind := range []string{"1 locks with NOTIFY", "2 locks with NOTIFY", "3 locks with NOTIFY", "permits with NOTIFY"} {
		require.Positive(t, seen[kind], kind)
	}
}

// TestSemaphoresAgainstAModel: of locks, shared locks and semaphores together, the clients that are granted,
// that wait and that are refused are those of the model. Leases end to the millisecond, and SEM.INFO counts
// exactly.
func TestSemaphoresAgainstAModel(t *testing.T) {
	t.Parallel()
	runPermits(t, testkit.Steps(10, 400), permitShape{locks: 3, owners: 4, semaphores: map[string]int64{"s0": 3, "s1": 4}})
}
