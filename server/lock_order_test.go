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
	"lockserver/internal/waiting"
	"lockserver/server/transport"
	"lockserver/server/wait"
	"lockserver/tests/testkit"
)

// orderRun makes a queue for the lock k, and then lets its holders release one at a time. Each wait has a
// deadline of its own, by which the reply of LOCK.INFO names it. The other keys of an MLOCK are asked for
// by that wait alone: then the queue of k determines the order of grants.
type orderRun struct {
	modelRun
	waits int
	kinds map[string]int // how many waiters of each kind were granted in a list with others
}

const orderKey = "k"

// build makes a random change that leaves k held or awaited.
func (r *orderRun) build() {
	idle := []int{}
	for i, s := range r.sessions {
		if s.Waiter == nil {
			idle = append(idle, i)
		}
	}
	if len(idle) < 2 {
		return
	}
	client, owner := idle[r.random.IntN(len(idle))], fmt.Sprint("o", r.random.IntN(6))
	r.waits++
	words := []string{"LOCK", orderKey, owner}
	switch n := r.random.IntN(20); {
	case n == 0: // waiters leave, also those before an upgrade
		r.say(client, "LOCK.CANCEL", orderKey, owner)
		r.hearAll()
		return
	case n == 1:
		r.releaseOne()
		return
	case n < 6:
		other := fmt.Sprint("m", r.waits)
		words = []string{"MLOCK", "2", orderKey, other, owner}
		if r.random.IntN(2) == 0 {
			words = []string{"MLOCK", "3", other, orderKey, orderKey, owner}
		}
	}
	if r.random.IntN(2) == 0 {
		words = append(words, "SHARED")
	}
	if r.random.IntN(4) == 0 {
		words = append(words, "ONCE")
	}
	words = append(words, "PX", "900000000", "WAIT", fmt.Sprint(1_000_000+r.waits))
	if r.random.IntN(4) == 0 {
		words = append(words, "NOTIFY")
	}
	if r.random.IntN(4) == 0 {
		words = append(words, "PRIORITY", fmt.Sprint(r.random.IntN(10)))
	}
	r.say(client, words...)
	r.hearAll()
}

// hearAll drops the replies so far.
func (r *orderRun) hearAll() {
	for i := range r.sessions {
		r.sessions[i].Feed(nil, &r.scratch, nil)
		r.outputs[i].sent.Reset()
	}
}

// holders returns the owners that hold k.
func (r *orderRun) holders() (owners []string) {
	commands.EachHolder(r.srv.executor.Store.DB(0).PeekLive([]byte(orderKey)), func(h commands.Holder) bool {
		owners = append(owners, string(h.Owner))
		return true
	})
	return owners
}

// releaseOne makes a holder of k that waits for nothing release all its locks; false: k has no such holder.
func (r *orderRun) releaseOne() bool {
	free := slices.DeleteFunc(r.holders(), func(owner string) bool { return r.srv.executor.Waits.Queues.Owner([]byte(owner)) != nil })
	if len(free) == 0 {
		return false
	}
	owner := free[r.random.IntN(len(free))]
	idle := slices.IndexFunc(r.sessions, func(s *session) bool { return s.Waiter == nil })
	for released := false; !released; {
		r.say(idle, "UNLOCK", orderKey, owner)
		got, _ := r.hear(idle)
		require.Equal(r.t, resp.Integer, got.Kind, got)
		released = got.Int == 1
	}
	r.hearAll()
	return true
}

// list returns the waiters for k in the order of LOCK.INFO.
func (r *orderRun) list() (list []*waiting.Waiter) {
	q := r.srv.executor.Waits.Queues.Of(0, []byte(orderKey))
	if q == nil {
		return nil
	}
	byDeadline := map[int64]*waiting.Waiter{}
	for pl := q.First(); pl != nil; pl = pl.Next() {
		byDeadline[wait.ParkedOf(pl.Waiter()).DeadlineMS()] = pl.Waiter()
	}
	idle := slices.IndexFunc(r.sessions, func(s *session) bool { return s.Waiter == nil })
	r.say(idle, "LOCK.INFO", orderKey)
	info, _ := r.hear(idle)
	for i := 0; i < len(info.Elems); i += 2 {
		if info.Elems[i].Str != "waiters" {
			continue
		}
		for _, w := range info.Elems[i+1].Elems {
			at := slices.IndexFunc(w.Elems, func(v resp.Value) bool { return v.Str == "deadline" })
			list = append(list, byDeadline[w.Elems[at+1].Int])
			delete(byDeadline, w.Elems[at+1].Int)
		}
	}
	require.Empty(r.t, byDeadline, "waiters that are not listed")
	require.NotContains(r.t, list, (*waiting.Waiter)(nil))
	return list
}

// drain lets the holders release until no owner waits, and requires that waiters are granted in the order in
// which they were listed. It ends early if a wait is refused: the list does not foresee deadlocks.
func (r *orderRun) drain() {
	list := r.list()
	for len(list) > 0 {
		if len(list) > 2 && r.random.IntN(8) == 0 {
			idle := slices.IndexFunc(r.sessions, func(s *session) bool { return s.Waiter == nil })
			r.say(idle, "LOCK.CANCEL", orderKey, list[r.random.IntN(len(list))].Owner())
			r.hearAll()
			list = r.list()
			continue
		}
		text := r.describe(list)
		before := map[string]bool{}
		for _, owner := range r.holders() {
			before[owner] = true
		}
		require.True(r.t, r.releaseOne(), "all holders wait, and no wait is refused: %s", text)
		granted, last := 0, int64(0)
		for i, w := range list {
			if w.First() != nil {
				continue
			}
			if !w.Granted() {
				return
			}
			require.Equal(r.t, granted, i, "number %d of the list was granted before number %d: %s", i+1, granted+1, text)
			granted++
			if token, _ := commands.HoldOf(r.srv.executor.Store.DB(0), []byte(orderKey), []byte(w.Owner())); !before[w.Owner()] {
				require.Greater(r.t, token, last, "the tokens of one release rise along the list: %s", text)
				before[w.Owner()], last = true, token
			}
		}
		for _, w := range list[:granted] {
			r.kinds[kindOfWait(wait.ParkedOf(w))] += min(1, len(list)-granted)
		}
		list = list[granted:]
	}
}

// kindOfWait is the words of a wait that say what it waits for.
func kindOfWait(w *wait.Parked) string {
	words := slices.DeleteFunc(words(w), func(s string) bool { return !slices.Contains([]string{"LOCK", "MLOCK", "SHARED", "NOTIFY"}, s) })
	return strings.Join(words, " ")
}

func words(w *wait.Parked) (list []string) {
	for _, word := range w.Words.Argv() {
		list = append(list, string(word))
	}
	return list
}

func (r *orderRun) describe(list []*waiting.Waiter) string {
	text := []string{fmt.Sprint("held by ", r.holders())}
	for _, w := range list {
		text = append(text, fmt.Sprint(w.Number(), ": ", strings.Join(words(wait.ParkedOf(w)), " ")))
	}
	return strings.Join(text, "\n")
}

// TestWaitersAreListedAsTheyAreGranted: readers, writers, upgrades, MLOCK and waits with NOTIFY in one
// queue, and waiters that are cancelled.
func TestWaitersAreListedAsTheyAreGranted(t *testing.T) {
	t.Parallel()
	seed, kinds := testkit.Seed(t), map[string]int{}
	for round := range 60 {
		srv := startWith(t, Options{Clock: NewManualClock(time.UnixMilli(1_750_000_000_000))}, nil)
		r := &orderRun{modelRun: modelRun{t: t, srv: srv, random: rand.New(rand.NewPCG(seed, uint64(round)))}, kinds: kinds}
		for range 10 {
			out := &recorder{}
			s, _ := srv.executor.open(out, transport.Peer{Local: &net.UnixAddr{Net: "unix"}, Remote: &net.UnixAddr{Net: "unix"}})
			require.NotNil(t, s)
			r.sessions, r.outputs = append(r.sessions, s), append(r.outputs, out)
		}
		for range 12 {
			for range 12 {
				r.build()
			}
			r.drain()
		}
		for _, s := range r.sessions {
			s.Close()
		}
	}
	t.Log(kinds)
	for _, kind := range []string{"LOCK", "LOCK SHARED", "LOCK NOTIFY", "LOCK SHARED NOTIFY", "MLOCK", "MLOCK SHARED", "MLOCK NOTIFY", "MLOCK SHARED NOTIFY"} {
		require.Positive(t, kinds[kind], kind)
	}
}
