//go:build raft && linux

package moves

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// slackUS limits the difference between the clocks of a server and of this process, during a lease.
const slackUS = 5000

// tenure is the time in which an owner held a lock. Each owner takes a lock once.
type tenure struct {
	take event
	ends int64 // until when the lease lasts at least
	left int64 // when it was released first, perhaps without a reply
}

// until returns the time until which the owner holds the lock for certain.
func (t *tenure) until() int64 { return min(t.ends, t.left) - slackUS }

// tenures returns the tenures of a history by owner, and what the owners were refused while they held the
// lock for certain. The events of an owner are in their order.
func tenures(all []event) (of map[string]*tenure, faults []string) {
	of = map[string]*tenure{}
	for _, e := range all {
		if e.act == take && e.outcome == done && e.n > 0 {
			t := &tenure{take: e, left: math.MaxInt64}
			if e.leaseUS > 0 {
				t.ends = e.call + e.leaseUS
			}
			of[e.id] = t
		}
	}
	for _, e := range all {
		t := of[e.id]
		if t == nil || e.act == take {
			continue
		}
		denied := e.outcome == refused || e.outcome == done && e.n == 0
		if denied && e.ret < t.until() {
			faults = append(faults, fmt.Sprintf("%s lost the lock within its lease: %s is refused before %.3f ms", e.id, e.act, float64(t.until())/1000))
		}
		switch {
		case e.act == release:
			t.left = min(t.left, e.first)
		case e.act == renew && e.outcome == done && e.n == 1:
			t.ends = max(t.ends, e.call+e.leaseUS)
		}
	}
	return of, faults
}

// judgeLock returns what is wrong with the history of a lock. The owners wrote with their tokens: to list
// the token, and to sum the number before plus one.
func judgeLock(all []event, list []int64, sum int64) (faults []string) {
	of, faults := tenures(all)
	var byToken []*tenure
	for _, t := range of {
		byToken = append(byToken, t)
	}
	slices.SortFunc(byToken, func(a, b *tenure) int {
		return int(max(-1, min(1, a.take.n-b.take.n)))
	})
	var longest, last *tenure
	for _, t := range byToken {
		if last != nil && last.take.n == t.take.n {
			faults = append(faults, fmt.Sprintf("%s and %s have the same token %d", last.take.id, t.take.id, t.take.n))
		}
		if longest != nil && t.take.ret < longest.until() {
			faults = append(faults, fmt.Sprintf("two holders: %s has the lock at %.3f ms, and %s holds it until %.3f ms",
				t.take.id, float64(t.take.ret)/1000, longest.take.id, float64(longest.until())/1000))
		}
		if longest == nil || t.until() > longest.until() {
			longest = t
		}
		last = t
	}
	faults = append(faults, tokensFall(byToken)...)
	faults = append(faults, queueOrder(byToken)...)
	return append(faults, judgeWrites(all, of, list, sum)...)
}

// tokensFall returns the owners with a lower token than an owner that was given the lock before they asked.
func tokensFall(byToken []*tenure) (faults []string) {
	var earliest *tenure // the first owner with a higher token
	for _, t := range slices.Backward(byToken) {
		if earliest != nil && earliest.take.ret < t.take.first {
			faults = append(faults, fmt.Sprintf("tokens fall: %s has %d, and later %s has %d", earliest.take.id, earliest.take.n, t.take.id, t.take.n))
		}
		if earliest == nil || t.take.ret < earliest.take.ret {
			earliest = t
		}
	}
	return faults
}

// queueOrder returns the owners that were granted the lock before an earlier waiter. A
// wait that was asked again may have a new place.
func queueOrder(byToken []*tenure) (faults []string) {
	var passed *tenure // of the owners with a lower token, the last to ask
	for _, t := range byToken {
		if passed != nil && !t.take.again && t.take.queuedUS > 0 && t.take.queuedUS < passed.take.first {
			faults = append(faults, fmt.Sprintf("the queue is out of order: %s was queued before %s asked, and was granted later", t.take.id, passed.take.id))
		}
		if t.take.times <= 1 && (passed == nil || t.take.first > passed.take.first) {
			passed = t
		}
	}
	return faults
}

// judgeWrites compares what was written with tokens with what is there.
func judgeWrites(all []event, of map[string]*tenure, list []int64, sum int64) (faults []string) {
	times := map[int64]int{}
	for i, token := range list {
		times[token]++
		if i > 0 && token < list[i-1] {
			faults = append(faults, fmt.Sprintf("a stale token wrote: %d behind %d", token, list[i-1]))
		}
	}
	acked, asked := int64(0), int64(0)
	for _, e := range all {
		t := of[e.id]
		switch {
		case e.act == write && t != nil:
			is := times[t.take.n]
			if e.outcome == done && is != 1 || e.outcome == refused && is != 0 {
				faults = append(faults, fmt.Sprintf("the write of %s with %d is %s, and is there %d times", e.id, t.take.n, e.outcome, is))
			}
		case e.act == number && e.outcome != refused:
			asked++
			if e.outcome == done {
				acked++
			}
		}
	}
	if sum < acked || sum > asked {
		faults = append(faults, fmt.Sprintf("the guarded number is %d: %d additions were acknowledged, and %d have no reply", sum, acked, asked-acked))
	}
	return faults
}

// judgeLeases returns what is wrong with keys that were set with a time to live, and looked at.
func judgeLeases(all []event) (faults []string) {
	set := map[string]event{}
	for _, e := range all {
		switch {
		case e.act == keep && e.outcome == done:
			set[e.id] = e
		case e.act == look && e.outcome == done && e.n == 0:
			if s, ok := set[e.id]; ok && e.ret < s.call+s.leaseUS-slackUS {
				faults = append(faults, fmt.Sprintf("%s is gone %.3f ms before its time", e.id, float64(s.call+s.leaseUS-e.ret)/1000))
			}
		}
	}
	return faults
}

// held is an event of an owner that takes a lock.
func held(owner string, token, call, ret, leaseMS int64) event {
	return event{act: take, id: owner, n: token, first: call, call: call, ret: ret, leaseUS: leaseMS * 1000}
}

// at returns an event with a reply.
func at(a act, id string, n, call, ret int64) event {
	return event{act: a, id: id, n: n, first: call, call: call, ret: ret}
}

// with changes an event.
func with(e event, change func(*event)) event {
	change(&e)
	return e
}

func TestLocksAreJudged(t *testing.T) {
	never := func(e *event) { e.outcome = unknown }
	no := func(e *event) { e.outcome = refused }
	queued := func(at int64) func(*event) { return func(e *event) { e.queuedUS = at } }
	for name, c := range map[string]struct {
		all  []event
		list []int64
		sum  int64
		says string
	}{
		"in turn": {all: []event{held("a", 1, 0, 10, 100), at(release, "a", 1, 50_000, 50_010), held("b", 2, 20, 50_005, 100)}},
		"two holders": {all: []event{held("a", 1, 0, 10, 100), held("b", 2, 20, 30, 100)},
			says: "two holders: b has the lock at 0.030 ms, and a holds it until 95.000 ms"},
		"a lease that ended": {all: []event{held("a", 1, 0, 10, 100), held("b", 2, 20, 99_999, 100)}},
		"a lease that was renewed": {all: []event{held("a", 1, 0, 10, 100), with(at(renew, "a", 1, 50_000, 50_100), func(e *event) { e.leaseUS = 200_000 }),
			held("b", 2, 20, 150_000, 100)}, says: "two holders"},
		"a release without a reply": {all: []event{held("a", 1, 0, 10, 100), with(at(release, "a", 0, 50, 60), never), held("b", 2, 20, 70, 100)}},
		"a token that falls":        {all: []event{held("a", 5, 0, 10, 0), held("b", 4, 20, 30, 0)}, says: "tokens fall: a has 5, and later b has 4"},
		"tokens of two at a time":   {all: []event{held("a", 5, 0, 40, 0), held("b", 4, 20, 30, 0)}},
		"a token twice":             {all: []event{held("a", 5, 0, 10, 0), held("b", 5, 0, 10, 0)}, says: "have the same token 5"},
		"a lock that is lost":       {all: []event{held("a", 1, 0, 10, 100), at(renew, "a", 0, 20, 30)}, says: "a lost the lock within its lease: renew"},
		"a lock that has ended":     {all: []event{held("a", 1, 0, 10, 100), at(renew, "a", 0, 20, 100_000)}},
		"a release that is refused": {all: []event{held("a", 1, 0, 10, 100), at(release, "a", 0, 20, 30)}, says: "a lost the lock within its lease: release"},
		"a guard that is refused":   {all: []event{held("a", 1, 0, 10, 100), with(at(write, "a", 0, 20, 30), no)}, says: "lost the lock"},
		"a queue out of order": {all: []event{with(held("a", 2, 0, 100, 0), queued(5)), with(held("b", 1, 10, 50, 0), queued(15))},
			says: "the queue is out of order: a was queued before b asked"},
		"a place that was asked for again": {all: []event{with(with(held("a", 2, 0, 100, 0), queued(5)), func(e *event) { e.again = true }),
			with(held("b", 1, 10, 50, 0), queued(15))}},
		"a queue in order":              {all: []event{with(held("a", 1, 0, 100, 0), queued(5)), with(held("b", 2, 10, 150, 0), queued(15))}},
		"a write of a stale token":      {list: []int64{1, 3, 2}, says: "a stale token wrote: 2 behind 3"},
		"a write that is lost":          {all: []event{held("a", 1, 0, 10, 0), at(write, "a", 1, 20, 30)}, says: "the write of a with 1 is done, and is there 0 times"},
		"a write that was refused":      {all: []event{held("a", 1, 0, 10, 0), with(at(write, "a", 1, 20, 30), no)}, list: []int64{1}, says: "is refused, and is there 1 times"},
		"a write twice":                 {all: []event{held("a", 1, 0, 10, 0), at(write, "a", 1, 20, 30)}, list: []int64{1, 1}, says: "is there 2 times"},
		"a guarded number that is lost": {all: []event{held("a", 1, 0, 10, 0), at(number, "a", 1, 20, 30)}, says: "the guarded number is 0: 1 additions"},
		"a guarded number too high":     {all: []event{held("a", 1, 0, 10, 0), with(at(number, "a", 1, 20, 30), never)}, sum: 2, says: "the guarded number is 2"},
		"a number without a reply":      {all: []event{held("a", 1, 0, 10, 0), with(at(number, "a", 1, 20, 30), never)}, sum: 1},
	} {
		t.Run(name, func(t *testing.T) { says(t, c.says, judgeLock(c.all, c.list, c.sum)) })
	}
}

// says fails if the first fault does not say what it must; empty: there must be none.
func says(t *testing.T, want string, faults []string) {
	t.Helper()
	if want == "" {
		require.Empty(t, faults)
		return
	}
	require.NotEmpty(t, faults)
	require.Contains(t, faults[0], want)
}

func TestLeasesAreJudged(t *testing.T) {
	set := with(at(keep, "k", 1, 0, 10), func(e *event) { e.leaseUS = 100_000 })
	says(t, "", judgeLeases([]event{set, at(look, "k", 1, 50, 60), at(look, "k", 0, 50, 100_000)}))
	says(t, "k is gone 60.000 ms before its time", judgeLeases([]event{set, at(look, "k", 0, 20, 40_000)}))
}
