// Package pubsub knows which clients are subscribed to which channels, patterns and sharded channels, and the
// form of a message on the wire.
//
// It owns the audience of each name, and the subscriptions of each subscriber in the order in which it made
// them. It also owns the bytes of a message, which are made once and shared by all subscribers that get it.
// Its commands see the calling client as a Caller. It must not know what a subscriber is, or how output is
// sent to it. Registry is generic, so that no call goes through an interface while a message is distributed.
// Nothing here locks; its owner does.
//
// To add a kind of name for subscriptions, add a Kind, and the word of its messages.
package pubsub

import (
	"iter"
	"maps"
)

// Kind is one of the three name spaces of subscriptions.
type Kind uint8

const (
	// Channel is the kind of SUBSCRIBE.
	Channel Kind = iota
	// Pattern is the kind of PSUBSCRIBE: a pattern of channels.
	Pattern
	// Shard is the kind of SSUBSCRIBE.
	Shard
	// Kinds is the number of kinds.
	Kinds
)

// Registry holds all subscriptions. The zero value is ready for use.
type Registry[S any] struct {
	byName      [Kinds]map[string]*Audience[S]
	patterns    []*Audience[S] // by place
	subscribers int            // number of clients with subscriptions
	bytes       int            // about the size of the names
}

// Audience holds the subscribers of a channel or pattern. It is removed with its last member, and only
// changed by its registry.
type Audience[S any] struct {
	Name    string
	Members []*Subscription[S]
	place   int // of a pattern: its index in Registry.patterns
}

// Subscription is the subscription of one subscriber to one audience.
type Subscription[S any] struct {
	Of         S // the subscriber
	to         *Audience[S]
	place      int // index in to.Members
	prev, next *Subscription[S]
}

// Subscriptions holds the subscriptions of a subscriber. The zero value is empty.
type Subscriptions[S any] [Kinds]subscribed[S]

// subscribed holds the subscriptions of one kind, in the order in which they were made.
type subscribed[S any] struct {
	byName      map[string]*Subscription[S]
	first, last *Subscription[S]
}

// Len returns the number of subscriptions of a kind.
func (s *Subscriptions[S]) Len(kind Kind) int { return len(s[kind].byName) }

// Count returns the number of channels and patterns, without sharded channels.
func (s *Subscriptions[S]) Count() int { return s.Len(Channel) + s.Len(Pattern) }

// Empty reports whether there are no subscriptions.
func (s *Subscriptions[S]) Empty() bool { return s.Count()+s.Len(Shard) == 0 }

// Has reports whether there is a subscription to a name.
func (s *Subscriptions[S]) Has(kind Kind, name string) bool {
	_, ok := s[kind].byName[name]
	return ok
}

// All returns the names of a kind, in no order.
func (s *Subscriptions[S]) All(kind Kind) iter.Seq[string] { return maps.Keys(s[kind].byName) }

// First returns the name of the oldest subscription of a kind.
func (s *Subscriptions[S]) First(kind Kind) (name string, ok bool) {
	if first := s[kind].first; first != nil {
		return first.to.Name, true
	}
	return "", false
}

// Audience returns the subscribers of a name, or nil.
func (r *Registry[S]) Audience(kind Kind, name []byte) *Audience[S] {
	return r.byName[kind][string(name)]
}

// Patterns returns the audiences of all patterns, with which a message is matched one after the other. The
// slice belongs to the registry.
func (r *Registry[S]) Patterns() []*Audience[S] { return r.patterns }

// Names returns the names with subscribers, in no order.
func (r *Registry[S]) Names(kind Kind) iter.Seq[string] { return maps.Keys(r.byName[kind]) }

// Len returns the number of names of a kind with subscribers.
func (r *Registry[S]) Len(kind Kind) int { return len(r.byName[kind]) }

// Subscribers returns the number of clients with subscriptions.
func (r *Registry[S]) Subscribers() int { return r.subscribers }

// The sizes of a subscription, and of a name with subscribers without its text: the struct, its entries in
// slices and its cell of a map. TestBytes measures it.
const (
	subscriptionBytes = 128
	audienceBytes     = 144
)

// Bytes returns about the memory of the names with subscribers. The subscriptions are counted for their
// clients.
func (r *Registry[S]) Bytes() int { return r.bytes }

// Bytes returns about the memory of a subscriber's subscriptions, without the names.
func (s *Subscriptions[S]) Bytes() int { return subscriptionBytes * (s.Count() + s.Len(Shard)) }

// Subscribe subscribes who to a name; subs holds its subscriptions. It does nothing if the subscription
// exists.
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

// join returns the audience of a name. The caller adds a member to it.
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

// Unsubscribe ends a subscription. It does nothing if the subscription does not exist.
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

// leave removes a subscription from its audience.
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
