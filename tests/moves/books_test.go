//go:build raft && linux

package moves

import (
	"fmt"
	"slices"
	"testing"
)

// judgeCount returns what is wrong with a number that clients count up. The argument is has the number at
// the end.
func judgeCount(all []event, is int64) (faults []string) {
	acked, asked := int64(0), int64(0)
	seen := map[int64]string{}
	byCall := slices.Clone(all)
	slices.SortFunc(byCall, func(a, b event) int { return int(a.first - b.first) })
	byRet := slices.DeleteFunc(slices.Clone(all), func(e event) bool { return e.outcome != done || e.act != count })
	slices.SortFunc(byRet, func(a, b event) int { return int(a.ret - b.ret) })
	var most event // the highest number that was answered before a request was sent
	for _, e := range byCall {
		for ; len(byRet) > 0 && byRet[0].ret < e.first; byRet = byRet[1:] {
			if byRet[0].n > most.n {
				most = byRet[0]
			}
		}
		if e.act == read {
			if e.outcome == done && e.n < most.n {
				faults = append(faults, fmt.Sprintf("%s has read %d, and before %s had %d: the read is old", e.id, e.n, most.id, most.n))
			}
			continue
		}
		if e.outcome == refused {
			continue
		}
		asked++
		if e.outcome == unknown {
			continue
		}
		acked++
		if other, twice := seen[e.n]; twice {
			faults = append(faults, fmt.Sprintf("the number %d was given to %s and to %s", e.n, other, e.id))
		}
		seen[e.n] = e.id
		if e.n <= most.n {
			faults = append(faults, fmt.Sprintf("%s has %d, and before %s had %d: an addition is lost", e.id, e.n, most.id, most.n))
		}
	}
	if is < acked || is > asked {
		faults = append(faults, fmt.Sprintf("the number is %d: %d additions were acknowledged, and %d have no reply", is, acked, asked-acked))
	}
	return faults
}

// judgeLog returns what is wrong with a list to which each value was pushed once. list is its content.
func judgeLog(all []event, list []string) (faults []string) {
	times, known := map[string]int{}, map[string]bool{}
	for _, id := range list {
		times[id]++
	}
	for _, e := range all {
		known[e.id] = true
		switch is := times[e.id]; {
		case is > 1:
			faults = append(faults, fmt.Sprintf("%s is there %d times", e.id, is))
		case e.outcome == done && is == 0:
			faults = append(faults, e.id+" was acknowledged, and is lost")
		case e.outcome == refused && is > 0:
			faults = append(faults, e.id+" was refused, and is there")
		}
	}
	for _, id := range list {
		if !known[id] {
			faults = append(faults, stray(id))
		}
	}
	return faults
}

func stray(id string) string { return id + " is there, and nobody has sent it" }

// The replies of SECKILL.
const (
	sold      = 0
	takenBack = 5
)

// books holds the numbers and streams of a sale at the end.
type books struct {
	stock, total int64
	orders       []string // in the stream
	cancelled    []string // in the stream of cancelled orders
}

// judgeSale returns what is wrong with a sale that has more pieces than orders. An order is sold at the first
// request. It may be confirmed or cancelled later. holdUS is how long it is held before it is taken back; 0:
// for ever. All requests had a reply, or the client has given up.
func judgeSale(all []event, holdUS int64, has books) (faults []string) {
	type record struct{ sold, undone, confirmed, doubt bool }
	of, soldAt := map[string]*record{}, map[string]int64{}
	for _, e := range all {
		r := of[e.id]
		if r == nil {
			r = &record{}
			of[e.id] = r
		}
		if e.outcome != done {
			r.doubt = true
			continue
		}
		since, known := soldAt[e.id]
		over := holdUS > 0 && known && e.ret >= since+holdUS-slackUS // its hold may have ended
		switch {
		case e.act == order && e.n == sold && !r.undone:
			if !known {
				soldAt[e.id] = e.first
			}
			r.sold = true
		case e.act == order && e.n == takenBack && (r.undone || over && !r.confirmed || holdUS > 0 && !known && e.times > 1):
			r.undone = true
		case e.act == order:
			faults = append(faults, fmt.Sprintf("the order %s has the answer %d, and was sold: %v, taken back: %v", e.id, e.n, r.sold, r.undone))
		case e.act == undo && e.n == 1 && r.sold && !r.undone && !r.confirmed:
			r.undone = true
		case e.act == undo && e.n == 0 && e.times > 1 && !r.confirmed: // an earlier request without a reply has done it
			r.undone = true
		case e.act == confirm && e.n == 1 && r.sold && !r.undone:
			r.confirmed = true
		case e.act == confirm && e.n == 0 && (over || e.times > 1 || r.undone):
			r.doubt = true // the stream tells which
		case e.n == 0 && over:
			r.undone = true
		default:
			faults = append(faults, fmt.Sprintf("%s of the order %s has the answer %d: sold %v, taken back %v, confirmed %v", e.act, e.id, e.n, r.sold, r.undone, r.confirmed))
		}
	}
	sales, back := map[string]int{}, map[string]int{}
	for _, id := range has.orders {
		sales[id]++
	}
	for _, id := range has.cancelled {
		back[id]++
	}
	for id, r := range of {
		switch {
		case sales[id] > 1 || back[id] > 1:
			faults = append(faults, fmt.Sprintf("the order %s is in the stream %d times, and taken back %d times", id, sales[id], back[id]))
		case r.sold && sales[id] == 0:
			faults = append(faults, fmt.Sprintf("the order %s was sold, and is lost", id))
		case r.undone && holdUS == 0 && back[id] == 0, r.confirmed && back[id] > 0:
			faults = append(faults, fmt.Sprintf("the order %s: taken back %v, confirmed %v, and in the stream of cancelled orders %d times", id, r.undone, r.confirmed, back[id]))
		case back[id] > 0 && !r.undone && !r.doubt && holdUS == 0:
			faults = append(faults, fmt.Sprintf("the order %s was taken back by nobody", id))
		}
	}
	if has.stock != has.total-int64(len(has.orders)-len(has.cancelled)) {
		faults = append(faults, fmt.Sprintf("the stock is %d of %d, after %d orders of which %d were taken back", has.stock, has.total, len(has.orders), len(has.cancelled)))
	}
	return faults
}

// added is an entry of a stream of delayed entries.
type added struct {
	id   string
	atMS int64
}

// judgeDelays returns what is wrong with delayed entries. stream holds the entries that were added, and
// nothing is pending.
func judgeDelays(all []event, stream []added) (faults []string) {
	at := map[string][]int64{}
	for _, a := range stream {
		at[a.id] = append(at[a.id], a.atMS)
	}
	dropped, due := map[string]bool{}, map[string]int64{}
	for _, e := range all {
		if e.act == drop && e.outcome == done {
			dropped[e.id] = e.n == 1
			if e.n == 1 && len(at[e.id]) > 0 {
				faults = append(faults, fmt.Sprintf("the entry %s was cancelled, and is there", e.id))
			}
		}
	}
	for _, e := range all {
		if e.act != plan {
			continue
		}
		due[e.id] = e.n
		is := at[e.id]
		switch {
		case len(is) > 1:
			faults = append(faults, fmt.Sprintf("the entry %s was added %d times", e.id, len(is)))
		case len(is) == 1 && is[0] < e.n:
			faults = append(faults, fmt.Sprintf("the entry %s was added %d ms before it was due", e.id, e.n-is[0]))
		case len(is) == 0 && e.outcome == done && !dropped[e.id] && !doubtful(all, e.id):
			faults = append(faults, fmt.Sprintf("the entry %s was acknowledged, and is lost", e.id))
		}
	}
	for id := range at {
		if _, known := due[id]; !known {
			faults = append(faults, stray(id))
		}
	}
	return faults
}

// doubtful reports whether the entry may have been cancelled by a request without a reply.
func doubtful(all []event, id string) bool {
	return slices.ContainsFunc(all, func(e event) bool { return e.id == id && e.act == drop && e.outcome == unknown })
}

func TestBooksAreJudged(t *testing.T) {
	never := func(e *event) { e.outcome = unknown }
	again := func(e *event) { e.times = 2 }
	for name, c := range map[string]struct {
		faults []string
		says   string
	}{
		"counted":                  {judgeCount([]event{at(count, "a", 1, 0, 1), at(count, "b", 2, 2, 3)}, 2), ""},
		"a number that is lost":    {judgeCount([]event{at(count, "a", 1, 0, 1), at(count, "b", 1, 2, 3)}, 1), "given to a and to b"},
		"a number that falls":      {judgeCount([]event{at(count, "a", 2, 0, 1), at(count, "b", 1, 2, 3)}, 2), "b has 1, and before a had 2"},
		"a number too low":         {judgeCount([]event{at(count, "a", 1, 0, 1), at(count, "b", 2, 2, 3)}, 1), "the number is 1: 2 additions"},
		"a number counted twice":   {judgeCount([]event{at(count, "a", 1, 0, 1), with(at(count, "b", 0, 2, 3), never)}, 3), "the number is 3"},
		"a number of no reply":     {judgeCount([]event{at(count, "a", 1, 0, 1), with(at(count, "b", 0, 2, 3), never)}, 2), ""},
		"an old read":              {judgeCount([]event{at(count, "a", 1, 0, 1), at(read, "b", 0, 2, 3)}, 1), "b has read 0, and before a had 1: the read is old"},
		"a read of its time":       {judgeCount([]event{at(count, "a", 1, 0, 3), at(read, "b", 0, 2, 4), at(read, "b", 1, 5, 6)}, 1), ""},
		"numbers at the same time": {judgeCount([]event{at(count, "a", 2, 0, 5), at(count, "b", 1, 1, 6)}, 2), ""},

		"pushed":                 {judgeLog([]event{at(push, "a", 1, 0, 1), with(at(push, "b", 0, 0, 1), never)}, []string{"a"}), ""},
		"a value that is lost":   {judgeLog([]event{at(push, "a", 1, 0, 1)}, nil), "a was acknowledged, and is lost"},
		"a value twice":          {judgeLog([]event{with(at(push, "a", 1, 0, 1), never)}, []string{"a", "a"}), "a is there 2 times"},
		"a value of nobody":      {judgeLog(nil, []string{"x"}), "nobody has sent it"},
		"a value that was not":   {judgeLog([]event{with(at(push, "a", 1, 0, 1), func(e *event) { e.outcome = refused })}, []string{"a"}), "refused, and is there"},
		"sold":                   {judgeSale([]event{at(order, "a", 0, 0, 1), at(order, "a", 0, 2, 3)}, 0, books{9, 10, []string{"a"}, nil}), ""},
		"an order that changes":  {judgeSale([]event{at(order, "a", 0, 0, 1), at(order, "a", 5, 2, 3)}, 0, books{9, 10, []string{"a"}, nil}), "the order a has the answer 5"},
		"an order that is lost":  {judgeSale([]event{at(order, "a", 0, 0, 1)}, 0, books{10, 10, nil, nil}), "the order a was sold, and is lost"},
		"an order twice":         {judgeSale([]event{at(order, "a", 0, 0, 1)}, 0, books{8, 10, []string{"a", "a"}, nil}), "in the stream 2 times"},
		"a stock that is wrong":  {judgeSale([]event{at(order, "a", 0, 0, 1)}, 0, books{8, 10, []string{"a"}, nil}), "the stock is 8 of 10"},
		"cancelled":              {judgeSale([]event{at(order, "a", 0, 0, 1), at(undo, "a", 1, 2, 3), at(order, "a", 5, 4, 5)}, 0, books{10, 10, []string{"a"}, []string{"a"}}), ""},
		"cancelled without word": {judgeSale([]event{at(order, "a", 0, 0, 1), with(at(undo, "a", 0, 2, 3), again)}, 0, books{10, 10, []string{"a"}, []string{"a"}}), ""},
		"cancelled by nobody":    {judgeSale([]event{at(order, "a", 0, 0, 1)}, 0, books{10, 10, []string{"a"}, []string{"a"}}), "taken back by nobody"},
		"sold after the cancel":  {judgeSale([]event{at(order, "a", 0, 0, 1), at(undo, "a", 1, 2, 3), at(order, "a", 0, 4, 5)}, 0, books{10, 10, []string{"a"}, []string{"a"}}), "the answer 0"},
		"a hold that is early": {judgeSale([]event{at(order, "a", 0, 0, 1), at(confirm, "a", 0, 2, 3)}, 100_000, books{10, 10, []string{"a"}, []string{"a"}}),
			"confirm of the order a has the answer 0"},
		"a hold that has ended":  {judgeSale([]event{at(order, "a", 0, 0, 1), at(confirm, "a", 0, 2, 99_000)}, 100_000, books{10, 10, []string{"a"}, []string{"a"}}), ""},
		"a hold, confirmed":      {judgeSale([]event{at(order, "a", 0, 0, 1), at(confirm, "a", 1, 2, 3)}, 100_000, books{9, 10, []string{"a"}, nil}), ""},
		"confirmed and back":     {judgeSale([]event{at(order, "a", 0, 0, 1), at(confirm, "a", 1, 2, 3)}, 100_000, books{10, 10, []string{"a"}, []string{"a"}}), "confirmed true"},
		"planned":                {judgeDelays([]event{at(plan, "a", 100, 0, 1), at(plan, "b", 100, 0, 1), at(drop, "b", 1, 2, 3)}, []added{{"a", 100}}), ""},
		"an entry that is lost":  {judgeDelays([]event{at(plan, "a", 100, 0, 1)}, nil), "the entry a was acknowledged, and is lost"},
		"an entry twice":         {judgeDelays([]event{at(plan, "a", 100, 0, 1)}, []added{{"a", 100}, {"a", 100}}), "the entry a was added 2 times"},
		"an entry that is early": {judgeDelays([]event{at(plan, "a", 100, 0, 1)}, []added{{"a", 99}}), "the entry a was added 1 ms before"},
		"an entry that was dropped": {judgeDelays([]event{at(plan, "a", 100, 0, 1), at(drop, "a", 1, 2, 3)}, []added{{"a", 100}}),
			"the entry a was cancelled, and is there"},
		"an entry of nobody": {judgeDelays(nil, []added{{"a", 99}}), "nobody has sent it"},
	} {
		t.Run(name, func(t *testing.T) { says(t, c.says, c.faults) })
	}
}
