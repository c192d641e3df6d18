package server

import (
	"strconv"

	"lockserver/commands"
	"lockserver/internal/glob"
	"lockserver/internal/keyevent"
	"lockserver/server/attach"
	"lockserver/server/monitor"
	"lockserver/server/pubsub"
	"lockserver/store"
)

// How messages travel. Each publisher, a client, a lock that is released or a key that changes, calls
// Publish under the executor. The message is encoded once for each version of the protocol and laid into
// the inbox of every session that listens; the sessions share the bytes. A session takes its inbox into its
// output before its next command writes anything, or when its owner comes for the output: so a message
// never stands inside a reply. A message that a client published to itself stands behind the reply of the
// command, or the transaction, that did it.
//
// The content of an inbox counts against client-output-buffer-limit like any output.

// publish sends a message to everyone who listens to the channel, and returns how many they are.
func (of *publishing) publish(channel, payload []byte) int64 {
	p := &of.pubsub
	reached := 0
	if to := p.Audience(pubsub.Channel, channel); to != nil {
		reached = of.spread(to, &pubsub.Message{Kind: pubsub.Channel, Channel: channel, Payload: payload})
	}
	for _, to := range p.Patterns() {
		if glob.Match([]byte(to.Name), channel, false) {
			reached += of.spread(to, &pubsub.Message{Kind: pubsub.Pattern, Pattern: []byte(to.Name), Channel: channel, Payload: payload})
		}
	}
	return int64(reached)
}

// publishSharded is publish for subscribers with SSUBSCRIBE.
func (of *publishing) publishSharded(channel, payload []byte) int64 {
	to := of.pubsub.Audience(pubsub.Shard, channel)
	if to == nil {
		return 0
	}
	return int64(of.spread(to, &pubsub.Message{Kind: pubsub.Shard, Channel: channel, Payload: payload}))
}

// spread lays a message into the inboxes of an audience and returns how many there were.
func (*publishing) spread(to *pubsub.Audience[*session], m *pubsub.Message) int {
	for _, sub := range to.Members {
		sub.Of.executor.deliver(sub.Of, m.In(sub.Of.Out.Proto), false)
	}
	return len(to.Members)
}

// subscriber is a session as the commands of package pubsub see it.
type subscriber struct{ session *session }

var _ pubsub.Caller[*session] = subscriber{}

// subscriberOf is the session that runs the command.
func subscriberOf(c *commands.Ctx) pubsub.Caller[*session] { return subscriber{sessionOf(c)} }

// Registry implements pubsub.Caller.
func (of subscriber) Registry() *pubsub.Registry[*session] { return &of.session.executor.pubsub }

// Subscribed implements pubsub.Caller.
func (of subscriber) Subscribed() *pubsub.Subscriptions[*session] { return of.session.subs }

// Subscribe implements pubsub.Caller.
func (of subscriber) Subscribe(kind pubsub.Kind, name []byte) {
	s := of.session
	if s.subs == nil {
		s.subs = new(pubsub.Subscriptions[*session])
		s.class = classPubSub
	}
	s.executor.pubsub.Subscribe(s, s.subs, kind, name)
	tellListens(s.executor)
}

// tellListens tells the other shards of the process whether anyone listens here.
func tellListens(ex *executor) {
	if p := ex.opts.peers; p != nil {
		p.listens(ex.pubsub.Len(pubsub.Channel) + ex.pubsub.Len(pubsub.Pattern))
	}
}

// Unsubscribe implements pubsub.Caller.
func (of subscriber) Unsubscribe(kind pubsub.Kind, name []byte) {
	if s := of.session; s.subs != nil {
		s.executor.pubsub.Unsubscribe(s.subs, kind, name)
		tellListens(s.executor)
		s.listensNoMore()
	}
}

// Muted implements pubsub.Caller.
func (of subscriber) Muted() bool { return of.session.mute.mode.isMuted() }

// SendAnyway implements pubsub.Caller.
func (of subscriber) SendAnyway(b []byte) {
	of.session.mute.confirmed = append(of.session.mute.confirmed, b...)
}

// PublishSharded implements pubsub.Caller.
func (of subscriber) PublishSharded(channel, message []byte) int64 {
	ex := of.session.executor
	ex.Durable.Message("SPUBLISH", channel, message)
	return ex.publishSharded(channel, message)
}

// unsubscribeAll ends everything that the session listens to, without telling it.
func (s *session) unsubscribeAll() {
	if s.subs != nil {
		s.executor.pubsub.UnsubscribeAll(s.subs)
		tellListens(s.executor)
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

// beginMonitoring makes the session monitor; it does nothing if the session does already.
func beginMonitoring(c *commands.Ctx) (already bool) {
	s := sessionOf(c)
	if s.monitors {
		return true
	}
	s.monitors = true
	s.executor.monitors = append(s.executor.monitors, s)
	return false
}

// stopMonitoring ends MONITOR; it does nothing if s does not monitor.
func (s *session) stopMonitoring() {
	if s.monitors {
		s.monitors = false
		s.executor.monitors.Remove(s)
	}
}

// show tells the monitors of a command that has just run. A script's own commands come without a session.
func (ex *executor) show(s *session, row *commands.Row, db int, argv [][]byte) {
	if monitor.IsShown(row) {
		ex.tellMonitors(s, row, db, argv)
	}
}

// tellMonitors is show for any command.
func (ex *executor) tellMonitors(s *session, row *commands.Row, db int, argv [][]byte) {
	origin := monitor.Script
	if s != nil {
		origin = monitor.Origin(s.Info.Addr)
	}
	line := monitor.Line(ex.Store.NowUS(), db, origin, row, argv)
	for _, m := range ex.monitors {
		if !m.mute.mode.isMuted() {
			ex.deliver(m, line, false)
		}
	}
}

// keyEvents is the executor as it publishes what happens to keys, as notify-keyspace-events asks. It is the
// store's witness of what happens without a command.
type keyEvents struct{ *executor }

var _ store.Witness = keyEvents{}

// send publishes an event in the forms that are asked for, in Redis' order.
func (e keyEvents) send(db *store.DB, event string, key []byte) {
	ex := e.executor
	if ex.pubsub.Len(pubsub.Channel) == 0 && ex.pubsub.Len(pubsub.Pattern) == 0 {
		return
	}
	forms := ex.Settings.Events
	if forms&keyevent.Keyspace != 0 {
		ex.eventName = append(strconv.AppendInt(append(ex.eventName[:0], "__keyspace@"...), int64(db.ID()), 10), "__:"...)
		ex.eventName = append(ex.eventName, key...)
		ex.publish(ex.eventName, []byte(event))
	}
	if forms&keyevent.Keyevent != 0 {
		ex.eventName = append(strconv.AppendInt(append(ex.eventName[:0], "__keyevent@"...), int64(db.ID()), 10), "__:"...)
		ex.eventName = append(ex.eventName, event...)
		ex.publish(ex.eventName, key)
	}
	if cap(ex.eventName) > mostSpareChannel {
		ex.eventName = nil
	}
}

// mostSpareChannel is the size of the buffer for a channel's name that is kept for the next event.
const mostSpareChannel = 64 << 10

// notify publishes an event if its class is asked for.
func (e keyEvents) notify(db *store.DB, class keyevent.Class, event string, key []byte) {
	if e.Settings.Events&class != 0 {
		e.send(db, event, key)
	}
}

// KeyExpired implements store.Witness.
func (e keyEvents) KeyExpired(db *store.DB, key []byte) {
	if e.Waits.Watchdog.Attached.InUse() {
		e.Waits.Watchdog.Attached.Because(db.ID(), key, attach.Expired)
	}
	e.notify(db, keyevent.Expired, "expired", key)
}

// KeyEvicted implements store.Witness.
func (e keyEvents) KeyEvicted(db *store.DB, key []byte) {
	e.notify(db, keyevent.Evicted, "evicted", key)
}

// FieldsExpired implements store.Witness.
func (e keyEvents) FieldsExpired(db *store.DB, key []byte, gone bool) {
	if e.Waits.Watchdog.Attached.InUse() { // a shared lock: for owners that still hold it the reason is forgotten
		e.Waits.Watchdog.Attached.BecauseDoubted(db.ID(), key, attach.Expired)
	}
	e.notify(db, keyevent.Hash, "hexpired", key)
	if gone {
		e.notify(db, keyevent.Generic, "del", key)
	}
}

// KeyMade implements store.Witness.
func (e keyEvents) KeyMade(db *store.DB, key []byte) { e.notify(db, keyevent.New, "new", key) }

// KeyMissed implements store.Witness.
func (e keyEvents) KeyMissed(db *store.DB, key []byte) { e.notify(db, keyevent.Miss, "keymiss", key) }

// witnessed are the classes of events that the store reports.
const witnessed = keyevent.Expired | keyevent.Evicted | keyevent.Hash | keyevent.Generic | keyevent.New | keyevent.Miss

// followEvents makes the store tell what notify-keyspace-events asks for, and of leases that end.
func (ex *executor) followEvents() {
	if ex.Settings.Events&witnessed != 0 || ex.Waits.Watchdog.Attached.InUse() {
		ex.Store.SetWitness(keyEvents{ex})
	} else {
		ex.Store.SetWitness(nil)
	}
}
