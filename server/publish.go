package server

import (
	"strconv"

	"lockserver/internal/glob"
	"lockserver/internal/keyevent"
	"lockserver/server/attach"
	"lockserver/server/pubsub"
	"lockserver/server/replication"
	"lockserver/store"
)

// How messages travel. Each publisher, a client, a lock that is released or a key that changes, calls
// Publish under the executor. The message is encoded once for each version of the protocol and laid into
// the inbox of every session that listens; the sessions share the bytes. A session takes its inbox into its
// output before its next command writes anything, or when its owner comes for the output: so a message
// never stands inside a reply, and one that a client published to itself stands behind the reply of the
// command, or the transaction, that did it.
//
// What lies in an inbox counts against client-output-buffer-limit like any output.

// handOnMessage lets others who have this server's data tell who listens there.
func (ex *executor) handOnMessage(kind replication.MessageKind, channel, message []byte) {
	if ex.member != nil {
		ex.member.Message(kind.String(), channel, message)
		return
	}
	ex.replication.Publish(kind, channel, message)
}

// publish sends a message to everyone who listens to the channel, and returns how many they are.
func (ex *executor) publish(channel, payload []byte) int64 {
	p := &ex.pubsub
	reached := 0
	if to := p.Audience(pubsub.Channel, channel); to != nil {
		reached = ex.spread(to, &pubsub.Message{Kind: pubsub.Channel, Channel: channel, Payload: payload})
	}
	for _, to := range p.Patterns() {
		if glob.Match([]byte(to.Name), channel, false) {
			reached += ex.spread(to, &pubsub.Message{Kind: pubsub.Pattern, Pattern: []byte(to.Name), Channel: channel, Payload: payload})
		}
	}
	return int64(reached)
}

// publishSharded is publish for those who listen with SSUBSCRIBE.
func (ex *executor) publishSharded(channel, payload []byte) int64 {
	to := ex.pubsub.Audience(pubsub.Shard, channel)
	if to == nil {
		return 0
	}
	return int64(ex.spread(to, &pubsub.Message{Kind: pubsub.Shard, Channel: channel, Payload: payload}))
}

// spread lays a message into the inboxes of an audience and returns how many there were.
func (ex *executor) spread(to *pubsub.Audience[*session], m *pubsub.Message) int {
	for _, sub := range to.Members {
		ex.deliver(sub.Of, m.In(sub.Of.out.Proto))
	}
	return len(to.Members)
}

// subscribe makes the session listen to a name; it does nothing if it does already.
func (s *session) subscribe(kind pubsub.Kind, name []byte) {
	if s.subs == nil {
		s.subs = new(pubsub.Subscriptions[*session])
		s.class = classPubSub
	}
	s.executor.pubsub.Subscribe(s, s.subs, kind, name)
}

// unsubscribe ends what subscribe began; it does nothing if the session does not listen.
func (s *session) unsubscribe(kind pubsub.Kind, name []byte) {
	if s.subs != nil {
		s.executor.pubsub.Unsubscribe(s.subs, kind, name)
		s.listensNoMore()
	}
}

// unsubscribeAll ends everything that the session listens to, without telling it.
func (s *session) unsubscribeAll() {
	if s.subs != nil {
		s.executor.pubsub.UnsubscribeAll(s.subs)
		s.listensNoMore()
	}
}

// listensNoMore makes a session a normal one again if it has no subscription left.
func (s *session) listensNoMore() {
	if s.subs.Empty() {
		s.subs = nil
		s.class = classNormal
	}
}

// What happens to keys is published as messages, as notify-keyspace-events asks. The executor is the store's
// witness of what happens without a command.

// publishEvent sends an event in the forms that are asked for, in Redis' order.
func (ex *executor) publishEvent(db *store.DB, event string, key []byte) {
	if ex.pubsub.Len(pubsub.Channel) == 0 && ex.pubsub.Len(pubsub.Pattern) == 0 {
		return
	}
	forms := ex.settings.Events
	if forms&keyevent.Keyspace != 0 {
		ex.eventChannel = append(strconv.AppendInt(append(ex.eventChannel[:0], "__keyspace@"...), int64(db.ID()), 10), "__:"...)
		ex.eventChannel = append(ex.eventChannel, key...)
		ex.publish(ex.eventChannel, []byte(event))
	}
	if forms&keyevent.Keyevent != 0 {
		ex.eventChannel = append(strconv.AppendInt(append(ex.eventChannel[:0], "__keyevent@"...), int64(db.ID()), 10), "__:"...)
		ex.eventChannel = append(ex.eventChannel, event...)
		ex.publish(ex.eventChannel, key)
	}
	if cap(ex.eventChannel) > mostSpareChannel {
		ex.eventChannel = nil
	}
}

// mostSpareChannel is the size of the buffer for a channel's name that is kept for the next event.
const mostSpareChannel = 64 << 10

// notify publishes an event if its class is asked for.
func (ex *executor) notify(db *store.DB, class keyevent.Class, event string, key []byte) {
	if ex.settings.Events&class != 0 {
		ex.publishEvent(db, event, key)
	}
}

// KeyExpired implements store.Witness.
func (ex *executor) KeyExpired(db *store.DB, key []byte) {
	if ex.watchdog.attached.InUse() {
		ex.watchdog.attached.Because(db.ID(), key, attach.Expired)
	}
	ex.notify(db, keyevent.Expired, "expired", key)
}

// KeyEvicted implements store.Witness.
func (ex *executor) KeyEvicted(db *store.DB, key []byte) {
	ex.notify(db, keyevent.Evicted, "evicted", key)
}

// FieldsExpired implements store.Witness.
func (ex *executor) FieldsExpired(db *store.DB, key []byte, gone bool) {
	if ex.watchdog.attached.InUse() { // a lock that is shared: of those who still hold it it is forgotten
		ex.watchdog.attached.BecauseDoubted(db.ID(), key, attach.Expired)
	}
	ex.notify(db, keyevent.Hash, "hexpired", key)
	if gone {
		ex.notify(db, keyevent.Generic, "del", key)
	}
}

// KeyMade implements store.Witness.
func (ex *executor) KeyMade(db *store.DB, key []byte) { ex.notify(db, keyevent.New, "new", key) }

// KeyMissed implements store.Witness.
func (ex *executor) KeyMissed(db *store.DB, key []byte) { ex.notify(db, keyevent.Miss, "keymiss", key) }

// witnessed are the classes of events that the store reports.
const witnessed = keyevent.Expired | keyevent.Evicted | keyevent.Hash | keyevent.Generic | keyevent.New | keyevent.Miss

// followEvents makes the store tell what notify-keyspace-events asks for, and of leases that end.
func (ex *executor) followEvents() {
	if ex.settings.Events&witnessed != 0 || ex.watchdog.attached.InUse() {
		ex.store.SetWitness(ex)
	} else {
		ex.store.SetWitness(nil)
	}
}
