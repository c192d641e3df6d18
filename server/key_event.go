package server

import (
	"strconv"

	"lockserver/internal/keyevent"
	"lockserver/store"
)

// keyEvents publishes what happens to keys. It is store.Witness for what happens without a command.
type keyEvents struct {
	executor *executor
	channel  []byte // room for names
}

// publish sends an event in the forms that are asked for, in Redis' order.
func (k *keyEvents) publish(db *store.DB, event string, key []byte) {
	ex := k.executor
	if len(ex.pubsub.channels) == 0 && len(ex.pubsub.patternList) == 0 {
		return
	}
	forms := ex.settings.Events
	if forms&keyevent.Keyspace != 0 {
		k.channel = append(strconv.AppendInt(append(k.channel[:0], "__keyspace@"...), int64(db.ID()), 10), "__:"...)
		k.channel = append(k.channel, key...)
		ex.publish(k.channel, []byte(event))
	}
	if forms&keyevent.Keyevent != 0 {
		k.channel = append(strconv.AppendInt(append(k.channel[:0], "__keyevent@"...), int64(db.ID()), 10), "__:"...)
		k.channel = append(k.channel, event...)
		ex.publish(k.channel, key)
	}
	if cap(k.channel) > mostSpareChannel {
		k.channel = nil
	}
}

// mostSpareChannel is the room for a channel's name that is kept for the next event.
const mostSpareChannel = 64 << 10

// notify publishes an event if its class is asked for.
func (k *keyEvents) notify(db *store.DB, class keyevent.Class, event string, key []byte) {
	if k.executor.settings.Events&class != 0 {
		k.publish(db, event, key)
	}
}

// KeyExpired implements store.Witness.
func (k *keyEvents) KeyExpired(db *store.DB, key []byte) {
	k.notify(db, keyevent.Expired, "expired", key)
}

// KeyEvicted implements store.Witness.
func (k *keyEvents) KeyEvicted(db *store.DB, key []byte) {
	k.notify(db, keyevent.Evicted, "evicted", key)
}

// FieldsExpired implements store.Witness.
func (k *keyEvents) FieldsExpired(db *store.DB, key []byte, gone bool) {
	k.notify(db, keyevent.Hash, "hexpired", key)
	if gone {
		k.notify(db, keyevent.Generic, "del", key)
	}
}

// KeyMade implements store.Witness.
func (k *keyEvents) KeyMade(db *store.DB, key []byte) { k.notify(db, keyevent.New, "new", key) }

// KeyMissed implements store.Witness.
func (k *keyEvents) KeyMissed(db *store.DB, key []byte) { k.notify(db, keyevent.Miss, "keymiss", key) }

// witnessed are the classes of events of which the store tells.
const witnessed = keyevent.Expired | keyevent.Evicted | keyevent.Hash | keyevent.Generic | keyevent.New | keyevent.Miss

// follow makes the store tell what notify-keyspace-events asks for.
func (k *keyEvents) follow() {
	if k.executor.settings.Events&witnessed != 0 {
		k.executor.store.SetWitness(k)
	} else {
		k.executor.store.SetWitness(nil)
	}
}
