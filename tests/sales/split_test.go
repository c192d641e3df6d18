package sales

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// The design of a sale in parts (SPLIT n at SECKILL.CREATE), and all that can happen to it in a small world.
// docs/decisions/0031-one-sale-in-parts.md cites the results. The server has no such sale.
//
// Each part of the stock is on a shard of its own, which executes one step at a time. A buyer's call runs at
// the part of the user. If that part is empty, the call moves a piece there from another part: the giver
// takes it out and keeps a record (give), the part of the user sells it to the order (take), and the giver
// drops the record (finish). If the order needs no piece any more, the take puts it into the stock there.
// Transfers of two parts have numbers, so that a repeated take changes nothing. A call may
// say "sold out" only if all parts were empty at one moment of the call, and nothing was under way. For that
// it reads all parts twice: a part counts how often its stock has grown, and the counts must be the same.
//
// The test goes through all orders of steps, in which callers die at any moment, messages are repeated, and a
// process is killed and loses what was not synced.

const (
	splitParts  = 2
	splitBuyers = 3
)

// splitPart is the data of a part. The arrays have an element for each other part, or for each order.
type splitPart struct {
	stock, grown int8
	orders       [splitBuyers]int8 // by call, as one order may be named by two users: 0, orderSold or orderGone
	given, taken [splitParts]int8  // the number of the last transfer to, and from, that part
	open         [splitParts]bool  // given: it is not known that the other part has taken it
	order        [splitParts]int8  // given: the call for which
}

// mostGrown is above the number of times that the stock of a part can grow in a world without a cycle.
const mostGrown = 20

const (
	orderSold = 1
	orderGone = 2
)

// splitStep is the next step of a call.
type splitStep int8

const (
	stepBuy splitStep = iota
	stepAsk
	stepSync // wait until the giver's record is on its disk
	stepTake
	stepFinish
	stepAgain // read all parts again
	stepEnded
	stepDead
)

// splitCall is a call of SECKILL.
type splitCall struct {
	step     splitStep
	at       int8             // the part that is asked, or read again
	from, to int8             // of the transfer
	number   int8             // of the transfer
	order    int8             // of the transfer: the call that it is for
	seen     [splitParts]int8 // how often each part's stock had grown
	bare     bool             // at some moment of the call nothing was left
	answer   int8             // after stepEnded: the answer of SECKILL
}

// splitState is the state of the world. disk has the parts as they are on the disk.
type splitState struct {
	parts, disk [splitParts]splitPart
	calls       [splitBuyers]splitCall
	deaths      int8 // callers that may still die
	kills       int8 // kills of the process that may still come
	cancels     int8
	late        [splitParts][splitParts]lateTake
}

// lateTake is the message of a take that was sent and may come again. number 0: none.
type lateTake struct{ number, order int8 }

// splitRules are the parts of the design. A test leaves one out.
type splitRules struct {
	adopted  bool // any call finishes a transfer that another one has left
	numbered bool // a take is done once
	twice    bool // all parts are read a second time before "sold out"
	syncs    bool // the record is on the disk before the piece leaves
	sells    bool // a take sells the piece to the order that it was given for
	byOrder  bool // the part is that of the order, and not that of the user
}

var splitDesign = splitRules{adopted: true, numbered: true, twice: true, syncs: true, sells: true}

// splitWorld is the beginning of a run.
type splitWorld struct {
	stock  [splitParts]int8
	users  [splitBuyers]int8 // of each call
	orders [splitBuyers]int8
	deaths int8
	kills  int8
	cancel int8
	gone   int8 // a part that cannot be reached; 0: none
}

// explorer goes through all states.
type explorer struct {
	rules splitRules
	world splitWorld
	total int8
	seen  map[splitState]int // by state: its number
	back  [][]int            // by number: the states before
	ended []int              // the states in which each call has an answer
	todo  []splitState
	fault string
}

// explore returns the first fault that is possible, or "", and the number of states.
func explore(rules splitRules, world splitWorld) (fault string, states int) {
	x := &explorer{rules: rules, world: world, seen: map[splitState]int{}}
	var first splitState
	for p, n := range world.stock {
		first.parts[p].stock = n
		x.total += n
	}
	first.disk, first.deaths, first.kills, first.cancels = first.parts, world.deaths, world.kills, world.cancel
	x.reach(&first, -1)
	for len(x.todo) > 0 && x.fault == "" {
		s := x.todo[len(x.todo)-1]
		x.todo = x.todo[:len(x.todo)-1]
		x.from(&s, x.seen[s])
	}
	if x.fault == "" {
		x.fault = x.stuck()
	}
	return x.fault, len(x.seen)
}

// reach adds a state that follows another one, and checks it.
func (x *explorer) reach(s *splitState, before int) {
	if s.left() == 0 {
		for i := range s.calls {
			s.calls[i].bare = s.calls[i].bare || s.calls[i].step < stepEnded
		}
	}
	number, known := x.seen[*s]
	if !known {
		number = len(x.seen)
		x.seen[*s] = number
		x.back = append(x.back, nil)
		x.todo = append(x.todo, *s)
		x.check(s)
		if s.parts[0].grown > mostGrown {
			x.fault = "a piece goes to and fro without end"
		}
		if x.allEnded(s) {
			x.ended = append(x.ended, number)
		}
	}
	if before >= 0 {
		x.back[number] = append(x.back[number], before)
	}
}

// left returns the number of pieces that are not sold: in stock, and given and not taken.
func (s *splitState) left() (n int8) {
	for p := range s.parts {
		n += s.parts[p].stock
		for q := range s.parts {
			if s.parts[p].open[q] && s.parts[q].taken[p] < s.parts[p].given[q] {
				n++
			}
		}
	}
	return n
}

// check looks for a broken promise.
func (x *explorer) check(s *splitState) {
	sold, bought := int8(0), map[int8]int8{}
	for p := range s.parts {
		for o, state := range s.parts[p].orders {
			if state == orderSold {
				sold++
				bought[x.world.users[o]]++
			}
		}
	}
	if is := s.left() + sold; is != x.total {
		x.fault = fmt.Sprintf("%d pieces of %d", is, x.total)
	}
	for u, n := range bought {
		if n > 1 {
			x.fault = fmt.Sprintf("user %d has %d pieces", u, n)
		}
	}
	answers := map[int8]int8{} // by order: its buyer
	for i := range s.calls {
		c := &s.calls[i]
		if c.step != stepEnded {
			continue
		}
		if c.answer == 1 && !c.bare {
			x.fault = "sold out, and there was a piece at each moment of the call"
		}
		if c.answer == 0 {
			if user, ok := answers[x.world.orders[i]]; ok && user != x.world.users[i] {
				x.fault = "one order is that of two users"
			}
			answers[x.world.orders[i]] = x.world.users[i]
		}
	}
}

// home returns the part of a call.
func (x *explorer) home(i int) int8 {
	if x.rules.byOrder {
		return x.world.orders[i] % splitParts
	}
	return x.world.users[i] % splitParts
}

func (x *explorer) allEnded(s *splitState) bool {
	for i := range s.calls {
		if s.calls[i].step != stepEnded {
			return false
		}
	}
	return true
}

// stuck returns a fault if in some state no steps lead to an answer for each call.
func (x *explorer) stuck() string {
	can := make([]bool, len(x.seen))
	todo := x.ended
	for len(todo) > 0 {
		n := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if !can[n] {
			can[n] = true
			todo = append(todo, x.back[n]...)
		}
	}
	for _, ok := range can {
		if !ok {
			return "a call can never end"
		}
	}
	return ""
}

// from adds all states that follow a state.
func (x *explorer) from(s *splitState, number int) {
	for i := range s.calls {
		next := *s
		c := &next.calls[i]
		switch {
		case c.step == stepDead: // the client asks again
			*c = splitCall{}
			x.reach(&next, number)
		case c.step < stepEnded:
			if x.step(&next, i) {
				x.reach(&next, number)
			}
			if s.deaths > 0 {
				next = *s
				next.deaths--
				next.calls[i].step = stepDead
				x.reach(&next, number)
			}
		}
	}
	x.befall(s, number)
}

// befall adds the states that follow a sync, a kill, a repeated message, or an order that is cancelled.
func (x *explorer) befall(s *splitState, number int) {
	for p := range s.parts {
		if s.disk[p] != s.parts[p] {
			next := *s
			next.disk[p] = next.parts[p]
			x.reach(&next, number)
		}
		for q := range s.parts {
			if late := s.late[p][q]; late.number > 0 {
				next := *s
				next.late[p][q] = lateTake{}
				x.take(&next, int8(p), int8(q), late)
				x.reach(&next, number)
			}
		}
		for o, state := range s.parts[p].orders {
			if state == orderSold && s.cancels > 0 {
				next := *s
				next.cancels--
				next.parts[p].orders[o] = orderGone
				next.parts[p].stock++
				next.parts[p].grown++
				x.reach(&next, number)
			}
		}
	}
	if s.kills > 0 {
		next := *s
		next.kills--
		next.parts = s.disk
		for i := range next.calls {
			if next.calls[i].step < stepEnded {
				next.calls[i].step = stepDead
			}
		}
		x.reach(&next, number)
	}
}

// step does the next step of a call, and reports whether it could.
func (x *explorer) step(s *splitState, i int) bool {
	c, home := &s.calls[i], x.home(i)
	switch c.step {
	case stepBuy:
		return x.buy(s, i, home)
	case stepAsk:
		if c.at >= splitParts {
			if c.step, c.at = stepAgain, 0; !x.rules.twice {
				c.step, c.answer = stepEnded, 1
			}
			return true
		}
		if c.at == x.world.gone && c.at > 0 {
			return false
		}
		x.ask(s, i, home)
	case stepSync:
		c.step = stepTake
		return !x.rules.syncs || s.disk[c.from] == s.parts[c.from]
	case stepTake:
		sent := lateTake{c.number, c.order}
		x.take(s, c.from, c.to, sent)
		if s.late[c.from][c.to].number == 0 && s.deaths > 0 {
			s.late[c.from][c.to] = sent
		}
		c.step = stepFinish
	case stepFinish:
		c.step = stepBuy
		if giver := &s.parts[c.from]; giver.given[c.to] == c.number {
			giver.open[c.to] = false
			return !x.rules.syncs || s.disk[c.to] == s.parts[c.to]
		}
	case stepAgain:
		if c.at >= splitParts {
			c.step, c.answer = stepEnded, 1
			return true
		}
		if c.at == x.world.gone && c.at > 0 {
			return false
		}
		if p := &s.parts[c.at]; p.stock > 0 || p.grown != c.seen[c.at] || p.isOpen() {
			c.step, c.at = stepBuy, 0
			return true
		}
		c.at++
	}
	return true
}

// answerOf returns what a part answers to a call without looking at the stock; -1: the stock decides.
func (x *explorer) answerOf(part *splitPart, i int) int8 {
	switch part.orders[i] {
	case orderSold:
		return 0
	case orderGone:
		return 5
	}
	for o, state := range part.orders {
		switch sameUser := x.world.users[o] == x.world.users[i]; {
		case state != 0 && !sameUser && x.world.orders[o] == x.world.orders[i]:
			return 6 // an error: the order is that of another user
		case state == orderSold && sameUser:
			return 2
		}
	}
	return -1
}

// buy is the step at the part of the user.
func (x *explorer) buy(s *splitState, i int, home int8) bool {
	c, part := &s.calls[i], &s.parts[home]
	switch answer := x.answerOf(part, i); {
	case answer >= 0: // it waits for the disk
		c.step, c.answer = stepEnded, answer
		return s.disk[home] == s.parts[home]
	case part.stock > 0:
		part.stock--
		part.orders[i] = orderSold
	default:
		c.step, c.at = stepAsk, 0
	}
	return true
}

// ask is the step at another part: it finishes a transfer that was left, gives a piece, or is empty.
func (x *explorer) ask(s *splitState, i int, home int8) {
	c := &s.calls[i]
	p := &s.parts[c.at]
	for q := range p.open {
		if p.open[q] && x.rules.adopted {
			c.step, c.from, c.to, c.number, c.order = stepSync, c.at, int8(q), p.given[q], p.order[q]
			return
		}
	}
	if c.at == home || p.stock == 0 {
		c.seen[c.at] = p.grown
		c.at++
		return
	}
	p.stock--
	p.given[home]++
	p.open[home], p.order[home] = true, int8(i)
	c.step, c.from, c.to, c.number, c.order = stepSync, c.at, home, p.given[home], int8(i)
}

// take sells a piece of another part to the order that it was given for, or puts it into the stock. A
// transfer that was taken before is left out.
func (x *explorer) take(s *splitState, from, to int8, sent lateTake) {
	p := &s.parts[to]
	if x.rules.numbered && p.taken[from] >= sent.number {
		return
	}
	p.taken[from] = max(p.taken[from], sent.number)
	if x.rules.sells && x.answerOf(p, int(sent.order)) < 0 {
		p.orders[sent.order] = orderSold
		return
	}
	p.stock++
	p.grown++
}

// isOpen reports whether a transfer of the part is under way.
func (p *splitPart) isOpen() bool { return slices.Contains(p.open[:], true) }

// splitWorlds are worlds in which the design has to hold. The part of a user is the remainder by two.
var splitWorlds = map[string]splitWorld{
	"the stock of one part is empty":  {stock: [2]int8{2, 0}, users: [3]int8{0, 1, 3}, orders: [3]int8{0, 1, 2}, deaths: 1},
	"all want the last piece":         {stock: [2]int8{1, 0}, users: [3]int8{0, 1, 3}, orders: [3]int8{0, 1, 2}, deaths: 2},
	"a user has two orders":           {stock: [2]int8{1, 1}, users: [3]int8{1, 1, 0}, orders: [3]int8{0, 1, 2}, deaths: 1},
	"a process is killed":             {stock: [2]int8{1, 0}, users: [3]int8{1, 0, 3}, orders: [3]int8{0, 1, 2}, kills: 1},
	"a process is killed, one dies":   {stock: [2]int8{1, 1}, users: [3]int8{1, 3, 3}, orders: [3]int8{0, 1, 2}, kills: 1, deaths: 1},
	"a piece at each part":            {stock: [2]int8{1, 1}, users: [3]int8{0, 1, 3}, orders: [3]int8{0, 1, 2}},
	"an order is cancelled meanwhile": {stock: [2]int8{1, 0}, users: [3]int8{0, 1, 3}, orders: [3]int8{0, 1, 2}, cancel: 1, deaths: 1},
}

// TestSplitDesign: the design breaks no promise in any order of steps, except that of
// TestSplitOrderOfTwoUsers. Each call can get an answer while all parts can be reached.
func TestSplitDesign(t *testing.T) {
	all := 0
	for name, world := range splitWorlds {
		fault, states := explore(splitDesign, world)
		require.Empty(t, fault, name)
		all += states
	}
	t.Logf("%d states", all)
}

// TestSplitNeedsEachRule: without one of its rules the design breaks a promise.
func TestSplitNeedsEachRule(t *testing.T) {
	for _, c := range []struct {
		name, world, fault string
		without            func(r *splitRules)
	}{
		{"a caller has died, and its transfer is left", "all want the last piece", "a call can never end", func(r *splitRules) { r.adopted = false }},
		{"a take puts the piece into the stock", "a piece at each part", "to and fro without end", func(r *splitRules) { r.sells = false }},
		{"a take is repeated", "all want the last piece", "pieces of", func(r *splitRules) { r.numbered = false }},
		{"the parts are read once", "the stock of one part is empty", "sold out, and there was a piece", func(r *splitRules) { r.twice = false }},
		{"a piece leaves before its record is on the disk", "a process is killed", "pieces of", func(r *splitRules) { r.syncs = false }},
		{"the part is that of the order", "a user has two orders", "has 2 pieces", func(r *splitRules) { r.byOrder = true }},
	} {
		t.Run(c.name, func(t *testing.T) {
			rules := splitDesign
			c.without(&rules)
			fault, _ := explore(rules, splitWorlds[c.world])
			require.Contains(t, fault, c.fault)
		})
	}
}

// TestSplitOrderOfTwoUsers: the design cannot keep one promise of a sale in one place. An order id that two
// users name is sold to both, if their parts differ. A sale in one place refuses the second one.
func TestSplitOrderOfTwoUsers(t *testing.T) {
	world := splitWorld{stock: [2]int8{1, 1}, users: [3]int8{0, 1, 3}, orders: [3]int8{7, 7, 2}}
	fault, _ := explore(splitDesign, world)
	require.Equal(t, "one order is that of two users", fault)
	world.users[1] = 2 // of the same part
	fault, _ = explore(splitDesign, world)
	require.Empty(t, fault)
}

// TestSplitWaitsForAllParts: while one part cannot be reached, a call that finds its own part empty has no
// answer: that part may have the last piece.
func TestSplitWaitsForAllParts(t *testing.T) {
	fault, _ := explore(splitDesign, splitWorld{stock: [2]int8{0, 0}, users: [3]int8{0, 0, 0}, orders: [3]int8{0, 1, 2}, gone: 1})
	require.Equal(t, "a call can never end", fault)
	fault, _ = explore(splitDesign, splitWorld{stock: [2]int8{1, 0}, users: [3]int8{0, 0, 0}, orders: [3]int8{0, 1, 2}, gone: 1})
	require.Empty(t, fault, "what the part of the user can answer alone")
}
