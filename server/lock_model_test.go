package server

import (
	"bufio"
	"bytes"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/internal/resp"
	"lockserver/internal/testkit"
	"lockserver/server/transport"
)

// lockModel is LOCK, MLOCK and UNLOCK as simple as can be. All waiters are in one list in the order of
// arrival, and everything is found by looking at all of it.
type lockModel struct {
	holds   map[string]*modelHold
	waiters []*modelWaiter
}

type modelHold struct {
	owner string
	count int
}

type modelWaiter struct {
	client int
	owner  string
	keys   []string
}

// canTake reports whether a waiter may have all its keys, with so many waiters before it.
func (m *lockModel) canTake(w *modelWaiter, before []*modelWaiter) bool {
	for _, k := range w.keys {
		if h := m.holds[k]; h != nil && h.owner != w.owner {
			return false
		} else if h == nil && slices.ContainsFunc(before, func(b *modelWaiter) bool { return slices.Contains(b.keys, k) }) {
			return false
		}
	}
	return true
}

func (m *lockModel) take(w *modelWaiter) {
	for _, k := range w.keys {
		if m.holds[k] == nil {
			m.holds[k] = &modelHold{owner: w.owner}
		}
		m.holds[k].count++
	}
}

// Grants what can be granted and returns the clients.
func (m *lockModel) update() (granted []int) {
	for i := 0; i < len(m.waiters); i++ {
		if w := m.waiters[i]; m.canTake(w, m.waiters[:i]) {
			m.take(w)
			m.waiters = slices.Delete(m.waiters, i, i+1)
			granted = append(granted, w.client)
			i = -1
		}
	}
	return granted
}

// waitsFor returns the owners that an owner waits for, with number i of the waiters.
func (m *lockModel) waitsFor(i int) (owners []string) {
	w := m.waiters[i]
	for _, k := range w.keys {
		h := m.holds[k]
		if h != nil && h.owner == w.owner {
			continue
		}
		if h != nil {
			owners = append(owners, h.owner)
		}
		for _, b := range m.waiters[:i] {
			if !slices.Contains(b.keys, k) {
				continue
			}
			if b.owner == w.owner {
				break // once that one is granted the key is the owner's
			}
			owners = append(owners, b.owner)
		}
	}
	return owners
}

// isCycle reports whether a waiter waits for its own owner, however indirectly.
func (m *lockModel) isCycle(number int) bool {
	target := m.waiters[number].owner
	reached := map[string]bool{}
	todo := m.waitsFor(number)
	for len(todo) > 0 {
		owner := todo[0]
		todo = todo[1:]
		if owner == target {
			return true
		}
		if reached[owner] {
			continue
		}
		reached[owner] = true
		for i, w := range m.waiters {
			if w.owner == owner {
				todo = append(todo, m.waitsFor(i)...)
			}
		}
	}
	return false
}

// refuse takes out clients that are in deadlock cycles, in any order in which each is in one at its turn, and
// grants what can then be granted.
func (m *lockModel) refuse(clients []int) (after lockModel, granted []int, ok bool) {
	if len(clients) == 0 {
		return *m, nil, true
	}
	for i, w := range m.waiters {
		at := slices.Index(clients, w.client)
		if at < 0 || !m.isCycle(i) {
			continue
		}
		next := lockModel{holds: map[string]*modelHold{}, waiters: slices.Delete(slices.Clone(m.waiters), i, i+1)}
		for k, h := range m.holds {
			next.holds[k] = &modelHold{h.owner, h.count}
		}
		granted = next.update()
		if after, more, ok := next.refuse(slices.Delete(slices.Clone(clients), at, at+1)); ok {
			return after, append(granted, more...), true
		}
	}
	return after, nil, false
}

// recorder is a connection that keeps what it is sent.
type recorder struct {
	nowhere
	sent bytes.Buffer
}

func (r *recorder) Send(b []byte, _ bool) (bool, error) {
	r.sent.Write(b)
	return false, nil
}

// modelRun plays random commands to a server and to the model.
type modelRun struct {
	t        *testing.T
	srv      *instance
	random   *rand.Rand
	scratch  batch
	model    lockModel
	sessions []*session
	outputs  []*recorder
	refused  int // after they had begun to wait
}

// say sends a command of a client; the reply, if there is one now, is heard later.
func (r *modelRun) say(client int, words ...string) {
	r.sessions[client].Feed(appendCommand(nil, words...), &r.scratch, nil)
}

// hear returns the reply of a client, and false if there is none.
func (r *modelRun) hear(client int) (resp.Value, bool) {
	r.sessions[client].Feed(nil, &r.scratch, nil)
	out := &r.outputs[client].sent
	if out.Len() == 0 {
		return resp.Value{}, false
	}
	v, err := resp.ReadValue(bufio.NewReader(bytes.NewReader(out.Bytes())))
	require.NoError(r.t, err)
	out.Reset()
	return v, true
}

func (r *modelRun) lock(client int) {
	w := &modelWaiter{client: client, owner: fmt.Sprint("o", r.random.IntN(4))}
	for _, k := range r.random.Perm(5)[:1+r.random.IntN(3)] {
		w.keys = append(w.keys, fmt.Sprint("k", k))
	}
	if r.random.IntN(10) == 0 {
		w.keys = append(w.keys, w.keys[0])
	}
	if len(w.keys) == 1 {
		r.say(client, "LOCK", w.keys[0], w.owner, "WAIT", "0")
	} else {
		r.say(client, append(append([]string{"MLOCK", fmt.Sprint(len(w.keys))}, w.keys...), w.owner, "WAIT", "0")...)
	}
	got, answered := r.hear(client)
	m := &r.model
	if m.canTake(w, m.waiters) {
		m.take(w)
		require.True(r.t, answered && !got.IsError(), "%v should be granted: %v", w, got)
		return
	}
	m.waiters = append(m.waiters, w)
	if m.isCycle(len(m.waiters) - 1) {
		m.waiters = m.waiters[:len(m.waiters)-1]
		require.True(r.t, answered && strings.HasPrefix(got.Str, "DEADLOCK "+w.owner+" -> "), "%v closes a cycle: %v", w, got)
		require.True(r.t, strings.HasSuffix(got.Str, " -> "+w.owner), got)
		return
	}
	require.False(r.t, answered, "%v should wait: %v", w, got)
}

// unlock gives back a hold of a random key.
func (r *modelRun) unlock(client int) {
	k := fmt.Sprint("k", r.random.IntN(5))
	m := &r.model
	h := m.holds[k]
	if h == nil {
		return
	}
	want := int64(0)
	if h.count--; h.count == 0 {
		want = 1
		delete(m.holds, k)
	}
	r.say(client, "UNLOCK", k, h.owner)
	got, _ := r.hear(client)
	require.Equal(r.t, want, got.Int, "%s of %s: %v", k, h.owner, got)
}

// giveUp ends the wait of a random client.
func (r *modelRun) giveUp(client int) {
	m := &r.model
	if len(m.waiters) == 0 {
		return
	}
	i := r.random.IntN(len(m.waiters))
	w := m.waiters[i]
	m.waiters = slices.Delete(m.waiters, i, i+1)
	r.say(client, "CLIENT", "UNBLOCK", fmt.Sprint(r.sessions[w.client].id))
	got, _ := r.hear(client)
	require.EqualValues(r.t, 1, got.Int)
	got, _ = r.hear(w.client)
	require.True(r.t, got.IsNull(), got)
}

func (r *modelRun) step() {
	idle := []int{}
	for i, s := range r.sessions {
		if s.waiter == nil {
			idle = append(idle, i)
		}
	}
	client := idle[r.random.IntN(len(idle))]
	switch n := r.random.IntN(20); {
	case n < 9 && len(idle) > 1:
		r.lock(client)
	case n < 18:
		r.unlock(client)
	default:
		r.giveUp(client)
	}
	r.compare()
}

// compare requires that the server has granted what the model grants. Deadlock cycles can arise although no
// client begins to wait. For example, a waiter gives up, and because of it another waiter of the same owner
// did not have to wait. A client that the server refuses then must be in a cycle.
func (r *modelRun) compare() {
	m := &r.model
	granted := m.update()
	var got, refused []int
	for i := range r.sessions {
		reply, answered := r.hear(i)
		if answered && reply.IsError() {
			refused = append(refused, i)
		} else if answered {
			got = append(got, i)
		}
	}
	if len(refused) > 0 {
		r.refused += len(refused)
		after, more, ok := m.refuse(refused)
		require.True(r.t, ok, "%v were refused and stand in no cycle", refused)
		*m, granted = after, append(granted, more...)
	}
	slices.Sort(granted)
	require.Equal(r.t, granted, got)
	require.Len(r.t, m.waiters, r.srv.executor.queues.Len())
}

// TestLocksAgainstAModel: who is granted, who waits and who is refused is what the model says.
func TestLocksAgainstAModel(t *testing.T) {
	t.Parallel()
	seed := testkit.Seed(t)
	refused := 0
	for round := range 20 {
		srv := startWith(t, Options{Clock: NewManualClock(time.UnixMilli(1_750_000_000_000))}, nil)
		r := &modelRun{t: t, srv: srv, random: rand.New(rand.NewPCG(seed, uint64(round))),
			model: lockModel{holds: map[string]*modelHold{}}}
		for range 8 {
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
		require.Zero(t, srv.executor.queues.LenOwners())
	}
	t.Logf("%d were refused while they waited", refused)
}
