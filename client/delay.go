package client

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Delay adds entries to a stream at a later time. The server stores them until they are due, and workers read
// the stream as any other stream.
type Delay struct {
	client *Client
	stream string
}

// Delay returns the delayed entries of a stream. Nothing is sent.
func (c *Client) Delay(stream string) Delay { return Delay{c, stream} }

// Due is the time at which an entry is added to its stream, by the server's clock.
type Due struct {
	option string
	ms     int64
	bad    error
}

// After is the time d after the server gets the command, rounded up to a millisecond. A negative d is refused
// with [ErrValue].
func After(d time.Duration) Due {
	if d < 0 {
		return Due{bad: bad("a delay of %v; At takes a time that is past", d)}
	}
	return Due{option: "PX", ms: ceilMS(d)}
}

// At is the time t, to the millisecond. A past time means now. The zero time is refused with [ErrValue].
func At(t time.Time) Due {
	if t.IsZero() {
		return Due{bad: bad("a time that was not set")}
	}
	ms, err := unixMS("a time", t)
	return Due{option: "AT", ms: ms, bad: err}
}

// words returns the words of a command; the error is that of a value that is not allowed.
func (d Due) words() ([]string, error) {
	if d.option == "" && d.bad == nil {
		return nil, bad("no time: use After or At")
	}
	return []string{d.option, decimal(d.ms)}, d.bad
}

// Pending is an entry that is not due yet.
type Pending struct {
	ID     string
	Due    time.Time // of a recurring entry: the next time
	Fields []string  // fields and values in turn
	Rule   *Rule     // nil: the entry does not recur
}

var errFields = bad("an entry has fields and values in turn, one pair at least")

// Add stores an entry until it is due. fields are fields and values in turn. The id is the name for Cancel
// and Move; if it is empty the client makes an id, and returns it.
//
// added is false if an entry with this id was pending: nothing has changed then. The call is sent again if
// its answer was lost. The server knows the call by an id of its own for ten minutes (ONCE). So only one
// entry is added, even if it has fallen due meanwhile.
func (d Delay) Add(ctx context.Context, id string, due Due, fields ...string) (entry string, added bool, err error) {
	when, err := due.words()
	return d.add(ctx, id, when, err, fields)
}

// add is Add with the words of the time; err is the error of a bad time.
func (d Delay) add(ctx context.Context, id string, when []string, err error, fields []string) (entry string, added bool, _ error) {
	if err = cmp.Or(named("a stream", d.stream), err); err != nil {
		return "", false, err
	}
	if len(fields) == 0 || len(fields)%2 != 0 {
		return "", false, errFields
	}
	if id == "" {
		id = request()
	}
	words := append([]string{"DELAY.ADD", d.stream}, when...)
	words = append(append(words, "ID", id, "ONCE", request()), fields...)
	reply, err := d.client.again(ctx, words)
	return id, reply != nil, err
}

// request returns an id of a call, by which the server knows the call when it is sent again.
func request() string { return strings.ToLower(rand.Text()) }

// Cancel removes a pending entry. done is false if no entry with this id is pending: it was added to the
// stream, or cancelled before. A call that is sent again gets the answer of the first time.
func (d Delay) Cancel(ctx context.Context, id string) (done bool, err error) {
	if err := d.check(id); err != nil {
		return false, err
	}
	n, err := d.client.number(ctx, []string{"DELAY.CANCEL", d.stream, id, "ONCE", request()})
	return n == 1, err
}

// Move makes a pending entry due at another time. done is false if no entry with this id is pending. A call
// that is sent again gets the answer of the first time.
func (d Delay) Move(ctx context.Context, id string, due Due) (done bool, err error) {
	when, err := due.words()
	if err = cmp.Or(d.check(id), err); err != nil {
		return false, err
	}
	n, err := d.client.number(ctx, append(append([]string{"DELAY.MOVE", d.stream, id}, when...), "ONCE", request()))
	return n == 1, err
}

// Get returns a pending entry; ok is false if no entry with this id is pending.
func (d Delay) Get(ctx context.Context, id string) (e Pending, ok bool, err error) {
	if err := d.check(id); err != nil {
		return Pending{}, false, err
	}
	reply, err := d.client.again(ctx, []string{"DELAY.GET", d.stream, id})
	if reply == nil || err != nil {
		return Pending{}, false, err
	}
	list, _ := reply.([]any)
	e, ok = pendingOf(id, list)
	if !ok {
		return Pending{}, false, fmt.Errorf("DELAY.GET: the reply is %v", reply)
	}
	return e, true, nil
}

// pendingOf reads the time, the fields and, if there are any, the words of a rule.
func pendingOf(id string, parts []any) (e Pending, ok bool) {
	if len(parts) < 2 {
		return Pending{}, false
	}
	ms, _ := parts[0].(int64)
	fields, _ := textsOf(parts[1])
	e = Pending{ID: id, Due: time.UnixMilli(ms), Fields: fields}
	if len(parts) > 2 {
		e.Rule = ruleOf(parts[2])
	}
	return e, true
}

// List returns pending entries that are due at from or later, in the order of their times. It returns at most
// count entries, and at most 100 if count is 0. The zero time lists from the first entry.
func (d Delay) List(ctx context.Context, from time.Time, count int) ([]Pending, error) {
	since, err := unixMS("a time", from)
	if err = cmp.Or(named("a stream", d.stream), atLeast(0, "a count", count), err); err != nil {
		return nil, err
	}
	words := []string{"DELAY.LIST", d.stream, "FROM", decimal(since)}
	if count != 0 {
		words = append(words, "COUNT", strconv.Itoa(count))
	}
	reply, err := d.client.again(ctx, words)
	if err != nil {
		return nil, err
	}
	list, _ := reply.([]any)
	entries := make([]Pending, 0, len(list))
	for _, each := range list {
		parts, _ := each.([]any)
		if len(parts) < 3 {
			return nil, fmt.Errorf("DELAY.LIST: an element is %v", each)
		}
		id, _ := parts[0].(string)
		e, _ := pendingOf(id, parts[1:])
		entries = append(entries, e)
	}
	return entries, nil
}

// check refuses empty names.
func (d Delay) check(id string) error {
	return cmp.Or(named("a stream", d.stream), named("the id of an entry", id))
}

// Count returns the number of pending entries of the stream.
func (d Delay) Count(ctx context.Context) (int, error) {
	if err := named("a stream", d.stream); err != nil {
		return 0, err
	}
	n, err := d.client.number(ctx, []string{"DELAY.COUNT", d.stream})
	return int(max(n, 0)), err
}
