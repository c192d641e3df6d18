package commands

import (
	"lockserver/internal/keyevent"
	"lockserver/store"
)

// Notify publishes an event of a key if events of this class are enabled (notify-keyspace-events); otherwise
// it costs a comparison. Handlers call it after the change, once for each event, in Redis' order and with
// Redis' names. Events without a handler, such as expiry, are reported to the server by the store: see
// store.Witness.
func (c *Ctx) Notify(class keyevent.Class, event string, key []byte) {
	if c.Settings.Events&class != 0 {
		c.Host.KeyEvent(c.DB, event, Clone(key)) // a copy, so that a key on the caller's stack may stay there
	}
}

// NotifyIn is Notify for a key of another database than the session's.
func (c *Ctx) NotifyIn(db *store.DB, class keyevent.Class, event string, key []byte) {
	if c.Settings.Events&class != 0 {
		c.Host.KeyEvent(db, event, Clone(key))
	}
}

// NotifyTaken is Notify for an event that took something out of a container: gone
// says that the key went with it.
func (c *Ctx) NotifyTaken(class keyevent.Class, event string, key []byte, gone bool) {
	c.Notify(class, event, key)
	if gone {
		c.Notify(keyevent.Generic, "del", key)
	}
}

// notifyStored is Notify for a command that stored its result in a key. empty says that there was no result,
// existed that the key existed before.
func (c *Ctx) notifyStored(class keyevent.Class, event string, key []byte, empty, existed bool) {
	switch {
	case !empty:
		c.Notify(class, event, key)
	case existed:
		c.Notify(keyevent.Generic, "del", key)
	}
}

// notifySet tells that a key was made a string, with a deadline if ttl says one. One
// that is past ends it at once.
func (c *Ctx) notifySet(key []byte, ttl store.TTL) {
	c.Notify(keyevent.String, "set", key)
	if ttl <= 0 {
		return
	}
	c.Notify(keyevent.Generic, "expire", key)
	if int64(ttl) <= c.NowMS() {
		c.Notify(keyevent.Expired, "expired", key)
	}
}

// notifyDeadline tells that a key was given a deadline, or, if that is past, that it died of it at once.
func (c *Ctx) notifyDeadline(key []byte, atMS int64) {
	if atMS <= c.NowMS() {
		c.Notify(keyevent.Generic, "del", key)
	} else {
		c.Notify(keyevent.Generic, "expire", key)
	}
}
