package linearizability

import (
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"
)

// Tests of the model itself, with histories that are clearly right or wrong. Times are in milliseconds; the
// watchdog's lease is 90.

// at is an answered operation between two times.
func at(from, to int64, op operation) operation {
	op.call, op.ret = moment{from * 1e6, from}, moment{to*1e6 + 500_000, to}
	if op.conn == 0 {
		op.conn = 1
	}
	if op.keys == nil {
		op.keys = []int{0}
	}
	return op
}

// locked is a granted LOCK; px 0 means with the watchdog.
func locked(from, to int64, owner int, px, token int64) operation {
	return at(from, to, operation{kind: acquire, owner: owner, leaseMS: px, waitMS: noWait, values: []int64{token}})
}

// refused is a LOCK without WAIT and with the reply nil.
func refused(from, to int64, owner int) operation {
	return at(from, to, operation{kind: acquire, owner: owner, leaseMS: 50, waitMS: noWait, refused: true})
}

// gaveUp is a LOCK WAIT with the reply nil.
func gaveUp(from, to int64, owner int, wait int64) operation {
	return at(from, to, operation{kind: acquire, owner: owner, leaseMS: 50, waitMS: wait, refused: true})
}

// unlocked is an UNLOCK and its reply.
func unlocked(from, to int64, owner int, token, reply int64) operation {
	return at(from, to, operation{kind: release, owner: owner, token: token, values: []int64{reply}})
}

// renewed is a RENEW and its reply.
func renewed(from, to int64, owner int, px, reply int64) operation {
	return at(from, to, operation{kind: renew, owner: owner, leaseMS: px, values: []int64{reply}})
}

// looked is an HGETALL that shows a holder.
func looked(from, to int64, owner int, holds, token int64) operation {
	return at(from, to, operation{kind: look, holders: []seenHolder{{owner: owner, holds: holds, exclusive: holds, token: token}}})
}

// left is a PTTL and its reply.
func left(from, to, reply int64) operation {
	return at(from, to, operation{kind: ttl, values: []int64{reply}})
}

// on is the same operation over another connection.
func on(conn int, op operation) operation {
	op.conn = conn
	return op
}

// of is the same operation with other keys.
func of(op operation, values []int64, keys ...int) operation {
	op.keys = keys
	if op.values != nil {
		op.values = values
	}
	return op
}

// cut is the same operation without a reply.
func cut(op operation) operation {
	op.unknown, op.values = true, nil
	return op
}

// waits is the same operation with WAIT.
func waits(op operation, ms int64) operation {
	op.waitMS = ms
	return op
}

// shared is the same operation with SHARED, once the same with ONCE.
func shared(op operation) operation {
	op.shared = true
	return op
}

func once(op operation) operation {
	op.once = true
	return op
}

// attachedBy is a LOCK.ATTACH over a connection.
func attachedBy(from, to int64, conn, owner int) operation {
	op := on(conn, at(from, to, operation{kind: attach, owner: owner}))
	op.keys = nil
	return op
}

func TestModel(t *testing.T) {
	undone := func(from, to int64) operation {
		return at(from, to, operation{kind: takeBack, undoes: 2, unknown: true})
	}
	refusedBoth := func(from, to int64) operation { return of(refused(from, to, 2), nil, 0, 1) }
	for _, c := range []struct {
		name    string
		legal   bool
		history []operation
	}{
		{"one after the other", true, []operation{locked(0, 1, 1, 50, 7), unlocked(2, 3, 1, 0, 1), locked(4, 5, 2, 50, 8)}},
		{"two holders", false, []operation{locked(0, 1, 1, 50, 7), locked(4, 5, 2, 50, 8)}},
		{"two at once, one refused", true, []operation{locked(0, 9, 1, 50, 7), refused(0, 9, 2)}},
		{"refused while free", false, []operation{locked(0, 1, 1, 50, 7), unlocked(2, 3, 1, 0, 1), refused(4, 5, 2)}},
		{"refused before it was held", false, []operation{refused(0, 1, 2), locked(2, 3, 1, 50, 7)}},

		{"free when the lease ends", true, []operation{locked(0, 0, 1, 50, 7), locked(50, 50, 2, 50, 8)}},
		{"free a millisecond early", false, []operation{locked(0, 0, 1, 50, 7), locked(49, 49, 2, 50, 8)}},
		{"held until the lease ends", true, []operation{locked(0, 0, 1, 50, 7), refused(49, 49, 2)}},
		{"held when the lease ends", false, []operation{locked(0, 0, 1, 50, 7), refused(50, 50, 2)}},
		{"held where it may have ended", true, []operation{locked(0, 10, 1, 50, 7), refused(55, 55, 2), locked(56, 56, 3, 50, 8)}},
		{"free, then held again", false, []operation{locked(0, 10, 1, 50, 7), left(55, 55, -2), refused(56, 56, 2)}},
		{"a lease began before what came after it ended", false, []operation{of(locked(0, 90, 2, 50, 8), []int64{8}, 0), of(locked(5, 9, 3, 50, 9), []int64{9}, 1),
			refused(60, 60, 3)}},
		{"moments do not run backwards", false, []operation{locked(0, 20, 1, 50, 7), left(10, 10, 50), locked(59, 59, 2, 50, 8)}},

		{"the same token", false, []operation{locked(0, 1, 1, 50, 7), unlocked(2, 3, 1, 0, 1), locked(4, 5, 2, 50, 7)}},
		{"a lower token on another lock", false, []operation{locked(0, 1, 1, 50, 7), of(locked(2, 3, 2, 50, 6), []int64{6}, 1)}},
		{"tokens in the other order at once", true, []operation{locked(0, 9, 1, 50, 7), of(locked(0, 9, 2, 50, 6), []int64{6}, 1)}},

		{"re-entry", true, []operation{locked(0, 1, 1, 50, 7), locked(2, 3, 1, 50, 7), unlocked(4, 5, 1, 0, 0), unlocked(6, 7, 1, 0, 1)}},
		{"re-entry with a new token", false, []operation{locked(0, 1, 1, 50, 7), locked(2, 3, 1, 50, 8)}},
		{"re-entry that was forgotten", false, []operation{locked(0, 1, 1, 50, 7), locked(2, 3, 1, 50, 7), unlocked(4, 5, 1, 0, 1)}},
		{"re-entry begins the lease anew", true, []operation{locked(0, 0, 1, 50, 7), locked(20, 20, 1, 10, 7), locked(30, 30, 2, 50, 8)}},

		{"unlocked by another client", false, []operation{locked(0, 1, 1, 50, 7), unlocked(2, 3, 2, 0, 1)}},
		{"another client's unlock refused", true, []operation{locked(0, 1, 1, 50, 7), unlocked(2, 3, 2, 0, none), refused(4, 5, 2)}},
		{"another client's unlock takes effect", false, []operation{locked(0, 1, 1, 50, 7), unlocked(2, 3, 2, 0, none), locked(4, 5, 2, 50, 8)}},
		{"the holder's unlock refused", false, []operation{locked(0, 1, 1, 50, 7), unlocked(2, 3, 1, 0, none)}},
		{"an old token unlocks", false, []operation{locked(0, 1, 1, 50, 7), unlocked(2, 3, 1, 6, 1)}},
		{"an old token does not", true, []operation{locked(0, 1, 1, 50, 7), unlocked(2, 3, 1, 6, none), unlocked(4, 5, 1, 7, 1)}},

		{"renewed", true, []operation{locked(0, 0, 1, 50, 7), renewed(40, 40, 1, 50, 1), refused(89, 89, 2), locked(90, 90, 2, 50, 8)}},
		{"renewed for nothing", false, []operation{locked(0, 0, 1, 50, 7), renewed(40, 40, 1, 50, 1), locked(60, 60, 2, 50, 8)}},
		{"renewed too late", false, []operation{locked(0, 0, 1, 50, 7), renewed(50, 50, 1, 50, 1)}},
		{"renewed by another client", false, []operation{locked(0, 0, 1, 50, 7), renewed(10, 10, 2, 50, 1)}},
		{"the holder's renewal refused", false, []operation{locked(0, 0, 1, 50, 7), renewed(10, 10, 1, 50, 0)}},

		// Connection 2 lives until 200 and is gone from 210 on; connection 1 stays.
		{"the watchdog keeps it", true, []operation{on(2, locked(0, 0, 1, 0, 7)), refused(199, 199, 2)}},
		{"the watchdog does not", false, []operation{on(2, locked(0, 0, 1, 0, 7)), locked(199, 199, 2, 50, 8)}},
		{"free a lease after the connection", true, []operation{on(2, locked(0, 0, 1, 0, 7)), locked(260, 260, 2, 50, 8)}},
		{"free too soon after the connection", false, []operation{on(2, locked(0, 0, 1, 0, 7)), locked(258, 258, 2, 50, 8)}},
		{"held a lease after the connection", true, []operation{on(2, locked(0, 0, 1, 0, 7)), refused(299, 299, 2)}},
		{"renewed for a connection that is gone", false, []operation{on(2, locked(0, 0, 1, 0, 7)), refused(300, 300, 2)}},
		{"a lease of its own ends the watch", true, []operation{locked(0, 0, 1, 0, 7), renewed(10, 10, 1, 50, 1), locked(60, 60, 2, 50, 8)}},
		{"and the watch goes on", false, []operation{locked(0, 0, 1, 0, 7), renewed(10, 10, 1, 50, 1), refused(61, 61, 2)}},

		{"waited for it", true, []operation{locked(0, 0, 1, 500, 7), waits(locked(5, 30, 2, 50, 8), 100), unlocked(20, 31, 1, 0, 1)}},
		{"waited in vain", true, []operation{locked(0, 0, 1, 500, 7), gaveUp(5, 105, 2, 100), unlocked(110, 111, 1, 0, 1)}},
		{"waited and was forgotten", false, []operation{locked(0, 0, 1, 500, 7), gaveUp(5, 107, 2, 100), unlocked(20, 21, 1, 0, 1)}},
		{"freed while its time was up", true, []operation{locked(0, 0, 1, 500, 7), gaveUp(5, 107, 2, 100), unlocked(104, 106, 1, 0, 1)}},
		{"freed and its time up in one millisecond", true, []operation{locked(0, 0, 1, 105, 7), gaveUp(5, 105, 2, 100), locked(105, 105, 3, 50, 8)}},

		{"cut off, and it was granted", true, []operation{cut(locked(0, 5, 1, 50, 0)), refused(6, 6, 2), locked(55, 55, 2, 50, 8)}},
		{"cut off, and it was not", true, []operation{cut(locked(0, 5, 1, 50, 0)), locked(6, 6, 2, 50, 8)}},
		{"cut off, granted and free too soon", false, []operation{cut(locked(0, 5, 1, 50, 0)), refused(6, 6, 2), locked(49, 49, 2, 50, 8)}},
		{"granted to the dead", false, []operation{locked(0, 0, 1, 20, 7), on(2, waits(cut(locked(1, 10, 2, 50, 0)), 0)), refused(21, 21, 3)}},
		{"cut off, and taken back", true, []operation{locked(0, 0, 1, 90, 7), on(2, waits(cut(locked(1, 10, 2, 50, 0)), 0)),
			undone(1, 10), unlocked(4, 4, 1, 0, 1), refused(5, 5, 3), locked(8, 8, 3, 50, 9)}},
		{"taken back too late", false, []operation{locked(0, 0, 1, 90, 7), on(2, waits(cut(locked(1, 10, 2, 50, 0)), 0)),
			undone(1, 10), unlocked(4, 4, 1, 0, 1), refused(12, 12, 3), locked(13, 13, 3, 50, 9)}},
		{"cut off, then its token shows", true, []operation{cut(locked(0, 5, 1, 50, 0)), locked(6, 7, 1, 50, 9), of(locked(8, 8, 2, 9, 10), []int64{10}, 1)}},
		{"cut off, then a token from later", false, []operation{cut(locked(0, 5, 1, 50, 0)), refused(6, 6, 2), of(locked(7, 7, 2, 9, 8), []int64{8}, 1), locked(8, 8, 1, 50, 9)}},

		{"several", true, []operation{of(locked(0, 0, 1, 50, 7), []int64{7, 8}, 0, 1), refused(5, 5, 2), of(refused(6, 6, 2), nil, 1)}},
		{"several, but not all", false, []operation{of(locked(0, 0, 1, 50, 7), []int64{7, 8}, 0, 1), of(locked(5, 5, 2, 50, 9), []int64{9}, 1)}},
		{"several refused because of one", true, []operation{locked(0, 0, 1, 50, 7), refusedBoth(5, 5), of(locked(6, 6, 2, 50, 8), []int64{8}, 1)}},
		{"several refused because of none", false, []operation{refusedBoth(5, 5)}},
		{"several refused, and one kept", false, []operation{locked(0, 0, 1, 50, 7), refusedBoth(5, 5), of(refused(6, 6, 3), nil, 1)}},
		{"several given back", true, []operation{of(locked(0, 0, 1, 50, 7), []int64{7, 8}, 0, 1), locked(1, 1, 1, 50, 7),
			of(unlocked(2, 2, 1, 0, 1), []int64{0, 1, none}, 0, 1, 2)}},

		{"two readers", true, []operation{shared(locked(0, 1, 1, 50, 7)), shared(locked(2, 3, 2, 50, 8)), unlocked(4, 4, 1, 0, 1), refused(5, 5, 3)}},
		{"a writer beside a reader", false, []operation{shared(locked(0, 1, 1, 50, 7)), locked(2, 3, 2, 50, 8)}},
		{"a reader beside a writer", false, []operation{locked(0, 1, 1, 50, 7), shared(locked(2, 3, 2, 50, 8))}},
		{"a reader refused for a reader", false, []operation{shared(locked(0, 1, 1, 50, 7)), shared(refused(2, 3, 2))}},
		{"a reader refused for a reader that waits", false, []operation{shared(locked(0, 0, 1, 90, 7)), shared(gaveUp(2, 42, 2, 40)), shared(refused(10, 10, 3))}},
		{"free for a writer when the last lease ends", true, []operation{shared(locked(0, 0, 1, 50, 7)), shared(locked(1, 1, 2, 20, 8)), refused(49, 49, 3),
			locked(50, 50, 3, 50, 9)}},
		{"up", true, []operation{shared(locked(0, 0, 1, 50, 7)), locked(1, 1, 1, 50, 8), shared(refused(2, 2, 2))}},
		{"up with the old token", false, []operation{shared(locked(0, 0, 1, 50, 7)), locked(1, 1, 1, 50, 7)}},
		{"up beside another", false, []operation{shared(locked(0, 0, 1, 50, 7)), shared(locked(0, 0, 2, 50, 8)), locked(1, 1, 1, 50, 9)}},
		{"down", true, []operation{locked(0, 0, 1, 50, 7), shared(locked(1, 1, 1, 50, 7)), unlocked(2, 2, 1, 0, 0), shared(locked(3, 3, 2, 50, 8)), refused(4, 4, 3)}},
		{"down, and a writer comes in", false, []operation{locked(0, 0, 1, 50, 7), shared(locked(1, 1, 1, 50, 7)), unlocked(2, 2, 1, 0, 0), locked(3, 3, 2, 50, 8)}},
		{"a shared hold that there is not", true, []operation{locked(0, 0, 1, 50, 7), shared(unlocked(1, 1, 1, 0, none))}},

		{"once", true, []operation{locked(0, 0, 1, 50, 7), once(locked(1, 1, 1, 50, 7)), unlocked(2, 2, 1, 0, 1)}},
		{"once, and counted", false, []operation{locked(0, 0, 1, 50, 7), once(locked(1, 1, 1, 50, 7)), unlocked(2, 2, 1, 0, 0)}},
		{"once of each kind", true, []operation{once(locked(0, 0, 1, 50, 7)), once(shared(locked(1, 1, 1, 50, 7))), unlocked(2, 2, 1, 0, 0)}},

		// Connection 3 lives until 400 and is gone from 410 on.
		{"attached keeps it", true, []operation{on(2, locked(0, 0, 1, 0, 7)), attachedBy(1, 1, 3, 1), refused(399, 399, 2), locked(500, 500, 2, 50, 8)}},
		{"attached does not", false, []operation{on(2, locked(0, 0, 1, 0, 7)), attachedBy(1, 1, 3, 1), locked(310, 310, 2, 50, 8)}},
		{"attached to another", true, []operation{on(2, locked(0, 0, 1, 0, 7)), attachedBy(1, 1, 3, 2), locked(310, 310, 2, 50, 8)}},
		{"attached keeps no lease of its own", true, []operation{on(2, locked(0, 0, 1, 50, 7)), attachedBy(1, 1, 3, 1), locked(50, 50, 2, 50, 8)}},
		{"attached once more", true, []operation{on(2, locked(0, 0, 1, 0, 7)), attachedBy(250, 250, 3, 1), refused(399, 399, 2)}},
		{"detached, and kept", false, []operation{on(2, locked(0, 0, 1, 0, 7)), attachedBy(1, 1, 3, 1),
			on(3, at(220, 220, operation{kind: detach, owner: 1})), refused(310, 310, 2)}},

		{"seen", true, []operation{locked(0, 0, 1, 50, 7), looked(1, 1, 1, 1, 7), left(10, 10, 40)}},
		{"seen another", false, []operation{locked(0, 0, 1, 50, 7), looked(1, 1, 2, 1, 7)}},
		{"seen another token", false, []operation{locked(0, 0, 1, 50, 7), looked(1, 1, 1, 1, 8)}},
		{"a lease that is too long", false, []operation{locked(0, 0, 1, 50, 7), left(10, 10, 41)}},
		{"a lease that was read", false, []operation{locked(0, 20, 1, 50, 7), left(20, 20, 40), refused(61, 61, 2)}},
		{"a watched lease", true, []operation{locked(0, 0, 1, 0, 7), left(100, 100, 59)}},
		{"a watched lease that is too short", false, []operation{locked(0, 0, 1, 0, 7), left(100, 100, 57)}},
		{"a watched lease that is too long", false, []operation{locked(0, 0, 1, 0, 7), left(100, 100, 91)}},

		{"removed", true, []operation{locked(0, 0, 1, 50, 7), at(1, 1, operation{kind: remove, values: []int64{1}}), locked(2, 2, 2, 50, 8)}},
		{"forced without a holder", false, []operation{at(1, 1, operation{kind: force, values: []int64{1}})}},
		{"all flushed", true, []operation{locked(0, 0, 1, 50, 7), at(1, 1, operation{kind: flush}), locked(2, 2, 2, 50, 8)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := model{watchdogMS: 90, lives: []life{{}, {ever, ever}, {200, 210}, {400, 410}}}
			w := &world{time: &timeline{}}
			var ops []porcupine.Operation
			for i := range c.history {
				op := &c.history[i]
				ops = append(ops, porcupine.Operation{Input: op, Call: op.call.ns, Return: op.ret.ns})
				w.history = append(w.history, op)
			}
			want := porcupine.Illegal
			if c.legal {
				want = porcupine.Ok
			}
			require.Equal(t, want, porcupine.CheckOperationsTimeout(m.porcupine(), ops, time.Second))
			require.Equal(t, want, porcupine.CheckOperationsTimeout(m.porcupine(), w.operations(), time.Second), "in narrow windows")
		})
	}
}

// TestModelExcusesWhatAnMLOCKWaitsFor: a key is kept for an MLOCK that waits for it, but only while it waits.
func TestModelExcusesWhatAnMLOCKWaitsFor(t *testing.T) {
	held := locked(0, 0, 1, 90, 7)
	waiting := of(gaveUp(5, 45, 2, 40), nil, 0, 1)
	for name, c := range map[string]struct {
		other   operation
		excused bool
	}{
		"while it waits":    {of(refused(20, 20, 3), nil, 1), true},
		"before it waited":  {of(refused(2, 2, 3), nil, 1), false},
		"after it waited":   {of(refused(50, 50, 3), nil, 1), false},
		"another key":       {of(refused(20, 20, 3), nil, 2), false},
		"gave up after":     {of(gaveUp(20, 60, 3, 39), nil, 1), false},
		"gave up meanwhile": {of(gaveUp(20, 44, 3, 24), nil, 1), true},
		"to share":          {of(shared(refused(20, 20, 3)), nil, 1), true},
	} {
		t.Run(name, func(t *testing.T) {
			w := &world{time: &timeline{}, history: []*operation{&held, &waiting, &c.other}}
			want := porcupine.Illegal
			if c.excused {
				want = porcupine.Ok
			}
			m := model{watchdogMS: 90, lives: []life{{}, {ever, ever}}}
			require.Equal(t, want, porcupine.CheckOperationsTimeout(m.porcupine(), w.operations(), time.Second))
		})
	}
}

// TestWindowOfAManualClock: if an operation waited until the clock showed some time, it cannot have ended
// before the clock began to move there.
func TestWindowOfAManualClock(t *testing.T) {
	tl := newTimeline(true)
	tl.steps = []moment{{100, 0}, {200, 3}, {300, 3}, {400, 9}}
	for ms, ns := range map[int64]int64{0: 0, 1: 200, 3: 200, 4: 400, 9: 400, 10: 0} {
		require.Equal(t, ns, tl.earliestNS(ms), "%d ms", ms)
	}
	tl.manual = nil
	require.EqualValues(t, 7e6, tl.earliestNS(7))
}

// TestModelOfAQueue: no later client passes a waiter that was seen in a queue, except an owner that already
// has a part of the lock.
func TestModelOfAQueue(t *testing.T) {
	reader := on(2, shared(locked(0, 0, 1, 90, 7)))
	writer := on(3, waits(locked(1, 30, 2, 50, 9), 100))
	seen := at(5, 5, operation{kind: inform, holders: []seenHolder{{owner: 1, holds: 1, token: 7}}, waiting: []string{"33"}})
	gone := on(2, unlocked(25, 25, 1, 0, 1))
	for name, c := range map[string]struct {
		other operation
		legal bool
	}{
		"a reader passes":            {shared(locked(10, 10, 3, 10, 8)), false},
		"it came before":             {shared(locked(3, 10, 3, 10, 8)), true},
		"the reader enters again":    {shared(locked(10, 10, 1, 500, 7)), true},
		"a reader comes when it may": {shared(waits(locked(10, 85, 3, 10, 11), 90)), true},
	} {
		t.Run(name, func(t *testing.T) {
			before, waiting, look, end, other := reader, writer, seen, gone, c.other
			w := &world{time: &timeline{}, history: []*operation{&before, &waiting, &look, &end, &other}}
			if name == "the reader enters again" {
				end.values, waiting.ret = []int64{0}, moment{120e6, 120}
				waiting.values, waiting.refused = nil, true
			}
			for _, id := range []string{"11", "22", "33"} {
				w.conns = append(w.conns, &connection{id: id})
			}
			m := model{watchdogMS: 90, lives: []life{{}, {ever, ever}, {ever, ever}, {ever, ever}}}
			want := porcupine.Illegal
			if c.legal {
				want = porcupine.Ok
			}
			require.Equal(t, want, porcupine.CheckOperationsTimeout(m.porcupine(), w.operations(), time.Second))
		})
	}
}

// TestModelExcusesWhoStandsBehindAWriter: a reader is refused beside another reader only while an exclusive
// waiter is in the queue.
func TestModelExcusesWhoStandsBehindAWriter(t *testing.T) {
	held := shared(locked(0, 0, 1, 90, 7))
	for name, c := range map[string]struct {
		waiting operation
		excused bool
	}{
		"a writer waits":  {gaveUp(5, 45, 2, 40), true},
		"a reader waits":  {shared(gaveUp(5, 45, 2, 40)), false},
		"it waited later": {gaveUp(30, 70, 2, 40), false},
	} {
		t.Run(name, func(t *testing.T) {
			other := shared(refused(20, 20, 3))
			w := &world{time: &timeline{}, history: []*operation{&held, &other, &c.waiting}}
			excused := porcupine.Illegal
			if c.excused {
				excused = porcupine.Ok
			}
			m := model{watchdogMS: 90, lives: []life{{}, {ever, ever}}}
			require.Equal(t, excused, porcupine.CheckOperationsTimeout(m.porcupine(), w.operations(), time.Second))
		})
	}
}
