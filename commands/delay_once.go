package commands

import (
	"lockserver/internal/keyevent"
	"lockserver/store"
)

// DelayOnceMS is how long the server remembers a request id (ONCE) of a delayed entry.
const DelayOnceMS = 10 * 60 * 1000

// A call of DELAY.ADD, DELAY.CANCEL or DELAY.MOVE may have a request id. A repetition of the call has the
// same id. The hash {stream}:delayed:requests has a field for each request that has changed something, until
// DelayOnceMS later. The field's value is the letter of the command, and the entry's id: "a:order-7". Format,
// do not change.

// requestsKey returns the name of that hash. It is valid as long as that of entriesKey.
func requestsKey(c *Ctx, stream []byte) []byte {
	name := append(append(append(c.names[1][:0], store.DelayedPrefix...), stream...), store.DelayedSuffix...)
	return append(name, store.RequestsSuffix...)
}

// delayRequest is the request id of a call (ONCE).
type delayRequest struct {
	stream, entry []byte
	id            []byte // nil: no ONCE
	letter        byte   // of the command
}

// readOnce reads ONCE, if it is next.
func (r *delayRequest) readOnce(a *Scanner) {
	if a.IsNext("ONCE") {
		if r.id = a.Bytes(); len(r.id) == 0 && a.Err() == nil {
			a.Fail(ErrDelayRequestEmpty)
		}
	}
}

// done reports whether the request has changed something before. It fails if the id belongs to another call.
func (r *delayRequest) done(c *Ctx) (bool, error) {
	if r.id == nil {
		return false, nil
	}
	requests := c.DB.FindToWrite(requestsKey(c, r.stream))
	if !requests.Is(store.Hash) {
		return false, ErrWrongType
	}
	if !requests.OK() {
		return false, nil
	}
	value, ok := requests.Hash().Get(nil, r.id)
	switch {
	case !ok:
		return false, nil
	case string(value) != string(r.value(c)):
		return false, ErrDelayRequest(r.id)
	}
	return true, nil
}

// value returns the value for the field of the request.
func (r *delayRequest) value(c *Ctx) []byte {
	return append(append(c.Scratch(), r.letter, ':'), r.entry...)
}

// keep remembers a request that has changed something.
func (r *delayRequest) keep(c *Ctx) {
	if r.id == nil {
		return
	}
	key := requestsKey(c, r.stream)
	requests := c.DB.EditHash(key)
	requests.Set(r.id, r.value(c))
	requests.AllowDeadlines()
	requests.ExpireField(r.id, c.NowMS()+DelayOnceMS)
	c.Notify(keyevent.Hash, "hset", key)
	c.Notify(keyevent.Hash, "hexpire", key)
}
