package server

import (
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/commands"
	"lockserver/internal/resp"
	"lockserver/server/transport"
	"lockserver/tests/testkit"
)

// cycleRun makes locks change hands in all ways, and after each unit looks for deadlock cycles by brute
// force.
type cycleRun struct {
	modelRun
	waiting []cycleWait // in the order in which they began
	refused int         // after they had begun to wait
}

type cycleWait struct {
	client, db int
	owner      string
	keys       []string
}

const cycleDatabases, cycleKeys, cycleOwners = 2, 5, 5

// holder returns the owner of a key's lock; "": none.
func (r *cycleRun) holder(db int, key string) string {
	l, err := commands.FindLock(r.srv.executor.Store.DB(db), []byte(key))
	if err != nil || l.Holds == 0 {
		return ""
	}
	return string(l.Owner)
}

// waitsFor returns the owners that waiter number i waits for.
func (r *cycleRun) waitsFor(waiting []cycleWait, i int) (owners []string) {
	w := waiting[i]
	for _, key := range w.keys {
		held := r.holder(w.db, key)
		if held == w.owner {
			continue
		}
		if held != "" {
			owners = append(owners, held)
		}
		for _, before := range waiting[:i] {
			if before.db != w.db || !slices.Contains(before.keys, key) {
				continue
			}
			if before.owner == w.owner {
				break
			}
			owners = append(owners, before.owner)
		}
	}
	return owners
}

// inCycle reports whether number i of those that wait waits for its own owner.
func (r *cycleRun) inCycle(waiting []cycleWait, i int) bool {
	reached := r.waitsFor(waiting, i)
	for next := 0; next < len(reached); next++ {
		if reached[next] == waiting[i].owner {
			return true
		}
		for j, w := range waiting {
			if w.owner != reached[next] {
				continue
			}
			for _, owner := range r.waitsFor(waiting, j) {
				if !slices.Contains(reached, owner) {
					reached = append(reached, owner)
				}
			}
		}
	}
	return false
}

// check takes the replies to waiters. It requires that no remaining waiter is in a deadlock cycle, and that
// no waiter was refused without a cycle.
func (r *cycleRun) check(what string) {
	before := slices.Clone(r.waiting)
	var refused, answered []int
	r.waiting = slices.DeleteFunc(r.waiting, func(w cycleWait) bool {
		reply, ok := r.hear(w.client)
		if ok && strings.HasPrefix(reply.Str, "DEADLOCK ") {
			refused = append(refused, w.client)
		}
		if ok {
			answered = append(answered, w.client)
		}
		return ok
	})
	require.Len(r.t, r.waiting, r.srv.executor.Waits.Queues.Len(), what)
	for i, w := range r.waiting {
		require.False(r.t, r.inCycle(r.waiting, i), "%v waits in a cycle since %s; all: %v", w, what, r.waiting)
	}
	r.refused += len(refused)
	if len(refused) == 1 && len(answered) == 1 {
		i := slices.IndexFunc(before, func(w cycleWait) bool { return w.client == refused[0] })
		// It is the youngest, so the cycle is there without those that came later.
		require.True(r.t, r.inCycle(before[:i+1], i), "%v was refused; %s; all: %v", before[i], what, before)
	}
}

// wait has a client ask for locks.
func (r *cycleRun) wait(client, db int) {
	w := cycleWait{client: client, db: db, owner: fmt.Sprint("o", r.random.IntN(cycleOwners))}
	for _, k := range r.random.Perm(cycleKeys)[:1+r.random.IntN(5)/2] {
		w.keys = append(w.keys, fmt.Sprint("k", k))
	}
	words := append(append([]string{"MLOCK", fmt.Sprint(len(w.keys))}, w.keys...), w.owner, "WAIT", "0")
	if len(w.keys) == 1 {
		words = []string{"LOCK", w.keys[0], w.owner, "WAIT", "0"}
	}
	r.say(client, words...)
	if _, answered := r.hear(client); !answered {
		r.waiting = append(r.waiting, w)
	}
	r.check(strings.Join(words, " "))
}

// change returns a command that changes who holds something, or nil.
func (r *cycleRun) change(db int) []string {
	key := func() string { return fmt.Sprint("k", r.random.IntN(cycleKeys)) }
	k, other := key(), key()
	lockHash := []string{"$token", fmt.Sprint(1000 + r.random.IntN(1000)), fmt.Sprint("o", r.random.IntN(cycleOwners)), "1"}
	switch r.random.IntN(14) {
	case 0, 1:
		return []string{"RENAME", k, other}
	case 2:
		return []string{"RENAMENX", k, other}
	case 3:
		return []string{"COPY", k, other, "DB", fmt.Sprint(r.random.IntN(cycleDatabases)), "REPLACE"}
	case 4:
		return []string{"MOVE", k, fmt.Sprint(1 - db)}
	case 5:
		return []string{"SWAPDB", "0", "1"}
	case 6: // the holder does not hold it any more
		return []string{"EVAL", "redis.call('DEL', KEYS[1]); return redis.call('HSET', KEYS[1], unpack(ARGV))",
			"1", k, lockHash[0], lockHash[1], lockHash[2], lockHash[3]}
	case 7:
		return append([]string{"HSET", k}, lockHash...)
	case 8:
		return []string{"DEL", k}
	case 9:
		return []string{"EVAL", "local d = redis.call('DUMP', KEYS[1]); " +
			"if d then redis.call('RESTORE', KEYS[2], 0, d, 'REPLACE') end", "2", k, other}
	case 10:
		return []string{"LOCK.FORCE", k}
	case 11, 12:
		if owner := r.holder(db, k); owner != "" {
			return []string{"UNLOCK", k, owner}
		}
	case 13:
		return []string{"LOCK", k, fmt.Sprint("o", r.random.IntN(cycleOwners))}
	}
	return nil
}

func (r *cycleRun) step() {
	var idle []int
	for i, s := range r.sessions {
		if s.Waiter == nil {
			idle = append(idle, i)
		}
	}
	client, db := idle[r.random.IntN(len(idle))], r.random.IntN(cycleDatabases)
	r.say(client, "SELECT", fmt.Sprint(db))
	r.hearAll(client)
	switch n := r.random.IntN(20); {
	case n < 9 && len(idle) > 1:
		r.wait(client, db)
	case n < 10 && len(r.waiting) > 0:
		w := r.waiting[r.random.IntN(len(r.waiting))]
		r.say(client, "CLIENT", "UNBLOCK", fmt.Sprint(r.sessions[w.client].Number))
		r.hearAll(client)
		r.check("the end of " + fmt.Sprint(w))
	default:
		words := r.change(db)
		if words == nil {
			return
		}
		inMulti := r.random.IntN(5) == 0 // with another one, as one unit
		if inMulti {
			r.say(client, "MULTI")
			if more := r.change(db); more != nil {
				r.say(client, more...)
			}
		}
		r.say(client, words...)
		if inMulti {
			r.say(client, "EXEC")
		}
		r.hearAll(client)
		r.check(strings.Join(words, " "))
	}
}

// TestNoWaiterStaysInACycle: whatever changes the holder of a lock, no deadlock cycle of waiters is left when
// the unit is over.
func TestNoWaiterStaysInACycle(t *testing.T) {
	t.Parallel()
	seed := testkit.Seed(t)
	refused := 0
	for round := range testkit.Steps(10, 30) {
		srv := startWith(t, Options{Clock: NewManualClock(time.UnixMilli(1_750_000_000_000))}, nil)
		r := &cycleRun{modelRun: modelRun{t: t, srv: srv, random: rand.New(rand.NewPCG(seed, uint64(round)))}}
		for range 9 {
			out := &recorder{}
			s, _ := srv.executor.open(out, transport.Peer{Local: &net.UnixAddr{Net: "unix"}, Remote: &net.UnixAddr{Net: "unix"}})
			require.NotNil(t, s)
			r.sessions, r.outputs = append(r.sessions, s), append(r.outputs, out)
		}
		for range 400 {
			r.step()
		}
		refused += r.refused
		for _, s := range r.sessions {
			s.Close()
		}
		checkParking(t, srv)
		require.Zero(t, srv.executor.Waits.Queues.LenOwners())
	}
	require.Positive(t, refused, "no cycle arose without a new wait")
	t.Logf("%d were refused while they waited", refused)
}

// TestManySuspects: SWAPDB gives every lock another holder. Looking at all owners that wait themselves is
// more than one unit may do. The cycle is found all the same.
func TestManySuspects(t *testing.T) {
	t.Parallel()
	clock := NewManualClock(time.UnixMilli(1_750_000_000_000))
	srv := startWith(t, Options{Clock: clock}, nil)
	r := &modelRun{t: t, srv: srv}
	open := func() int {
		out := &recorder{}
		s, _ := srv.executor.open(out, transport.Peer{Local: &net.UnixAddr{Net: "unix"}, Remote: &net.UnixAddr{Net: "unix"}})
		require.NotNil(t, s)
		r.sessions, r.outputs = append(r.sessions, s), append(r.outputs, out)
		return len(r.sessions) - 1
	}
	boss := open()
	do := func(words ...string) {
		r.say(boss, words...)
		reply, ok := r.hear(boss)
		require.True(t, ok && !reply.IsError(), "%v: %v", words, reply)
	}
	wait := func(key, owner string) int {
		client := open()
		r.say(client, "LOCK", key, owner, "WAIT", "0")
		_, answered := r.hear(client)
		require.False(t, answered)
		return client
	}
	const chain = 250 // each waits for the next: following all of them takes chain*chain/2 steps
	name := func(i int) string { return fmt.Sprint("c", i) }
	for i := range chain {
		do("LOCK", name(i), name(i))
	}
	for i := range chain - 1 {
		wait(name(i+1), name(i))
	}
	do("LOCK", "kx", "x")
	do("LOCK", "ky", "h")
	wait("kx", "y")
	youngest := wait("ky", "x")
	for i := range chain {
		do("COPY", name(i), name(i), "DB", "1")
	}
	do("COPY", "kx", "kx", "DB", "1")
	do("SELECT", "1")
	do("LOCK", "ky", "y")
	do("SWAPDB", "0", "1")
	require.NotZero(t, srv.executor.Waits.Queues.Suspects(), "one unit does not look at all of them")
	clock.Advance(time.Millisecond)
	require.Zero(t, srv.executor.Waits.Queues.Suspects())
	reply, answered := r.hear(youngest)
	require.True(t, answered)
	require.Equal(t, "DEADLOCK x -> ky -> y -> kx -> x", reply.Str)
}

// The search for deadlock cycles looks at locks, and a lock with an ended lease is removed when it is looked
// at. Its waiters have their turn then, and are not forgotten because the search came last.
func TestTheSearchForCyclesEndsALease(t *testing.T) {
	t.Parallel()
	clock := NewManualClock(time.UnixMilli(1_750_000_000_000))
	srv := startWith(t, Options{Clock: clock}, nil)
	boss := client(t, srv)
	for _, words := range [][]string{{"LOCK", "a", "h", "PX", "1000"}, {"LOCK", "b", "g", "PX", "60000"}} {
		require.False(t, boss.Do(words...).IsError())
	}
	waiting := func(n int) func() bool {
		return func() bool {
			srv.executor.Mu.Lock()
			defer srv.executor.Mu.Unlock()
			return srv.executor.Waits.Queues.Len() == n
		}
	}
	first, second, third := client(t, srv), client(t, srv), client(t, srv)
	first.Send("LOCK", "b", "x", "WAIT", "1000") // its end leaves the second one behind, and x is looked at
	eventually(t, waiting(1), "the first waits")
	second.Send("LOCK", "b", "x", "WAIT", "0")
	eventually(t, waiting(2), "the second waits")
	third.Send("LOCK", "a", "x", "PX", "5000", "WAIT", "0")
	eventually(t, waiting(3), "the third waits")
	clock.Advance(time.Second)
	require.Equal(t, resp.NullBulk, first.Receive().Kind)
	require.NoError(t, third.Conn().SetReadDeadline(time.Now().Add(soon)))
	require.Equal(t, resp.Integer, third.Receive().Kind)
}
