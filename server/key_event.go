package server

import (
	"strconv"

	"lockserver/internal/keyevent"
	"lockserver/server/pubsub"
	"lockserver/store"
)

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

// mostSpareChannel is the room for a channel's name that is kept for the next event.
const mostSpareChannel = 64 << 10

// notify publishes an event if its class is asked for.
func (ex *executor) notify(db *store.DB, class keyevent.Class, event string, key []byte) {
	if ex.settings.Events&class != 0 {
		ex.publishEvent(db, event, key)
	}
}

// KeyExpired implements store.Witness.
func (ex *executor) KeyExpired(db *store.DB, key []byte) {
	ex.notify(db, keyevent.Expired, "expired", key)
}

// KeyEvicted implements store.Witness.
func (ex *executor) KeyEvicted(db *store.DB, key []byte) {
	ex.notify(db, keyevent.Evicted, "evicted", key)
}

// FieldsExpired implements store.Witness.
func (ex *executor) FieldsExpired(db *store.DB, key []byte, gone bool) {
	ex.notify(db, keyevent.Hash, "hexpired", key)
	if gone {
		ex.notify(db, keyevent.Generic, "del", key)
	}
}

// KeyMade implements store.Witness.
func (ex *executor) KeyMade(db *store.DB, key []byte) { ex.notify(db, keyevent.New, "new", key) }

// KeyMissed implements store.Witness.
func (ex *executor) KeyMissed(db *store.DB, key []byte) { ex.notify(db, keyevent.Miss, "keymiss", key) }

// witnessed are the classes of events of which the store tells.
const witnessed = keyevent.Expired | keyevent.Evicted | keyevent.Hash | keyevent.Generic | keyevent.New | keyevent.Miss

// followEvents makes the store tell what notify-keyspace-events asks for.
func (ex *executor) followEvents() {
	if ex.settings.Events&witnessed != 0 {
		ex.store.SetWitness(ex)
	} else {
		ex.store.SetWitness(nil)
	}
}
