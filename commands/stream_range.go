package commands

import (
	"math"

	"lockserver/internal/resp"
	"lockserver/store/stream"
)

func xlen(c *Ctx) error {
	a := c.Args()
	s, err := c.findStream(a.Key())
	if err != nil {
		return err
	}
	n := 0
	if s != nil {
		n = s.Len()
	}
	c.Out.Int(int64(n))
	return nil
}

func xrange(c *Ctx) error { return entriesBetween(c, false) }

func xrevrange(c *Ctx) error { return entriesBetween(c, true) }

// entriesBetween runs XRANGE and, with reverse, XREVRANGE. XREVRANGE names the end first, but errors are
// still reported in the order start, end.
func entriesBetween(c *Ctx, reverse bool) error {
	a := c.Args()
	key, first, second := a.Key(), a.Bytes(), a.Bytes()
	if reverse {
		first, second = second, first
	}
	start, err := startOf(first)
	if err != nil {
		return err
	}
	end, err := endOf(second)
	if err != nil {
		return err
	}
	count := int64(-1)
	for a.More() {
		a.Option() // COUNT is the only option
		count = max(a.Int(), 0)
	}
	if err := a.Err(); err != nil {
		return err
	}
	s, err := c.findStream(key)
	switch {
	case err != nil:
		return err
	case s == nil:
		c.Out.Array(0)
	case count == 0:
		c.Out.NullArray()
	default:
		writeEntries(c, s, start, end, reverse, max(count, 0))
	}
	return nil
}

// startOf parses the start of an interval.
func startOf(text []byte) (stream.ID, error) {
	id, exclusive, ok := parseBound(text, 0)
	switch {
	case !ok:
		return id, ErrStreamID
	case exclusive && id.IsMax():
		return id, ErrStreamStart
	case exclusive:
		return id.Next(), nil
	}
	return id, nil
}

// endOf parses the end of an interval.
func endOf(text []byte) (stream.ID, error) {
	id, exclusive, ok := parseBound(text, math.MaxUint64)
	switch {
	case !ok:
		return id, ErrStreamID
	case exclusive && id.IsZero():
		return id, ErrStreamEnd
	case exclusive:
		return id.Prev(), nil
	}
	return id, nil
}

// writeEntries writes an array of the entries from start to end, at most count of them. A count of 0 means
// all.
func writeEntries(c *Ctx, s *stream.Stream, start, end stream.ID, reverse bool, count int64) {
	list := c.Out.DeferArray()
	n := int64(0)
	s.Range(start, end, reverse, func(id stream.ID, fv stream.FieldValues) bool {
		writeEntry(c.Out, id, fv)
		n++
		return n != count
	})
	c.Out.SetArray(list, int(n))
}

// writeEntry writes an entry: its ID, and alternately fields and values. They are no map in RESP3, either.
func writeEntry(out *resp.Writer, id stream.ID, fv stream.FieldValues) {
	out.Array(2)
	writeIDAndFields(out, id, fv)
}

// writeIDAndFields writes the two parts of an entry.
func writeIDAndFields(out *resp.Writer, id stream.ID, fv stream.FieldValues) {
	var text [41]byte
	out.Bulk(id.AppendTo(text[:0]))
	out.Array(2 * fv.Len())
	for {
		field, val, ok := fv.Next()
		if !ok {
			return
		}
		out.Bulk(field)
		out.Bulk(val)
	}
}
