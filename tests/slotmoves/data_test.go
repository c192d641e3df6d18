package slotmoves

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// slot is the data in a slot.
type slot struct {
	texts   map[string]text
	locks   map[string]*lock
	sales   map[string]*sale
	delayed map[string]int64 // due, by the entry's name
	stream  []string
}

type text struct {
	value string
	endMS int64 // 0: never
}

type lock struct {
	owner          string
	token          int64
	leaseMS, endMS int64
	renew          bool
	places         int64
	queue          []waiter
}

type waiter struct {
	owner           string
	priority, place int64
	leaseMS         int64
	renew           bool
}

type sale struct {
	stock, all int
	orders     map[string]order
}

type order struct {
	answer string // sold, held, refused, ended
	endMS  int64
}

func newSlot() *slot {
	return &slot{texts: map[string]text{}, locks: map[string]*lock{}, sales: map[string]*sale{}, delayed: map[string]int64{}}
}

func (s *slot) clone() *slot {
	c := &slot{maps.Clone(s.texts), map[string]*lock{}, map[string]*sale{}, maps.Clone(s.delayed), slices.Clone(s.stream)}
	for k, l := range s.locks {
		copied := *l
		copied.queue = slices.Clone(l.queue)
		c.locks[k] = &copied
	}
	for k, v := range s.sales {
		c.sales[k] = &sale{v.stock, v.all, maps.Clone(v.orders)}
	}
	return c
}

// describe returns the whole content as text, with or without deadlines.
func (s *slot) describe(deadlines bool) string {
	var b strings.Builder
	end := func(ms int64) {
		if deadlines && ms != 0 {
			fmt.Fprintf(&b, "@%d", ms)
		}
	}
	for _, k := range slices.Sorted(maps.Keys(s.texts)) {
		b.WriteString(" " + k + "=" + s.texts[k].value)
		end(s.texts[k].endMS)
	}
	for _, k := range slices.Sorted(maps.Keys(s.locks)) {
		l := s.locks[k]
		fmt.Fprintf(&b, " %s:%s#%d~%d/%t/%d", k, l.owner, l.token, l.leaseMS, l.renew, l.places)
		end(l.endMS)
		for _, w := range l.queue {
			fmt.Fprintf(&b, "<%s.%d.%d~%d/%t", w.owner, w.priority, w.place, w.leaseMS, w.renew)
		}
	}
	for _, k := range slices.Sorted(maps.Keys(s.sales)) {
		v := s.sales[k]
		fmt.Fprintf(&b, " %s:%d/%d", k, v.stock, v.all)
		for _, id := range slices.Sorted(maps.Keys(v.orders)) {
			b.WriteString(" " + id + "=" + v.orders[id].answer)
			end(v.orders[id].endMS)
		}
	}
	for _, k := range slices.Sorted(maps.Keys(s.delayed)) {
		b.WriteString(" " + k)
		end(s.delayed[k])
	}
	return b.String() + " " + strings.Join(s.stream, ",")
}

// shift moves the ends of leases and holds, as take does.
func (s *slot) shift(ms, nowMS int64) {
	for _, l := range s.locks {
		if l.endMS += ms; l.renew {
			l.endMS = nowMS + l.leaseMS
		}
	}
	for _, v := range s.sales {
		for id, o := range v.orders {
			if o.endMS != 0 {
				o.endMS += ms
				v.orders[id] = o
			}
		}
	}
}

// command is a command of a client, or of the server's timers: lapse, renew, release, expire, fire.
type command struct {
	name       string
	slot       int // -1: all that the shard serves
	key, other string
	owner      string
	leaseMS    int64
	renew      bool
	priority   int64
	token      int64
}

func (c *command) String() string {
	return strings.TrimSpace(fmt.Sprintf("%s {%d}%s %s %s", c.name, c.slot, c.key, c.other, c.owner))
}

// initialStock is the stock of each sale.
const initialStock = 4

// do executes a command at a time. token gives a new token. force executes what a timer does, without a
// look at the deadline: another place has looked. early reports that the deadline of a lease or a hold was
// not reached.
func (s *slot) do(c *command, nowMS int64, force bool, token func() int64) (reply string, early bool) {
	switch c.name {
	case "set":
		t := text{value: c.other}
		if c.leaseMS > 0 {
			t.endMS = nowMS + c.leaseMS
		}
		s.texts[c.key] = t
		return "ok", false
	case "append":
		t := s.texts[c.key]
		t.value += c.other
		s.texts[c.key] = t
		return "ok", false
	case "get":
		return s.texts[c.key].value, false
	case "del":
		delete(s.texts, c.key)
		return "ok", false
	case "rename":
		t, ok := s.texts[c.key]
		if !ok {
			return "no such key", false
		}
		delete(s.texts, c.key)
		s.texts[c.other] = t
		return "ok", false
	case "expire":
		t, ok := s.texts[c.key]
		if !ok || t.endMS == 0 || !force && t.endMS > nowMS {
			return "no", false
		}
		delete(s.texts, c.key)
		return "expired", false
	case "delay":
		s.delayed[c.other] = nowMS + c.leaseMS
		return "ok", false
	case "fire":
		due, ok := s.delayed[c.other]
		if !ok || !force && due > nowMS {
			return "no", false
		}
		delete(s.delayed, c.other)
		s.stream = append(s.stream, c.other)
		return "fired", false
	case "order", "pay", "release":
		return s.sell(c, nowMS, force)
	}
	return s.lockDo(c, nowMS, force, token)
}

func (s *slot) lockDo(c *command, nowMS int64, force bool, token func() int64) (reply string, early bool) {
	l := s.locks[c.key]
	switch c.name {
	case "lock":
		switch {
		case l == nil:
			l = &lock{owner: c.owner, token: token(), leaseMS: c.leaseMS, endMS: nowMS + c.leaseMS, renew: c.renew}
			s.locks[c.key] = l
			return fmt.Sprint("granted ", l.token), false
		case l.owner == c.owner:
			return fmt.Sprint("granted ", l.token), false
		case slices.ContainsFunc(l.queue, func(w waiter) bool { return w.owner == c.owner }):
			return "queued", false
		}
		l.places++
		l.queue = append(l.queue, waiter{c.owner, c.priority, l.places, c.leaseMS, c.renew})
		slices.SortStableFunc(l.queue, func(a, b waiter) int { return int(b.priority - a.priority) })
		return "queued", false
	case "unlock":
		if l == nil || l.owner != c.owner || l.token != c.token {
			return "not the owner", false
		}
		return "ok" + s.next(c.key, nowMS, token), false
	case "renew":
		if l == nil || l.token != c.token {
			return "no", false
		}
		l.endMS = nowMS + l.leaseMS
		return "renewed", false
	case "lapse":
		if l == nil || l.token != c.token || !force && l.endMS > nowMS {
			return "no", false
		}
		early = l.endMS > nowMS
		return "lapsed" + s.next(c.key, nowMS, token), early
	}
	panic(c.name)
}

// next gives a lock to the first of its queue.
func (s *slot) next(key string, nowMS int64, token func() int64) string {
	l := s.locks[key]
	if len(l.queue) == 0 {
		delete(s.locks, key)
		return ""
	}
	w := l.queue[0]
	l.queue = l.queue[1:]
	l.owner, l.token, l.leaseMS, l.endMS, l.renew = w.owner, token(), w.leaseMS, nowMS+w.leaseMS, w.renew
	return fmt.Sprintf(" to %s %d", l.owner, l.token)
}

func (s *slot) sell(c *command, nowMS int64, force bool) (reply string, early bool) {
	v := s.sales[c.key]
	if v == nil {
		if c.name != "order" {
			return "no", false
		}
		v = &sale{initialStock, initialStock, map[string]order{}}
		s.sales[c.key] = v
	}
	o, ok := v.orders[c.other]
	switch c.name {
	case "order":
		switch {
		case ok:
			return o.answer, false
		case v.stock == 0:
			o = order{answer: "refused"}
		case c.leaseMS > 0:
			o = order{"held", nowMS + c.leaseMS}
			v.stock--
		default:
			o = order{answer: "sold"}
			v.stock--
		}
	case "pay":
		if o.answer != "held" {
			return "no", false
		}
		o = order{answer: "sold"}
	case "release":
		if o.answer != "held" || !force && o.endMS > nowMS {
			return "no", false
		}
		early = o.endMS > nowMS
		o = order{answer: "ended"}
		v.stock++
	}
	v.orders[c.other] = o
	return o.answer, early
}

// balance returns an error text if a sale has not exactly its pieces.
func (s *slot) balance() string {
	for k, v := range s.sales {
		out := 0
		for _, o := range v.orders {
			if o.answer == "sold" || o.answer == "held" {
				out++
			}
		}
		if v.stock+out != v.all {
			return fmt.Sprintf("sale %s has %d in stock, %d sold or held, of %d", k, v.stock, out, v.all)
		}
	}
	return ""
}

// due returns the commands of the timers that are due, in order.
func (s *slot) due(n int, nowMS int64, attached func(owner string) bool) (all []*command) {
	for _, k := range slices.Sorted(maps.Keys(s.texts)) {
		if end := s.texts[k].endMS; end != 0 && end <= nowMS {
			all = append(all, &command{name: "expire", slot: n, key: k})
		}
	}
	for _, k := range slices.Sorted(maps.Keys(s.locks)) {
		switch l := s.locks[k]; {
		case l.endMS <= nowMS:
			all = append(all, &command{name: "lapse", slot: n, key: k, token: l.token})
		case l.renew && l.endMS-nowMS < l.leaseMS*2/3 && attached(l.owner):
			all = append(all, &command{name: "renew", slot: n, key: k, token: l.token})
		}
	}
	for _, k := range slices.Sorted(maps.Keys(s.sales)) {
		for _, id := range slices.Sorted(maps.Keys(s.sales[k].orders)) {
			if o := s.sales[k].orders[id]; o.answer == "held" && o.endMS <= nowMS {
				all = append(all, &command{name: "release", slot: n, key: k, other: id})
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(s.delayed)) {
		if s.delayed[id] <= nowMS {
			all = append(all, &command{name: "fire", slot: n, other: id})
		}
	}
	return all
}
