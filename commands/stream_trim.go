package commands

import (
	"lockserver/internal/keyevent"
	"lockserver/store/stream"
)

// trimCall holds the options of XADD and XTRIM about trimming: MAXLEN, MINID, LIMIT, and KEEPREF and its
// relatives.
type trimCall struct {
	stream.Strategy
	given   bool // MAXLEN or MINID
	limited bool // LIMIT
	refs    refsOption
}

// readNext reads one of the options if it comes next, and reports whether it did.
func (t *trimCall) readNext(a *Scanner) bool {
	switch {
	case a.IsNext("MAXLEN"):
		t.begin(a, stream.ByMaxLen)
		n := a.Int()
		if n < 0 {
			a.Fail(ErrStreamMaxLen)
		}
		t.MaxLen = int(n)
	case a.IsNext("MINID"):
		t.begin(a, stream.ByMinID)
		t.MinID = streamID(a)
	case a.IsNext("LIMIT"):
		n := a.Int()
		if n < 0 {
			a.Fail(ErrStreamLimit)
		}
		t.limited, t.Limit = true, int(n)
	default:
		return false
	}
	return true
}

// begin reads = or ~, unless it would be the last word.
func (t *trimCall) begin(a *Scanner, by stream.TrimBy) {
	if t.given {
		a.Fail(ErrStreamMaxLenAndMinID) // also if the same strategy comes twice
	}
	t.given, t.By = true, by
	if a.Left() > 1 && !a.IsNext("=") {
		t.Approx = a.IsNext("~")
	}
}

// check validates the combination of the options after all are read. need means that there must be a
// strategy.
func (t *trimCall) check(a *Scanner, need bool) {
	t.Refs = t.refs.refs
	switch {
	case t.Limit != 0 && !t.given:
		a.Fail(ErrStreamLimitStrategy)
	case need && !t.given:
		a.Fail(ErrStreamTrim)
	case t.limited && !t.Approx:
		a.Fail(ErrStreamLimitApprox)
	case !t.limited:
		t.Limit = stream.DefaultLimit
	}
}

func xtrim(c *Ctx) error {
	a := c.Args()
	key := a.Key()
	var trim trimCall
	for a.More() {
		if !trim.refs.readNext(a) && (a.Left() < 2 || !trim.readNext(a)) {
			a.Syntax()
		}
	}
	trim.check(a, true)
	if err := a.Err(); err != nil {
		return err
	}
	s, err := c.streamToWrite(key)
	if err != nil {
		return err
	}
	if s == nil {
		c.Out.Int(0)
		return nil
	}
	edit := c.DB.EditStream(key)
	n := edit.Trim(trim.Strategy)
	if n > 0 {
		c.Notify(keyevent.Stream, "xtrim", key)
	}
	c.Out.Int(int64(n))
	return nil
}
