package commands

import (
	"math"

	"lockserver/internal/resp"
	"lockserver/store"
	"lockserver/store/stream"
)

// readCall holds the arguments of XREAD and XREADGROUP. A call reads the entries of each stream after an ID.
type readCall struct {
	keys  [][]byte
	after []stream.ID // one for each key
	last  []bool      // for each key: the ID was "+", so the read begins with the last entry at that time
	count int64       // the largest number of entries of each stream; 0 means all
	// timeoutMS is the longest time to wait for entries. 0 means no limit, and -1 not to wait.
	timeoutMS int64
	// grouped says that the call is XREADGROUP, which has group and consumer.
	grouped, noAck  bool
	group, consumer []byte
	// claim says that XREADGROUP takes over entries that have been pending for at least a given time.
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

// readOptions reads the words up to STREAMS.
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
	a.Syntax() // STREAMS is missing
}

// readStreams reads the keys, and returns the IDs after them.
func (x *readCall) readStreams(a *Scanner) (ids [][]byte) {
	if a.Left()%2 != 0 {
		a.Fail(ErrStreamsUnbalanced(x.grouped))
	}
	rest := a.Rest()
	x.keys = rest[:len(rest)/2]
	return rest[len(rest)/2:]
}

// resolve finds the ID after which to read in each stream.
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

// readAfter returns the ID after which to read in s; s is nil if the key does not exist.
func readAfter(s *stream.Stream, text []byte) (stream.ID, error) {
	switch string(clip(text, len(text))) {
	case "$": // only entries that are added from now on
		if s == nil {
			return stream.ID{}, nil
		}
		return s.LastID(), nil
	case "+": // the last entry, if it is not deleted
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

// reply writes the entries of all streams, and reports whether there are any; if not, nothing is written.
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

// newsIn returns the stream at r if it has an entry after an ID, else nil. A value of another type has no
// entries: the key may have changed while the client waited.
func newsIn(r store.Ref, after stream.ID) *stream.Stream {
	if r.Kind() != store.Stream {
		return nil
	}
	if s := r.Stream(); s.Len() > 0 && after.Less(s.LastID()) && after.Less(s.TopID()) {
		return s
	}
	return nil
}

// beginStreams begins the reply: a map of the streams in RESP3, and an array of pairs in RESP2.
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

// writeStream writes the new entries of s, the i-th stream.
func (x *readCall) writeStream(c *Ctx, i int, s *stream.Stream) {
	if c.Out.Proto < 3 {
		c.Out.Array(2)
	}
	c.Out.Bulk(x.keys[i])
	writeEntries(c, s, x.after[i].Next(), stream.MaxID(), false, x.count)
}

// wait makes the client wait until one of the streams has entries. The IDs do not change any more, except for
// "+". If a stream is removed and created again, it answers only when its IDs exceed the old last ID.
func (x *readCall) wait(c *Ctx) {
	own := *x
	own.keys = CloneAll(x.keys)
	c.Block(Wait{Keys: own.keys, Kind: store.Stream, DeadlineMS: c.WaitEndMS(x.timeoutMS), Try: own.retry,
		TimedOut: func(c *Ctx) { c.Out.NullArray() }})
}

// retry answers a client that has waited, with all of its streams that now have entries. It is an error if
// one of its keys now has a value of another type.
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
