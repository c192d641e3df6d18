// Package pubsub knows who listens to which channels, patterns and sharded channels, and what a message looks
// like on the wire.
//
// It owns the audience of each name, and the subscriptions of each subscriber in the order in which it made
// them. It also owns the bytes of a message, which are made once and shared by all subscribers that get it.
// Its commands see the client that runs one as a Caller. It must not know what a subscriber is, or how it is
// sent something. Registry is generic, so that no call goes through an interface while a message is spread.
// Nothing here locks; its owner does.
//
// To add a kind of name that can be subscribed to: a Kind, and the word of its messages.
package pubsub

import (
	"iter"
	"maps"
)

// Kind is one of the three name spaces that can be subscribed to.
type Kind uint8

const (
	// Channel is what SUBSCRIBE names.
	Channel Kind = iota
	// Pattern is what PSUBSCRIBE names: of channels.
	Pattern
	// Shard is what SSUBSCRIBE names.
	Shard
	// Kinds is how many there are.
	Kinds
)

// Registry is who listens to what. The zero value is ready for use.
type Registry[S any] struct {
	byName      [Kinds]map[string]*Audience[S]
	patterns    []*Audience[S] // by place
	subscribers int            // those that are subscribed to anything
	bytes       int            // of the names, about
}

// Audience is who listens to one channel or pattern; there is none without a member. It is only changed by
// its registry.
type Audience[S any] struct {
	Name    string
	Members []*Subscription[S]
	place   int // of a pattern: in Registry.patterns
}

// Subscription is one subscriber's to one audience.
type Subscription[S any] struct {
	Of         S // the subscriber
	to         *Audience[S]
	place      int // in to.Members
	prev, next *Subscription[S]
}

// Subscriptions are all that one subscriber is subscribed to. The zero value is nothing.
type Subscriptions[S any] [Kinds]subscribed[S]

// subscribed are the subscriptions of one kind, in the order in which they were made.
type subscribed[S any] struct {
	byName      map[string]*Subscription[S]
	first, last *Subscription[S]
}

// Len returns how many there are of a kind.
func (s *Subscriptions[S]) Len(kind Kind) int { return len(s[kind].byName) }

// Count returns how many channels and patterns there are; sharded channels are counted apart.
func (s *Subscriptions[S]) Count() int { return s.Len(Channel) + s.Len(Pattern) }

// Empty reports whether there are none.
func (s *Subscriptions[S]) Empty() bool { return s.Count()+s.Len(Shard) == 0 }

// Has reports whether there is one of that name.
func (s *Subscriptions[S]) Has(kind Kind, name string) bool {
	_, ok := s[kind].byName[name]
	return ok
}

// All are the names of a kind, in no order.
func (s *Subscriptions[S]) All(kind Kind) iter.Seq[string] { return maps.Keys(s[kind].byName) }

// First returns the name that was subscribed to first of those of a kind that are left.
func (s *Subscriptions[S]) First(kind Kind) (name string, ok bool) {
	if first := s[kind].first; first != nil {
		return first.to.Name, true
	}
	return "", false
}

// Audience returns the subscribers of a name, nil if there are none.
func (r *Registry[S]) Audience(kind Kind, name []byte) *Audience[S] {
	return r.byName[kind][string(name)]
}

// Patterns returns the audiences of all patterns, which a message is matched with one after the other. The
// slice is the registry's.
func (r *Registry[S]) Patterns() []*Audience[S] { return r.patterns }

// Names returns the names that anyone listens to, in no order.
func (r *Registry[S]) Names(kind Kind) iter.Seq[string] { return maps.Keys(r.byName[kind]) }

// Len returns how many names of a kind anyone listens to.
func (r *Registry[S]) Len(kind Kind) int { return len(r.byName[kind]) }

// Subscribers returns how many listen to anything.
func (r *Registry[S]) Subscribers() int { return r.subscribers }

// What a subscription takes, and a name that anyone listens to without its text: the struct, its places in
// slices and its cell of a map. TestBytes measures it.
const (
	subscriptionBytes = 128
	audienceBytes     = 144
)

// Bytes returns about how much memory the names take that anyone listens to; those who listen are counted
// apart.
func (r *Registry[S]) Bytes() int { return r.bytes }

// Bytes returns about how much memory one subscriber's subscriptions take, without the names.
func (s *Subscriptions[S]) Bytes() int { return subscriptionBytes * (s.Count() + s.Len(Shard)) }

// Subscribe makes who listen; subs are its subscriptions. It does nothing if who listens already.
func (r *Registry[S]) Subscribe(who S, subs *Subscriptions[S], kind Kind, name []byte) {
	own := &subs[kind]
	if own.byName[string(name)] != nil {
		return
	}
	if subs.Empty() {
		r.subscribers++
	}
	if own.byName == nil {
		own.byName = map[string]*Subscription[S]{}
	}
	to := r.join(kind, name)
	sub := &Subscription[S]{Of: who, to: to, place: len(to.Members), prev: own.last}
	to.Members = append(to.Members, sub)
	if own.last != nil {
		own.last.next = sub
	} else {
		own.first = sub
	}
	own.last = sub
	own.byName[to.Name] = sub
}

// join returns the audience of a name, to which a member is about to be added.
func (r *Registry[S]) join(kind Kind, name []byte) *Audience[S] {
	if to := r.Audience(kind, name); to != nil {
		return to
	}
	if r.byName[kind] == nil {
		r.byName[kind] = map[string]*Audience[S]{}
	}
	to := &Audience[S]{Name: string(name)}
	r.bytes += audienceBytes + len(name)
	r.byName[kind][to.Name] = to
	if kind == Pattern {
		to.place = len(r.patterns)
		r.patterns = append(r.patterns, to)
	}
	return to
}

// Unsubscribe ends what Subscribe began; it does nothing if there is no such subscription.
func (r *Registry[S]) Unsubscribe(subs *Subscriptions[S], kind Kind, name []byte) {
	own := &subs[kind]
	sub := own.byName[string(name)]
	if sub == nil {
		return
	}
	delete(own.byName, sub.to.Name)
	if sub.prev != nil {
		sub.prev.next = sub.next
	} else {
		own.first = sub.next
	}
	if sub.next != nil {
		sub.next.prev = sub.prev
	} else {
		own.last = sub.prev
	}
	r.leave(sub, kind)
	if subs.Empty() {
		r.subscribers--
	}
}

// UnsubscribeAll ends all subscriptions of one subscriber.
func (r *Registry[S]) UnsubscribeAll(subs *Subscriptions[S]) {
	for kind := range Kinds {
		for name, ok := subs.First(kind); ok; name, ok = subs.First(kind) {
			r.Unsubscribe(subs, kind, []byte(name))
		}
	}
}

// leave takes a subscription out of its audience.
func (r *Registry[S]) leave(sub *Subscription[S], kind Kind) {
	to := sub.to
	last := len(to.Members) - 1
	to.Members[sub.place] = to.Members[last]
	to.Members[sub.place].place = sub.place
	to.Members[last] = nil
	to.Members = to.Members[:last]
	if last > 0 {
		return
	}
	r.bytes -= audienceBytes + len(to.Name)
	delete(r.byName[kind], to.Name)
	if kind == Pattern {
		end := len(r.patterns) - 1
		r.patterns[to.place] = r.patterns[end]
		r.patterns[to.place].place = to.place
		r.patterns[end] = nil
		r.patterns = r.patterns[:end]
	}
}
