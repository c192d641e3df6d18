package commands

import (
	"math"

	"lockserver/internal/resp"
	"lockserver/store"
	"lockserver/store/stream"
)

// readCall is what an XREAD asks for: from each stream the entries after an ID.
type readCall struct {
	keys  [][]byte
	after []stream.ID // one for each key
	last  []bool      // for each key, whether to read from its last ID on, whatever that is by then ("+")
	count int64       // most entries of each stream; 0: all
	// timeoutMS is how long to wait for entries; 0: for ever, -1: not at all.
	timeoutMS int64
	// group and consumer are those of XREADGROUP, for which grouped is true.
	grouped, noAck  bool
	group, consumer []byte
	// claim, if given, is what has been pending for so long that XREADGROUP takes it over.
	claim       bool
	claimIdleMS int64
}

func xread(c *Ctx) error {
	a := c.Args()
	call := readCall{timeoutMS: -1}
	call.readOptions(c, a)
	ids := call.readStreams(a)
	if err := a.Err(); err != nil {
		return err
	}
	if err := call.resolve(c, ids); err != nil {
		return err
	}
	if call.reply(c) {
		return nil
	}
	if call.timeoutMS < 0 {
		c.Out.NullArray()
		return nil
	}
	call.wait(c)
	return nil
}

// readOptions reads up to STREAMS.
func (x *readCall) readOptions(c *Ctx, a *Scanner) {
	for a.More() {
		switch {
		case a.IsNext("BLOCK"):
			x.timeoutMS = a.IntOr(ErrTimeout)
			if x.timeoutMS < 0 {
				a.Fail(ErrTimeoutSign)
			}
			if x.timeoutMS > math.MaxInt64-c.NowMS() {
				a.Fail(ErrTimeoutRange)
			}
		case a.IsNext("COUNT"):
			x.count = max(a.Int(), 0)
		case a.Left() > 1 && a.IsNext("STREAMS"):
			return
		case a.Left() > 2 && a.IsNext("GROUP"):
			if x.group, x.consumer = a.Bytes(), a.Bytes(); !x.grouped {
				a.Fail(ErrXReadGroup)
			}
		case a.Left() > 1 && a.IsNext("CLAIM"):
			x.claim, x.claimIdleMS = true, max(a.IntOr(ErrClaimMinIdle("XREADGROUP")), 0)
			if !x.grouped {
				a.Fail(ErrXReadClaim)
			}
		case a.IsNext("NOACK"):
			if x.noAck = true; !x.grouped {
				a.Fail(ErrXReadNoAck)
			}
		default:
			a.Syntax()
		}
	}
	a.Syntax() // no STREAMS
}

// readStreams reads the keys, and returns the IDs behind them.
func (x *readCall) readStreams(a *Scanner) (ids [][]byte) {
	if a.Left()%2 != 0 {
		a.Fail(ErrStreamsUnbalanced(x.grouped))
	}
	rest := a.Rest()
	x.keys = rest[:len(rest)/2]
	return rest[len(rest)/2:]
}

// resolve finds out after which entry to read in each stream.
func (x *readCall) resolve(c *Ctx, ids [][]byte) error {
	x.after, x.last = make([]stream.ID, len(ids)), make([]bool, len(ids))
	for i, text := range ids {
		s, err := c.findStream(x.keys[i])
		if err != nil {
			return err
		}
		if x.after[i], err = readAfter(s, text); err != nil {
			return err
		}
		x.last[i] = string(clip(text, len(text))) == "+"
	}
	return nil
}

// readAfter is the ID after which text tells to read in s, which is nil if there is no such key.
func readAfter(s *stream.Stream, text []byte) (stream.ID, error) {
	switch string(clip(text, len(text))) {
	case "$": // what is added from now on
		if s == nil {
			return stream.ID{}, nil
		}
		return s.LastID(), nil
	case "+": // the entry with the last ID that was given, if it is still there
		switch {
		case s == nil:
			return stream.ID{}, nil
		case s.LastID() == stream.ID{}:
			return stream.ID{}, ErrXReadNothing
		}
		return s.LastID().Prev(), nil
	case ">":
		return stream.ID{}, ErrXReadNewID
	}
	id, ok := parseStreamID(text, 0)
	if !ok {
		return id, ErrStreamID
	}
	return id, nil
}

// reply writes what there is in all streams, and reports whether that is anything;
// if not, nothing is written.
func (x *readCall) reply(c *Ctx) bool {
	n := 0
	var streams resp.Deferred
	for i, key := range x.keys {
		s := newsIn(c.DB.Find(key), x.after[i])
		if s == nil {
			continue
		}
		if n++; n == 1 {
			streams = beginStreams(c.Out)
		}
		x.writeStream(c, i, s)
	}
	if n > 0 {
		endStreams(c.Out, streams, n)
	}
	return n > 0
}

// newsIn returns the stream at r if it has an entry after an ID, else nil. What is no stream has none: its
// key may have changed hands while a client waited.
func newsIn(r store.Ref, after stream.ID) *stream.Stream {
	if r.Kind() != store.Stream {
		return nil
	}
	if s := r.Stream(); s.Len() > 0 && after.Less(s.LastID()) && after.Less(s.TopID()) {
		return s
	}
	return nil
}

// beginStreams begins the reply: a map of the streams in version 3, and an array of pairs in version 2.
func beginStreams(out *resp.Writer) resp.Deferred {
	if out.Proto >= 3 {
		return out.DeferMap()
	}
	return out.DeferArray()
}

func endStreams(out *resp.Writer, streams resp.Deferred, n int) {
	if out.Proto >= 3 {
		out.SetMap(streams, n)
	} else {
		out.SetArray(streams, n)
	}
}

// writeStream writes what is new in the i-th stream, which is s.
func (x *readCall) writeStream(c *Ctx, i int, s *stream.Stream) {
	if c.Out.Proto < 3 {
		c.Out.Array(2)
	}
	c.Out.Bulk(x.keys[i])
	writeEntries(c, s, x.after[i].Next(), stream.MaxID(), false, x.count)
}

// wait makes the client wait until one of the streams has entries. The IDs are fixed by now, except for "+".
// A stream that is removed and created again answers only when its IDs exceed the old last ID.
func (x *readCall) wait(c *Ctx) {
	own := *x
	own.keys = CloneAll(x.keys)
	c.Block(Wait{Keys: own.keys, Kind: store.Stream, DeadlineMS: c.WaitEndMS(x.timeoutMS), Try: own.retry,
		TimedOut: func(c *Ctx) { c.Out.NullArray() }})
}

// retry answers a client that has waited, with all of its streams that have entries by now. Another of its
// keys that holds a value of another type by now is an error.
func (x *readCall) retry(c *Ctx) (bool, error) {
	for i, key := range x.keys {
		s, err := c.findStream(key)
		if err != nil {
			return true, err
		}
		if x.last[i] {
			if x.after[i], err = readAfter(s, []byte("+")); err != nil {
				return true, err
			}
		}
	}
	return x.reply(c), nil
}
