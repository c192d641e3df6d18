package commands

import (
	"lockserver/internal/keyevent"
	"lockserver/store"
	"lockserver/store/stream"
)

// refsOption is KEEPREF, DELREF or ACKED: what happens to entries to which consumer groups refer. A call may
// have one of them.
type refsOption struct {
	refs  stream.Refs
	given bool
}

// readNext reads the option if it comes next, and reports whether it did. It does not read a second one.
func (r *refsOption) readNext(a *Scanner) bool {
	if r.given {
		return false
	}
	switch {
	case a.IsNext("KEEPREF"):
		r.refs = stream.KeepRefs
	case a.IsNext("DELREF"):
		r.refs = stream.DropRefs
	case a.IsNext("ACKED"):
		r.refs = stream.AckedOnly
	default:
		return false
	}
	r.given = true
	return true
}

// refsArg is the option's grammar.
func refsArg() Arg {
	return Opt(OneOf("condition", Flag("KEEPREF"), Flag("DELREF"), Flag("ACKED"))).From("8.2.0")
}

// idsArg is the grammar of the IDs that XDELEX and XACKDEL remove.
func idsArg() Arg { return Block("ids", Int("numids"), Str("id").Many()).After("IDS") }

// removal holds the arguments of XDELEX and XACKDEL.
type removal struct {
	refsOption
	ids [][]byte
}

// The replies of XDELEX and XACKDEL for each ID.
const (
	removedNone   = -1 // the entry does not exist
	removedEntry  = 1
	removedNotYet = 2 // a group still needs it
)

// read reads the rest of a call. The options may come in any order, and IDS twice: then the last one counts.
func (r *removal) read(a *Scanner) {
	for a.More() {
		switch {
		case r.readNext(a):
		case a.Left() > 1 && a.IsNext("IDS"):
			r.ids = countedIDs(a)
		default:
			a.Syntax()
		}
	}
	if len(r.ids) == 0 {
		a.Fail(ErrStreamIDsMissing)
	}
}

// countedIDs reads a number and that number of IDs.
func countedIDs(a *Scanner) [][]byte {
	n := a.IntOr(ErrStreamIDsCount)
	switch {
	case a.Err() != nil:
	case n < 1:
		a.Fail(ErrStreamIDsCount)
	case n > int64(a.Left()):
		a.Fail(ErrStreamIDsMatch)
	}
	return a.Take(int(n))
}

// parse parses the IDs. It runs only after the key and the group were found.
func (r *removal) parse() ([]stream.ID, error) {
	ids := make([]stream.ID, len(r.ids))
	for i, text := range r.ids {
		id, ok := parseStreamID(text, 0)
		if !ok {
			return nil, ErrStreamID
		}
		ids[i] = id
	}
	return ids, nil
}

// nothing replies that no entry exists, if the key or the group does not exist.
func (r *removal) nothing(c *Ctx) error {
	c.Out.Array(len(r.ids))
	for range r.ids {
		c.Out.Int(removedNone)
	}
	return nil
}

// remove removes one entry, if the option allows it. allowed says whether it does, removed whether the entry
// existed.
func (r *removal) remove(e *store.StreamEdit, id stream.ID) (allowed, removed bool) {
	switch r.refs {
	case stream.AckedOnly:
		if e.Stream().Referenced(id) {
			return false, false
		}
	case stream.DropRefs:
		e.Forget(id)
	}
	return true, e.Delete(id)
}

// xdelex is XDEL with an option about consumer groups. An ID that a group has not reached yet counts as
// needed, whether or not the entry exists, as in Redis.
func xdelex(c *Ctx) error {
	a := c.Args()
	key := a.Key()
	s, err := c.streamToWrite(key)
	if err != nil {
		return err
	}
	var call removal
	if call.read(a); a.Err() != nil {
		return a.Err()
	}
	if s == nil {
		return call.nothing(c)
	}
	ids, err := call.parse()
	if err != nil {
		return err
	}
	edit, n := c.DB.EditStream(key), 0
	c.Out.Array(len(ids))
	for _, id := range ids {
		allowed, removed := call.remove(&edit, id)
		switch {
		case removed:
			n++
			c.Out.Int(removedEntry)
		case allowed:
			c.Out.Int(removedNone)
		default:
			c.Out.Int(removedNotYet)
		}
	}
	if n > 0 {
		c.Notify(keyevent.Stream, "xdel", key)
	}
	return nil
}

// xackdel is XACK and then XDELEX for the entries that were pending. An acknowledged entry that is no longer
// in the stream counts as removed.
func xackdel(c *Ctx) error {
	a := c.Args()
	key, name := a.Key(), a.Bytes()
	e, g, err := openGroup(c, key, name)
	if err != nil {
		return err
	}
	var call removal
	if call.read(a); a.Err() != nil {
		return a.Err()
	}
	if e == nil {
		return call.nothing(c)
	}
	ids, err := call.parse()
	if err != nil {
		return err
	}
	n := 0
	c.Out.Array(len(ids))
	for _, id := range ids {
		if !g.Acknowledge(id) {
			c.Out.Int(removedNone)
			continue
		}
		allowed, removed := call.remove(e, id)
		if removed {
			n++
		}
		if allowed {
			c.Out.Int(removedEntry)
		} else {
			c.Out.Int(removedNotYet)
		}
	}
	if n > 0 {
		c.Notify(keyevent.Stream, "xdel", key)
	}
	return nil
}
