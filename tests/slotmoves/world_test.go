package slotmoves

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"lockserver/server/cluster"
	"lockserver/server/slotmove"
)

// slots is how many slots the simulation uses: 0 to slots-1. Each of the rest belongs to the last shard.
const slots = 6

// event is something that happens at a time.
type event struct {
	atMS, number int64
	do           func()
}

type events []event

func (e events) Len() int { return len(e) }
func (e events) Less(i, j int) bool {
	return e[i].atMS < e[j].atMS || e[i].atMS == e[j].atMS && e[i].number < e[j].number
}
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

// world is one run.
type world struct {
	seed    uint64
	fault   string
	blind   bool // digests are not compared at ready
	chance  *rand.Rand
	nowMS   int64
	events  events
	count   int64
	groups  []*group
	clients []*client
	ref     *reference
	parted  map[[2]string]bool
	calm    bool // neither faults nor losses from now on
	calmMS  int64
	still   bool // no client begins anything, and no move
	kill    *killing
	// payloads are the effects of stage entries: an entry has an index.
	payloads []payload
	gone     map[string]bool // owners without a connection
	history  []string
	finding  string
	moves    map[string]int // counts of committed entries, by kind, and of other things
	saved    int
}

// killing ends or deposes the leader that writes an entry of a kind.
type killing struct {
	kind slotmove.Kind
	how  ending
	done bool
}

// ending is how a leader ends around an entry.
type ending int

const (
	lost     ending = iota // the entry is lost with the leader
	kept                   // the entry is committed by the next leader
	after                  // the leader ends when the entry is committed
	deposed                // the entry is lost, and the leader does not know it
	replaced               // the entry is committed by the next leader, and the leader does not know it
	endings
)

func (w *world) at(ms int64, do func()) {
	w.count++
	heap.Push(&w.events, event{w.nowMS + ms, w.count, do})
}

func (w *world) n(most int) int           { return w.chance.IntN(most) }
func (w *world) ms(from, to int64) int64  { return from + w.chance.Int64N(to-from+1) }
func (w *world) happens(percent int) bool { return w.chance.IntN(100) < percent }
func (w *world) is(fault string) bool     { return w.fault == fault }

// logf adds a line to the history.
func (w *world) logf(format string, args ...any) {
	w.history = append(w.history, fmt.Sprintf("%6d ms  ", w.nowMS)+fmt.Sprintf(format, args...))
}

// fail records the first finding. The run ends.
func (w *world) fail(format string, args ...any) {
	if w.finding == "" {
		w.finding = fmt.Sprintf(format, args...)
		w.logf("FOUND: %s", w.finding)
	}
}

// story returns the end of the history.
func (w *world) story(lines int) string {
	return strings.Join(w.history[max(0, len(w.history)-lines):], "\n")
}

func (w *world) group(name string) *group {
	return w.groups[slices.IndexFunc(w.groups, func(g *group) bool { return g.name == name })]
}

// newWorld makes three shards, their clients and everything that happens to them.
func newWorld(seed uint64, fault string) *world {
	w := &world{seed: seed, fault: fault, chance: rand.New(rand.NewPCG(seed, 63)), parted: map[[2]string]bool{}, gone: map[string]bool{},
		moves: map[string]int{}}
	w.ref = newReference(w)
	for i, name := range []string{"s1", "s2", "s3"} {
		owned := []cluster.Range{{First: 2 * i, Last: 2*i + 1}}
		if i == 2 {
			owned = []cluster.Range{{First: 4, Last: cluster.All().Last}}
		}
		g := &group{w: w, name: name, skewMS: w.ms(-600, 600), table: slotmove.New(name, owned), data: map[int]*slot{}, staging: map[slotmove.ID]map[int]*slot{},
			claims: map[string]claim{}}
		for n := range slots {
			if g.table.Slot(n) == slotmove.Owned {
				g.data[n] = newSlot()
				w.ref.owner[n] = name
			}
		}
		w.groups = append(w.groups, g)
	}
	for _, g := range w.groups {
		for _, o := range w.groups {
			g.claims[o.name] = o.claim()
		}
		g.lead(nil)
	}
	for i := range 4 {
		c := &client{w: w, name: fmt.Sprint("c", i), owners: map[int]string{}}
		for n := range slots {
			c.owners[n] = w.groups[w.n(len(w.groups))].name
		}
		w.clients = append(w.clients, c)
		w.at(w.ms(1, 50), c.next)
	}
	return w
}

// run plays until a time, or until something is found.
func (w *world) run(untilMS int64) {
	for w.finding == "" && len(w.events) > 0 && w.events[0].atMS <= untilMS {
		e := heap.Pop(&w.events).(event)
		w.nowMS = e.atMS
		e.do()
	}
	w.nowMS = max(w.nowMS, untilMS)
}

// send delivers a message to a shard: late, twice or never. It goes to the leader, or to a former leader
// that has not heard of its successor.
func (w *world) send(from, to string, deliver func(p *leader)) {
	times := 1
	switch {
	case w.calm:
	case w.parted[pair(from, to)] || w.happens(6):
		times = 0
	case w.happens(8):
		times = 2
	}
	for range times {
		w.at(w.delay(), func() {
			g := w.group(to)
			p := g.leader
			if former := g.formers(); len(former) > 0 && (p == nil || w.happens(25)) {
				p = former[w.n(len(former))]
			}
			if p != nil {
				deliver(p)
			}
		})
	}
}

// answer delivers a message to a leader, if it has not ended.
func (w *world) answer(from string, to *leader, deliver func()) {
	if !w.calm && (w.parted[pair(from, to.g.name)] || w.happens(6)) {
		return
	}
	times := 1
	if !w.calm && w.happens(8) {
		times = 2
	}
	for range times {
		w.at(w.delay(), func() {
			if !to.ended {
				deliver()
			}
		})
	}
}

// delay is mostly short, and now and then so long that everything else is over.
func (w *world) delay() int64 {
	switch {
	case w.calm:
		return w.ms(1, 4)
	case w.happens(4):
		return w.ms(200, 3000)
	case w.happens(10):
		return w.ms(30, 200)
	}
	return w.ms(1, 20)
}

func pair(a, b string) [2]string { return [2]string{min(a, b), max(a, b)} }

// trouble parts and heals the network, and ends and deposes leaders.
func (w *world) trouble() {
	if w.calm {
		return
	}
	w.at(w.ms(50, 700), w.trouble)
	switch w.n(6) {
	case 0, 1:
		a, b := w.groups[w.n(3)].name, w.groups[w.n(3)].name
		if a != b {
			p := pair(a, b)
			w.parted[p] = !w.parted[p]
			w.logf("network between %s and %s parted: %t", a, b, w.parted[p])
		}
	case 2:
		clear(w.parted)
		w.logf("network healed")
	case 3, 4:
		if p := w.groups[w.n(3)].leader; p != nil {
			p.end(ending(w.n(int(endings))))
		}
	case 5:
		for _, g := range w.groups {
			if in := g.table.In; g.leader != nil && len(in) > 0 && w.happens(30) {
				g.leader.stopIn = in[0].Move
			}
		}
		w.gone[fmt.Sprint("c", w.n(4))] = w.happens(30)
	}
}

// mover begins moves, and cancels some.
func (w *world) mover() {
	if w.still {
		return
	}
	w.at(w.ms(50, 900), w.mover)
	g := w.groups[w.n(3)]
	p := g.leader
	if p == nil {
		return
	}
	if out := g.table.Out; out != nil {
		if w.happens(12) {
			p.view.Stop = true
		}
		return
	}
	var some []cluster.Range
	for n := range slots {
		if g.table.Slot(n) == slotmove.Owned && w.happens(50) {
			some = append(some, cluster.Range{First: n, Last: n})
		}
	}
	if to := w.groups[w.n(3)]; to != g && len(some) > 0 {
		p.begin(to.name, some)
	}
}

// heal ends all trouble.
func (w *world) heal() {
	w.calm, w.calmMS = true, w.nowMS
	clear(w.parted)
	clear(w.gone)
	w.logf("healed")
}
