package stream

import (
	"cmp"
	"math"

	"github.com/tidwall/btree"
)

// The memory of a stream for idempotent producers (XADD IDMP). It maps each message of a producer to its
// entry, so that a message that is sent twice is added once. Each message is remembered for some time, and
// only a limited number for each producer. The memory is independent of the entries: a message is remembered
// even if its entry was deleted.

// ProducerLimits limits how long messages are remembered, and how many of each producer. XCFGSET sets the
// limits. The defaults are the directives stream-idmp-duration and stream-idmp-maxsize.
type ProducerLimits struct {
	DurationS int
	MaxSize   int
}

// The ranges of ProducerLimits; the minimum is 1.
const (
	MaxProducerDurationS = 86400
	MaxProducerSize      = 10000
)

// MaxMessageMS is the latest time of a message: adding any duration to it does not overflow.
const MaxMessageMS = math.MaxInt64 / 2

// DefaultProducerLimits returns Redis' defaults.
func DefaultProducerLimits() ProducerLimits { return ProducerLimits{DurationS: 100, MaxSize: 100} }

// Valid reports whether the limits are in their ranges.
func (l ProducerLimits) Valid() bool {
	return 1 <= l.DurationS && l.DurationS <= MaxProducerDurationS && 1 <= l.MaxSize && l.MaxSize <= MaxProducerSize
}

// Message is a message that a producer has added.
type Message struct {
	Producer, Name string // named pid and iid in XADD
	ID             ID     // of the entry
	AtMS           int64  // when it was added, in milliseconds since 1970, from 0 to MaxMessageMS
}

// remembered is a message in the trees, which share it. It never changes.
type remembered struct {
	Message
	turn uint64 // higher for each later message
}

// tally counts the remembered messages of a producer. It is removed when it reaches zero.
type tally struct {
	producer string
	n        int
}

// Producers holds the messages that a stream remembers. It belongs to the stream's header: the trees are
// copied lazily when a cut shares the header. The three trees hold the same messages.
type Producers struct {
	limits            ProducerLimits
	added, duplicates uint64
	turn              uint64
	trees             any // a *producerTrees; nodesOf explains why the field has no type
	bytes             int // size of the names of messages and producers
	alarm             any
}

// producerTrees holds the trees of Producers. A cloned header gets new trees.
type producerTrees struct {
	byName  *btree.BTreeG[*remembered] // by producer and name
	byTurn  *btree.BTreeG[*remembered] // by producer and turn
	byAge   *btree.BTreeG[*remembered] // by time, then turn
	tallies *btree.BTreeG[tally]       // by producer
}

// treesOf returns the trees of p.
func treesOf(p *Producers) *producerTrees { return p.trees.(*producerTrees) }

func nameLess(a, b *remembered) bool {
	if c := cmp.Compare(a.Producer, b.Producer); c != 0 {
		return c < 0
	}
	return a.Name < b.Name
}

func turnLess(a, b *remembered) bool {
	if c := cmp.Compare(a.Producer, b.Producer); c != 0 {
		return c < 0
	}
	return a.turn < b.turn
}

func ageLess(a, b *remembered) bool {
	if c := cmp.Compare(a.AtMS, b.AtMS); c != 0 {
		return c < 0
	}
	return a.turn < b.turn
}

// Producers returns the remembered producers; nil if the stream never had a producer.
func (s *Stream) Producers() *Producers { return s.producers }

// LimitProducers sets the limits, and reports whether they have changed. A change of the limits drops all
// messages.
func (s *Stream) LimitProducers(l ProducerLimits) bool {
	p := s.producers
	if p != nil && p.limits == l {
		return false
	}
	if p == nil {
		p = &Producers{}
		s.producers = p
	}
	p.limits = l
	p.forgetAll()
	return true
}

func (p *Producers) forgetAll() {
	p.trees = &producerTrees{newTree(nameLess), newTree(turnLess), newTree(ageLess),
		newTree(func(a, b tally) bool { return a.producer < b.producer })}
	p.bytes = 0
}

// clone returns a copy for writing; p may still be read.
func (p *Producers) clone() *Producers {
	if p == nil {
		return nil
	}
	c := *p
	c.trees = &producerTrees{treesOf(p).byName.Copy(), treesOf(p).byTurn.Copy(), treesOf(p).byAge.Copy(), treesOf(p).tallies.Copy()}
	return &c
}

// Limits returns the limits.
func (p *Producers) Limits() ProducerLimits { return p.limits }

// Counts returns the number of messages ever added, and the number refused as duplicates.
func (p *Producers) Counts() (added, duplicates uint64) { return p.added, p.duplicates }

// SetCounts sets the numbers that Counts returns, from a file.
func (p *Producers) SetCounts(added, duplicates uint64) { p.added, p.duplicates = added, duplicates }

// Refused counts a duplicate.
func (p *Producers) Refused() { p.duplicates++ }

// Tracked returns the number of remembered messages, and the number of their producers.
func (p *Producers) Tracked() (producers, messages int) {
	return treesOf(p).tallies.Len(), treesOf(p).byName.Len()
}

// Find returns the entry of a message, if the message is remembered and not overdue.
func (p *Producers) Find(producer, name []byte, nowMS int64) (id ID, ok bool) {
	m, ok := treesOf(p).byName.Get(&remembered{Message: Message{Producer: string(producer), Name: string(name)}})
	if !ok || p.endMS(m) < nowMS {
		return ID{}, false
	}
	return m.ID, true
}

// endMS is the last millisecond in which a message is remembered.
func (p *Producers) endMS(m *remembered) int64 { return m.AtMS + int64(p.limits.DurationS)*1000 }

// Added counts a message and remembers it. It replaces a message with the same name. If the producer has too
// many messages, its oldest are dropped.
func (p *Producers) Added(m Message) {
	p.added++
	p.Remember(m)
}

// Remember does what Added does, for a message that is already counted.
func (p *Producers) Remember(m Message) {
	p.turn++
	r := &remembered{Message: m, turn: p.turn}
	if old, ok := treesOf(p).byName.Get(r); ok {
		p.forget(old)
	}
	t, _ := treesOf(p).tallies.Get(tally{producer: m.Producer})
	if t.n == 0 {
		t.producer = m.Producer
		p.bytes += len(m.Producer)
	}
	r.Producer = t.producer // all messages share one copy
	t.n++
	treesOf(p).tallies.Set(t)
	treesOf(p).byName.Set(r)
	treesOf(p).byTurn.Set(r)
	treesOf(p).byAge.Set(r)
	p.bytes += len(m.Name)
	for ; t.n > p.limits.MaxSize; t.n-- {
		p.forget(p.oldest(t.producer))
	}
}

// oldest returns the oldest message of a producer, which must have at least one.
func (p *Producers) oldest(producer string) (first *remembered) {
	treesOf(p).byTurn.Ascend(&remembered{Message: Message{Producer: producer}}, func(r *remembered) bool {
		first = r
		return false
	})
	return first
}

func (p *Producers) forget(r *remembered) {
	treesOf(p).byName.Delete(r)
	treesOf(p).byTurn.Delete(r)
	treesOf(p).byAge.Delete(r)
	p.bytes -= len(r.Name)
	t, _ := treesOf(p).tallies.Get(tally{producer: r.Producer})
	if t.n--; t.n > 0 {
		treesOf(p).tallies.Set(t)
		return
	}
	treesOf(p).tallies.Delete(t)
	p.bytes -= len(r.Producer)
}

// FirstEndMS returns the last millisecond in which the oldest message is remembered; false if there is no
// message.
func (p *Producers) FirstEndMS() (int64, bool) {
	first, ok := treesOf(p).byAge.Min()
	if !ok {
		return 0, false
	}
	return p.endMS(first), true
}

// ForgetFirst drops the message that FirstEndMS refers to.
func (p *Producers) ForgetFirst() {
	if first, ok := treesOf(p).byAge.Min(); ok {
		p.forget(first)
	}
}

// Each visits all messages, those of each producer in their order, until visit returns false.
func (p *Producers) Each(visit func(Message) bool) {
	treesOf(p).byTurn.Scan(func(r *remembered) bool { return visit(r.Message) })
}

// Alarm returns the value that SetAlarm has attached, or nil.
func (p *Producers) Alarm() any { return p.alarm }

// SetAlarm attaches a value of the owner to the producers. A copy of the stream does not get it.
func (p *Producers) SetAlarm(a any) { p.alarm = a }
