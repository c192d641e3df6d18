package commands

import (
	"lockserver/internal/keyevent"
	"lockserver/store"
	"lockserver/store/stream"
)

// addCall holds the arguments of XADD.
type addCall struct {
	key      []byte
	onlyOld  bool // NOMKSTREAM
	auto     bool // the ID is *
	autoSeq  bool // the ID is ms-*
	id       stream.ID
	trim     trimCall
	produce  produceCall
	fields   [][]byte // alternately field and value
	entryLen int
}

func xadd(c *Ctx) error {
	a := c.Args()
	call := addCall{key: a.Key()}
	call.readOptions(a)
	call.trim.check(a, false)
	call.readFields(a)
	if err := a.Err(); err != nil {
		return err
	}
	s, err := c.streamToWrite(call.key)
	if err != nil {
		return err
	}
	if s == nil && call.onlyOld {
		c.Out.Null()
		return nil
	}
	if call.produce.given && s != nil {
		edit := c.DB.EditStream(call.key)
		if id, ok := edit.Produced(call.produce.producer, call.produce.name); ok {
			c.Out.Bulk(id.AppendTo(c.Scratch()))
			return nil
		}
		s = edit.Stream()
	}
	id, err := call.nextID(c, s)
	if err != nil {
		return err
	}
	edit := c.DB.EditStream(call.key)
	edit.Add(id, call.fields)
	if call.produce.given {
		edit.Remember(call.produce.producer, call.produce.name, id, c.DB.Store().NowMS())
	}
	c.Notify(keyevent.Stream, "xadd", call.key)
	if call.trim.given {
		was := c.DB.Store().Dirty()
		if edit.Trim(call.trim.Strategy) > 0 {
			c.Notify(keyevent.Stream, "xtrim", call.key)
		}
		c.DB.Store().Recount(was, 0) // an XADD counts as one change
	}
	c.Out.Bulk(id.AppendTo(c.Scratch()))
	return nil
}

// streamToWrite looks up key for a command that writes to it, which counts neither as a hit nor as a miss.
// The result is nil if the key does not exist.
func (c *Ctx) streamToWrite(key []byte) (*stream.Stream, error) {
	r := c.DB.FindToWrite(key)
	if !r.Is(store.Stream) {
		return nil, ErrWrongType
	}
	return r.Stream(), nil
}

// readOptions reads up to the ID, which is the first word that is no option. An option without its argument
// is taken for the ID, too.
func (x *addCall) readOptions(a *Scanner) {
	for a.More() {
		switch {
		case a.IsNext("*"):
			x.auto = true
			return
		case a.IsNext("NOMKSTREAM"):
			x.onlyOld = true
		case x.trim.refs.readNext(a):
		case x.produce.readNext(a):
		case a.Left() > 1 && x.trim.readNext(a):
		default:
			ok := false
			if x.id, x.autoSeq, ok = parseNewStreamID(a.Bytes()); !ok {
				a.Fail(ErrStreamID)
			}
			return
		}
	}
}

// readFields reads the entry. It refuses the lowest ID before the key is looked up, as Redis does.
func (x *addCall) readFields(a *Scanner) {
	x.fields = a.Rest()
	if len(x.fields) < 2 || len(x.fields)%2 != 0 {
		a.Arity()
	}
	if !x.auto && !x.autoSeq && x.id.IsZero() {
		a.Fail(ErrStreamIDZero)
	}
	if x.produce.given && !x.auto {
		a.Fail(ErrProduceID)
	}
	if a.Err() == nil {
		x.produce.finish(x.fields)
	}
	for _, b := range x.fields {
		x.entryLen += len(b)
	}
}

// nextID returns the ID of the new entry, or an error if the stream cannot take it.
func (x *addCall) nextID(c *Ctx, s *stream.Stream) (id stream.ID, err error) {
	switch {
	case x.auto:
		id, err = nextStreamID(c, s)
	case x.autoSeq:
		id, err = nextSequence(s, x.id.MS)
	default:
		id = x.id
	}
	switch {
	case s != nil && s.LastID().IsMax():
		return id, ErrStreamExhausted
	case err != nil:
		return id, err
	case s != nil && !s.LastID().Less(id):
		return id, ErrStreamIDSmall
	case x.entryLen > stream.MaxEntryBytes:
		return id, ErrStreamEntry
	}
	return id, nil
}

// xdel checks the IDs only if the key exists, as Redis does.
func xdel(c *Ctx) error {
	a := c.Args()
	key, ids := a.Key(), a.Rest()
	s, err := c.streamToWrite(key)
	if err != nil {
		return err
	}
	if s == nil {
		c.Out.Int(0)
		return nil
	}
	for _, text := range ids {
		if _, ok := parseStreamID(text, 0); !ok {
			return ErrStreamID
		}
	}
	edit := c.DB.EditStream(key)
	n := int64(0)
	for _, text := range ids {
		if id, _ := parseStreamID(text, 0); edit.Delete(id) {
			n++
		}
	}
	if n > 0 {
		c.Notify(keyevent.Stream, "xdel", key)
	}
	c.Out.Int(n)
	return nil
}

func xsetid(c *Ctx) error {
	a := c.Args()
	key, last := a.Key(), streamID(a)
	var added *uint64
	var maxDeleted *stream.ID
	for a.More() {
		switch a.Option() {
		case "ENTRIESADDED":
			n := a.Int()
			if n < 0 {
				a.Fail(ErrXSetIDEntries)
			}
			count := uint64(n)
			added = &count
		case "MAXDELETEDID":
			id := streamID(a)
			if last.Less(id) {
				a.Fail(ErrXSetIDDeleted)
			}
			if maxDeleted = &id; id.IsZero() { // 0-0 means that it was not given
				maxDeleted = nil
			}
		}
	}
	if err := a.Err(); err != nil {
		return err
	}
	s, err := c.streamToWrite(key)
	switch {
	case err != nil:
		return err
	case s == nil:
		return ErrNoSuchKey
	case last.Less(s.MaxDeletedID()):
		return ErrXSetIDBelowDeleted
	case s.Len() > 0 && last.Less(s.TopID()):
		return ErrXSetIDSmall
	case s.Len() > 0 && added != nil && uint64(s.Len()) > *added:
		return ErrXSetIDLength
	}
	edit := c.DB.EditStream(key)
	edit.SetID(last, added, maxDeleted)
	c.Notify(keyevent.Stream, "xsetid", key)
	c.Out.OK()
	return nil
}
