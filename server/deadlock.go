package server

import (
	"slices"
	"strings"

	"lockserver/commands"
)

// Owners that wait for each other in a circle would wait for ever. An owner is a name: whatever
// connections speak for it hold and wait together. It waits, with each of its parked LOCKs and
// MLOCKs and for each of their keys, for
//
//   - the owner that holds the lock, or all that share it, unless it only waits for its turn to share it
//     as well; and
//   - the owners of those that stand before it in the key's queue, which must get
//     the lock and release it first;
//
// except for a key that it holds itself, which it gets without queueing (one that it shares and wants for
// itself alone waits for the others that share it); and if it has several waiters in a queue, only what
// stands before the first of them counts, because with that one all are granted. Of those it waits for,
// the ones that are waiting themselves lead on.
//
// No circle outlives the unit in which it arose. A wait that would close one is refused when it begins.
// Circles also arise without a new wait, and each of those leads through one owner, the suspect, all of
// whose waiters are followed at the unit's end:
//
//   - a lock has another holder, whoever made it so (a grant, RENAME, MOVE, COPY, SWAPDB, RESTORE, a script's
//     HSET): all who stand in its queue wait for that one now;
//   - the former holder has a waiter in the queue of that lock: it did not count, and
//     now waits for those before it;
//   - a waiter left without its lock, and its owner has another one in the same queue, which now counts.
//
// Of a lock that is shared all holders that wait are suspects at each change, and all whose places in its
// queue branch: a former holder that waits there stands behind one of those now, or its circle was one
// before.
//
// Then the youngest wait of the circle is refused: the one that began last. It is what closes the circle
// in the usual case, too.
//
// The search costs O(1) where nobody it meets is waiting for anything else, which is nearly always. Those
// that stand before a waiter are only looked at if they are branching: they wait for another key as well,
// or their owner has another waiter. From one that is not, nothing is reached but what is reached from
// those behind it. In all, a search looks at no more than searchLimit places; a circle that is larger is
// not found, and ends with a WAIT or a lease. A unit with many suspects (SWAPDB) searches about as much,
// and the ticker does the rest in slices.

// holder returns the owner that holds the lock at a queue's key, and its claimant if it waits for something
// itself. If the lock has shared holders there is no owner, and they are found in l.
func (ex *executor) holder(q *queue) (owner []byte, c *claimant, l commands.LockState) {
	l, err := commands.FindLock(q.db(), []byte(q.key()))
	if err != nil || l.Holds == 0 {
		return nil, nil, l
	}
	return l.Owner, ex.parking.claimantOf(l.Owner), l
}

// eachSharer visits those of a lock's holders that wait for something, until visit returns false.
func (ex *executor) eachSharer(q *queue, l *commands.LockState, visit func(c *claimant) bool) {
	r := q.db().Peek([]byte(q.key()))
	if ex.parking.claimants.Len() >= l.Shares {
		commands.EachHolder(r, func(h commands.Holder) bool {
			c := ex.parking.claimantOf(h.Owner)
			return c == nil || visit(c)
		})
		return
	}
	ex.parking.claimants.Each(func(c *claimant) bool {
		_, holds := commands.HolderOf(r, []byte(c.first.owner()))
		return !holds || visit(c)
	})
}

// search looks for a way from one owner back to itself.
type search struct {
	ex      *executor
	target  *claimant
	reached map[*claimant]link
	todo    []*claimant
	looked  int
}

// link is a part of a circle: a waiter, and the key at which it waits for the owner of the next.
type link struct {
	waiter *waiter
	key    string
}

// circleFrom returns the circle that a waiter stands in, which has just begun to
// wait; nil if it stands in none.
func (ex *executor) circleFrom(w *waiter) []link {
	s := search{ex: ex, target: w.claimant}
	if s.follow(w) {
		return s.circle()
	}
	return s.run()
}

// run goes on to whoever was reached, those that were reached first first: the circle
// that it finds is a shortest one.
func (s *search) run() []link {
	for len(s.todo) > 0 && s.looked < searchLimit {
		c := s.todo[0]
		s.todo = s.todo[1:]
		for next := c.first; next != nil && s.looked < searchLimit; next = next.younger() {
			if s.follow(next) {
				return s.circle()
			}
		}
	}
	return nil
}

// follow goes to everyone whom a waiter waits for; true: the search is at its end.
func (s *search) follow(w *waiter) bool {
	for pl := w.first(); pl != nil; pl = pl.sibling() {
		if s.looked++; s.looked > searchLimit {
			return false
		}
		owner, c, l := s.ex.holder(pl.queue)
		if l.Shares > 0 {
			end, own := s.followShares(w, pl, &l)
			if end {
				return true
			}
			if own {
				continue
			}
		} else if owner != nil && string(owner) == w.owner() {
			pl.queue.extras().holderWaits = strings.Clone(w.owner())
			continue
		}
		if c != nil && s.reach(c, w, pl.queue) {
			return true
		}
		if pl.queue.branches() == nil {
			continue
		}
		first := s.firstIn(pl.queue, w)
		for b := pl.queue.branches(); b != nil && s.looked < searchLimit; b = b.next {
			s.looked++
			if other := b.place.waiter; other.number < first.number && s.reach(other.claimant, w, pl.queue) {
				return true
			}
		}
	}
	return false
}

// followShares goes to those of a lock's holders whom a waiter waits for; end: as of follow. own: the
// waiter's owner is one of them, and waits for nobody else.
func (s *search) followShares(w *waiter, pl *place, l *commands.LockState) (end, own bool) {
	mine, own := commands.HolderOf(w.db.Peek([]byte(pl.key())), []byte(w.owner()))
	switch {
	case own && (mine.Exclusive > 0 || w.shared):
		return false, true
	case !own && w.shared && !l.Exclusive && !s.behindWriter(pl):
		return false, false
	}
	s.ex.eachSharer(pl.queue, l, func(c *claimant) bool {
		s.looked++
		end = c != w.claimant && s.reach(c, w, pl.queue)
		return !end && s.looked < searchLimit
	})
	return end, own
}

// behindWriter reports whether one who wants the lock for itself alone stands before a place in its queue.
func (s *search) behindWriter(pl *place) bool {
	for other := pl.queue.first; other != pl; other = other.next {
		if s.looked++; s.looked > searchLimit || other.waiter.claimant != nil && !other.waiter.shared {
			return true
		}
	}
	return false
}

// firstIn returns the one of a waiter's owner that came first of those in a queue in which the waiter
// stands.
func (s *search) firstIn(q *queue, w *waiter) *waiter {
	for other := w.claimant.first; other != w; other = other.younger() {
		if s.looked++; s.looked > searchLimit || other.standsIn(q) {
			return other
		}
	}
	return w
}

// reach notes that w waits for c; true: c is the one that the search began with.
func (s *search) reach(c *claimant, w *waiter, q *queue) bool {
	if _, known := s.reached[c]; known {
		return false
	}
	if s.reached == nil {
		s.reached = make(map[*claimant]link)
	}
	s.reached[c] = link{w, q.key()}
	s.todo = append(s.todo, c)
	return c == s.target
}

// circle tells how the target was reached, beginning with the youngest waiter on the way.
func (s *search) circle() (links []link) {
	youngest := 0
	for c := s.target; ; {
		l := s.reached[c]
		links = append(links, l)
		if l.waiter.number > links[youngest].waiter.number {
			youngest = len(links) - 1
		}
		if c = l.waiter.claimant; c == s.target {
			break
		}
	}
	slices.Reverse(links)
	youngest = len(links) - 1 - youngest
	return slices.Concat(links[youngest:], links[:youngest])
}

// refusal is a circle that a wait would have closed.
type refusal struct {
	atMS   int64
	db     int
	words  []string // as in the error: an owner, the lock it waits for, the owner that holds that, and so on
	cut    bool     // a word, or the circle, is longer
	client clientInfo
	id     int64
}

// refusals are the circles that were refused lately.
type refusals struct {
	total uint64
	last  []refusal // that of number i, from 0 on, at i modulo refusalsKept; nil until there is one
}

// refusalsKept is how many are told of.
const refusalsKept = 64

// hiddenLock stands for a lock of a circle that whoever is refused may not read.
const hiddenLock = "?"

// refuseCircle notes a circle, and spells it out for the client that is refused.
func (ex *executor) refuseCircle(links []link) error {
	w := links[0].waiter
	var words, told []string
	for _, l := range links {
		owner, key := l.waiter.owner(), l.key
		words = append(words, owner, key)
		if !w.session.user.MayRead(l.waiter.db.ID(), []byte(key)) {
			key = hiddenLock
		}
		told = append(told, owner, key)
	}
	words = append(words, words[0])
	err := commands.ErrDeadlock(append(told, words[0]))
	r := refusal{atMS: ex.store.NowMS(), db: w.db.ID(), client: w.session.info, id: w.session.id}
	const mostWords, mostBytes = 33, 128
	if r.cut = len(words) > mostWords; r.cut {
		words = words[:mostWords]
	}
	for _, word := range words {
		r.cut = r.cut || len(word) > mostBytes
		r.words = append(r.words, strings.Clone(word[:min(len(word), mostBytes)]))
	}
	p := ex.parking
	if p.refused.last == nil {
		p.refused.last = make([]refusal, refusalsKept)
	}
	p.refused.last[p.refused.total%refusalsKept] = r
	p.refused.total++
	ex.stats.LocksOf(r.db).Deadlocks++
	return err
}

// breakCircles follows the suspects, and refuses the youngest wait of a circle. Whoever stood behind it has
// their turn before it is called again. It says whether there is more to do in this unit: looked bounds
// that.
func (ex *executor) breakCircles(looked *int) (more bool) {
	p := ex.parking
	for len(p.suspects) > 0 && *looked < searchLimit {
		last := len(p.suspects) - 1
		c := p.suspects[last]
		s := search{ex: ex, target: c, todo: []*claimant{c}}
		links := s.run()
		*looked += 1 + s.looked
		if links != nil {
			w := links[0].waiter
			ex.answer(w, func(*commands.Ctx) error { return ex.refuseCircle(links) })
			return true // the suspect may stand in another
		}
		p.suspects[last], p.suspects = nil, p.suspects[:last]
		c.suspected = false
	}
	if len(p.suspects) > 0 {
		ex.timers.set(&p.goOn, ex.store.NowMS())
	}
	return false
}

// fire implements firer: suspects are left that the last unit had no time for.
func (p *parking) fire(*executor) {
	for _, c := range p.suspects {
		if c.first != nil {
			p.makeReady(c.first.place.queue) // the end of the unit looks for circles then
			return
		}
	}
	p.suspects = p.suspects[:0] // of none of them is anything parked
}
