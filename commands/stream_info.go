package commands

import (
	"lockserver/store/stream"
)

// infoCount is the number of entries that XINFO STREAM FULL shows if COUNT is not given.
const infoCount = 10

func xinfoStream(c *Ctx) error {
	a := c.Args()
	s, err := c.findStream(a.Key())
	if err != nil {
		return err
	}
	if s == nil {
		return ErrNoSuchKey
	}
	if !a.More() {
		writeStreamNumbers(c, s, 10)
		writeStreamEnds(c, s)
		return nil
	}
	count := int64(infoCount)
	full := a.IsNext("FULL") && (!a.More() || a.Left() == 2 && a.IsNext("COUNT"))
	if !full {
		return ErrSubcommandSyntax("xinfo", c.Argv[1])
	}
	if a.More() {
		count = a.Int()
	}
	if err := a.Err(); err != nil {
		return err
	}
	if count < 0 {
		count = infoCount
	}
	writeStreamNumbers(c, s, 9)
	c.Out.BulkString("entries")
	writeEntries(c, s, stream.ID{}, stream.MaxID(), false, count)
	c.Out.BulkString("groups")
	c.Out.Array(len(s.Groups()))
	for _, g := range s.Groups() {
		writeGroupFull(c, s, g, count)
	}
	return nil
}

// writeStreamNumbers begins the map of both forms of XINFO STREAM. It writes its first seven pairs, and six
// more if the stream has producers. pairs is the number of pairs without those six.
func writeStreamNumbers(c *Ctx, s *stream.Stream, pairs int) {
	p := s.Producers()
	if p != nil {
		pairs += 6
	}
	c.Out.Map(pairs)
	number := func(name string, n int64) {
		c.Out.BulkString(name)
		c.Out.Int(n)
	}
	id := func(name string, id stream.ID) {
		c.Out.BulkString(name)
		c.Out.Bulk(id.AppendTo(c.Scratch()))
	}
	number("length", int64(s.Len()))
	number("radix-tree-keys", int64(s.NodeCount()))
	number("radix-tree-nodes", int64(s.RadixNodes()))
	id("last-generated-id", s.LastID())
	id("max-deleted-entry-id", s.MaxDeletedID())
	number("entries-added", int64(s.EntriesAdded()))
	id("recorded-first-entry-id", s.FirstID())
	if p == nil {
		return
	}
	producers, messages := p.Tracked()
	added, duplicates := p.Counts()
	number("idmp-duration", int64(p.Limits().DurationS))
	number("idmp-maxsize", int64(p.Limits().MaxSize))
	number("pids-tracked", int64(producers))
	number("iids-tracked", int64(messages))
	number("iids-added", int64(added))
	number("iids-duplicates", int64(duplicates))
}

// writeStreamEnds writes the last three pairs of the short form.
func writeStreamEnds(c *Ctx, s *stream.Stream) {
	c.Out.BulkString("groups")
	c.Out.Int(int64(len(s.Groups())))
	for _, end := range [...]struct {
		name    string
		reverse bool
	}{{"first-entry", false}, {"last-entry", true}} {
		c.Out.BulkString(end.name)
		if s.Len() == 0 {
			c.Out.Null()
			continue
		}
		s.Range(stream.ID{}, stream.MaxID(), end.reverse, func(id stream.ID, fv stream.FieldValues) bool {
			writeEntry(c.Out, id, fv)
			return false
		})
	}
}
