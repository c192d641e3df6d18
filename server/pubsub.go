package server

import (
	"lockserver/internal/glob"
	"lockserver/internal/resp"
)

// How messages travel. Whoever publishes, a client, a lock that is released or a key that changes, calls
// Publish under the executor. The message is encoded once for each version of the protocol and laid into
// the inbox of every session that listens; the sessions share the bytes. A session takes its inbox into its
// output before its next command writes anything, or when its owner comes for the output: so a message
// never stands inside a reply, and one that a client published to itself stands behind the reply of the
// command, or the transaction, that did it.
//
// What lies in an inbox counts against client-output-buffer-limit like any output.

// channelKind is one of the three name spaces that can be subscribed to.
type channelKind uint8

const (
	byChannel channelKind = iota
	byPattern
	byShard
	channelKinds
)

// pubsub is who listens to what. It is only touched under the executor.
type pubsub struct {
	channels, shards map[string]*audience
	patterns         map[string]*audience
	// patternList holds the patterns, which a message is matched with one after the other.
	patternList []*audience
	listeners   int // sessions that are subscribed to anything
}

func newPubSub() pubsub {
	return pubsub{channels: map[string]*audience{}, patterns: map[string]*audience{}, shards: map[string]*audience{}}
}

// directory returns the name space of a kind.
func (p *pubsub) directory(kind channelKind) map[string]*audience {
	return [...]map[string]*audience{p.channels, p.patterns, p.shards}[kind]
}

// audience is who listens to one channel or pattern; there is none without a member.
type audience struct {
	name    string
	members []*subscription
	place   int // of a pattern: in pubsub.patternList
}

// subscription is one session's to one audience.
type subscription struct {
	session    *session
	to         *audience
	place      int // in to.members
	prev, next *subscription
}

// subscribed are the subscriptions of one kind that a session has, in the order in which it made them.
type subscribed struct {
	byName      map[string]*subscription
	first, last *subscription
}

// subscriptions are all that a session is subscribed to.
type subscriptions [channelKinds]subscribed

// count returns how many channels and patterns there are; sharded channels are counted apart.
func (s *subscriptions) count() int { return len(s[byChannel].byName) + len(s[byPattern].byName) }

// subscribe makes s listen; it does nothing if s does already.
func (p *pubsub) subscribe(s *session, kind channelKind, name []byte) {
	if s.subs == nil {
		s.subs = new(subscriptions)
		s.class = classPubSub
		p.listeners++
	}
	own := &s.subs[kind]
	if own.byName[string(name)] != nil {
		return
	}
	if own.byName == nil {
		own.byName = map[string]*subscription{}
	}
	all := p.directory(kind)
	to := all[string(name)]
	if to == nil {
		to = &audience{name: string(name)}
		all[to.name] = to
		if kind == byPattern {
			to.place = len(p.patternList)
			p.patternList = append(p.patternList, to)
		}
	}
	sub := &subscription{session: s, to: to, place: len(to.members), prev: own.last}
	to.members = append(to.members, sub)
	if own.last != nil {
		own.last.next = sub
	} else {
		own.first = sub
	}
	own.last = sub
	own.byName[to.name] = sub
}

// unsubscribe ends what subscribe began; it does nothing if s does not listen.
func (p *pubsub) unsubscribe(s *session, kind channelKind, name []byte) {
	if s.subs == nil {
		return
	}
	own := &s.subs[kind]
	sub := own.byName[string(name)]
	if sub == nil {
		return
	}
	delete(own.byName, sub.to.name)
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
	p.leave(sub, kind)
	if s.subs.count()+len(s.subs[byShard].byName) == 0 {
		s.subs = nil
		s.class = classNormal
		p.listeners--
	}
}

// leave takes a subscription out of its audience.
func (p *pubsub) leave(sub *subscription, kind channelKind) {
	to := sub.to
	last := len(to.members) - 1
	to.members[sub.place] = to.members[last]
	to.members[sub.place].place = sub.place
	to.members[last] = nil
	to.members = to.members[:last]
	if last > 0 {
		return
	}
	delete(p.directory(kind), to.name)
	if kind == byPattern {
		end := len(p.patternList) - 1
		p.patternList[to.place] = p.patternList[end]
		p.patternList[to.place].place = to.place
		p.patternList[end] = nil
		p.patternList = p.patternList[:end]
	}
}

// forget ends everything that a session listens to, without telling it.
func (p *pubsub) forget(s *session) {
	for kind := range channelKinds {
		for s.subs != nil && s.subs[kind].first != nil {
			p.unsubscribe(s, kind, []byte(s.subs[kind].first.to.name))
		}
	}
}

// message is one message as it is sent, encoded when it is first needed.
type message struct {
	kind             string
	pattern          []byte // of a pmessage
	channel, payload []byte
	encoded          [2][]byte // in version 2 and 3 of the protocol
}

// in returns the bytes for a version of the protocol, which many share: nobody may write to them.
func (m *message) in(proto int) []byte {
	i := 0
	if proto >= 3 {
		i = 1
	}
	if m.encoded[i] == nil {
		w := resp.Writer{Proto: proto, Buf: make([]byte, 0, 64+len(m.pattern)+len(m.channel)+len(m.payload))}
		if m.pattern != nil {
			w.Push(4)
			w.BulkString(m.kind)
			w.Bulk(m.pattern)
		} else {
			w.Push(3)
			w.BulkString(m.kind)
		}
		w.Bulk(m.channel)
		w.Bulk(m.payload)
		m.encoded[i] = w.Buf
	}
	return m.encoded[i]
}

// publish sends a message to everyone who listens to the channel, and returns how many they are.
func (ex *executor) publish(channel, payload []byte) int64 {
	p := &ex.pubsub
	reached := 0
	if to := p.channels[string(channel)]; to != nil {
		reached = ex.spread(to, &message{kind: "message", channel: channel, payload: payload})
	}
	for _, to := range p.patternList {
		if glob.Match([]byte(to.name), channel, false) {
			reached += ex.spread(to, &message{kind: "pmessage", pattern: []byte(to.name), channel: channel, payload: payload})
		}
	}
	return int64(reached)
}

// publishSharded is Publish for those who listen with SSUBSCRIBE.
func (ex *executor) publishSharded(channel, payload []byte) int64 {
	to := ex.pubsub.shards[string(channel)]
	if to == nil {
		return 0
	}
	return int64(ex.spread(to, &message{kind: "smessage", channel: channel, payload: payload}))
}

// spread lays a message into the inboxes of an audience and returns how many there were.
func (ex *executor) spread(to *audience, m *message) int {
	for _, sub := range to.members {
		ex.deliver(sub.session, m.in(sub.session.out.Proto))
	}
	return len(to.members)
}
