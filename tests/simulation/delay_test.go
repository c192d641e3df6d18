//go:build simulation

package simulation

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"lockserver/internal/resp"
)

// delays models a stream with delayed entries: DELAY.ADD with and without a rule, DELAY.CANCEL, and a script
// that reads the stream and the pending entries at one moment. Clocks may be set by weeks, so the model knows
// no times at which entries fall due. It learns at the next read which of them the server has added. Each
// further entry of the stream belongs to a call that may still add some, and is due at a later time of its
// rule. The entries that a call has added and the number that is left are as many as it has asked for.
type delays struct {
	stream []string // the entries as they were read, as id=value@due
	calls  []delayCall
}

// delayCall is a DELAY.ADD that may still add entries to the stream.
type delayCall struct {
	id, value string
	rule      int // of delayRules
	times     int // how many entries it has asked for
	shown     int // how many of them were read
	dueMS     int64
	state     callState
}

type callState int

const (
	pending   callState = iota // it was pending when it was last heard of
	cancelled                  // the stream may show entries that were added before
	done                       // all of its entries were added
)

// delayRules are the rules of the entries: the words behind the name of the stream, and how far the times of
// two entries are apart. everyMS 0: the entry does not recur.
var delayRules = []struct {
	words   []string
	everyMS int64
}{
	{[]string{"PX", "300"}, 0},
	{[]string{"EVERY", "150"}, 150},
	{[]string{"PX", "50", "EVERY", "400"}, 400},
	{[]string{"CRON", "* * * * * *", "TZ", "Asia/Kolkata"}, 1000},
}

// delayMissed are the options MISSED of the rules with an interval.
var delayMissed = []string{"ONCE", "SKIP", "ALL"}

// delayIDs is the number of ids in a stream.
const delayIDs = 3

// readDelays reads a stream and its pending entries.
const readDelays = "return {redis.call('XRANGE', KEYS[1], '-', '+'), redis.call('DELAY.LIST', KEYS[1])}"

func delayFamily() family {
	key := func(n int) string { return fmt.Sprint("delays:", n) }
	about := func(n int) string { return fmt.Sprint("delay ", n) }
	look := func(n int) *operation { return op(about(n), "look", "EVAL", readDelays, "1", key(n)) }
	return family{name: "delay", keys: 2, model: func() sequential { return delays{} }, final: look,
		draw: func(c *client, n int) *operation {
			id := fmt.Sprint("id", c.chance.below(delayIDs))
			switch c.chance.below(6) {
			case 0, 1:
				return look(n)
			case 2:
				o := op(about(n), "cancel", "DELAY.CANCEL", key(n), id)
				o.value = id
				return o
			}
			o := op(about(n), "add", "DELAY.ADD", key(n))
			call := delayCall{id: id, value: c.fresh(), rule: c.chance.below(len(delayRules)), times: 1}
			o.words = append(o.words, delayRules[call.rule].words...)
			if delayRules[call.rule].everyMS > 0 {
				call.times += c.chance.below(4)
				o.words = append(o.words, "TIMES", strconv.Itoa(call.times), "MISSED", one(c.chance, delayMissed...))
			}
			o.words = append(o.words, "ID", id, "v", call.value)
			o.value, o.added = id, &call
			return o
		}}
}

// String implements sequential.
func (d delays) String() string { return fmt.Sprint(len(d.stream), d.calls) }

// pending returns the index of the call with an id that is pending, or -1.
func (d delays) pending(id string) int {
	return slices.IndexFunc(d.calls, func(c delayCall) bool { return c.id == id && c.state == pending })
}

// with returns the data after the pending call with an id has come to a state; i is its index, or -1.
func (d delays) with(i int, state callState) delays {
	if i >= 0 {
		d.calls = slices.Clone(d.calls)
		d.calls[i].state = state
	}
	return d
}

func (d delays) after(op *operation) (all []sequential) {
	i := d.pending(op.value)
	switch op.what {
	case "look":
		if op.unknown {
			return if1(d, true)
		}
		next, ok := d.look(op.reply)
		return if1(next, ok)
	case "cancel":
		if i >= 0 && (op.unknown || op.reply.Int == 1) {
			all = append(all, d.with(i, cancelled))
		}
		if !op.reply.IsError() && (op.unknown || op.reply.Int == 0) {
			all = append(all, d.with(i, done))
		}
		return all
	}
	if i >= 0 && (op.unknown || op.reply.IsNull()) {
		all = append(all, d)
	}
	if op.unknown || op.reply.Str == op.value {
		next := d.with(i, done)
		next.calls = append(slices.Clip(next.calls), *op.added)
		all = append(all, next)
	}
	return all
}

// look returns the data after a read; false if the read is not possible here.
func (d delays) look(v resp.Value) (delays, bool) {
	if len(v.Elems) != 2 || len(v.Elems[0].Elems) < len(d.stream) {
		return d, false
	}
	next := delays{calls: slices.Clone(d.calls)}
	for i, e := range v.Elems[0].Elems {
		id, fields := e.Elems[0].Str, e.Elems[1].Elems
		text := id + "=" + fields[1].Str + "@"
		if len(fields) == 4 && fields[2].Str == "delay.due" {
			text += fields[3].Str
		}
		next.stream = append(next.stream, text)
		if i < len(d.stream) && d.stream[i] != text || i >= len(d.stream) && !next.show(text) {
			return d, false
		}
	}
	return next, next.left(v.Elems[1].Elems)
}

// show records one more entry of a call, and reports whether that is possible.
func (d delays) show(text string) bool {
	_, text, _ = strings.Cut(text, "=")
	value, due, _ := strings.Cut(text, "@")
	i := slices.IndexFunc(d.calls, func(c delayCall) bool { return c.value == value })
	if i < 0 {
		return false
	}
	c := &d.calls[i]
	if c.shown++; delayRules[c.rule].everyMS == 0 {
		return due == "" && c.shown <= c.times
	}
	dueMS, err := strconv.ParseInt(due, 10, 64)
	possible := err == nil && c.shown <= c.times && (c.shown == 1 || c.follows(dueMS))
	c.dueMS = dueMS
	return possible
}

// follows reports whether a time may be the next one of the rule after that of the last entry.
func (c *delayCall) follows(dueMS int64) bool {
	every := delayRules[c.rule].everyMS
	return dueMS > c.dueMS && (dueMS-c.dueMS)%every == 0
}

// left compares the calls with the pending entries of DELAY.LIST, and drops the calls that are over.
func (d *delays) left(list []resp.Value) bool {
	calls := d.calls[:0]
	for _, c := range d.calls {
		i := slices.IndexFunc(list, func(e resp.Value) bool { return e.Elems[2].Elems[1].Str == c.value })
		switch {
		case c.shown == c.times && c.state != cancelled || i < 0 && c.shown < c.times && c.state == cancelled:
			if i >= 0 {
				return false
			}
			continue
		case i < 0 || c.state != pending || list[i].Elems[0].Str != c.id || timesLeft(list[i]) != c.times-c.shown:
			return false
		case c.shown > 0 && !c.follows(list[i].Elems[1].Int):
			return false
		}
		list = slices.Delete(slices.Clone(list), i, i+1)
		calls = append(calls, c)
	}
	d.calls = calls
	return len(list) == 0
}

// timesLeft returns how many times an entry of DELAY.LIST is due.
func timesLeft(e resp.Value) int {
	if len(e.Elems) < 4 {
		return 1
	}
	words := e.Elems[3].Elems
	for i := range words {
		if words[i].Str == "TIMES" {
			n, _ := strconv.Atoi(words[i+1].Str)
			return n
		}
	}
	return -1
}
