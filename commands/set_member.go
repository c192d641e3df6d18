package commands

import (
	"slices"

	"lockserver/internal/keyevent"
	"lockserver/store/set"
)

func sadd(c *Ctx) error {
	key, members := c.Argv[1], c.Argv[2:]
	e, ok := c.DB.OpenSet(key)
	if !ok {
		return ErrWrongType
	}
	e.Expect(members)
	var added int64
	for _, member := range members {
		if e.Add(member) {
			added++
		}
	}
	if added > 0 {
		c.Notify(keyevent.Set, "sadd", key)
	}
	c.Out.Int(added)
	return nil
}

func srem(c *Ctx) error {
	key, members := c.Argv[1], c.Argv[2:]
	e, ok := c.DB.OpenSet(key)
	if !ok {
		return ErrWrongType
	}
	removed := removeAll(members, e.Remove)
	c.replyRemoved(key, keyevent.Set, "srem", removed, e.Set() == nil)
	return nil
}

// smove checks the destination's type only if the source exists, as Redis does.
func smove(c *Ctx) error {
	source, destination, member := c.Argv[1], c.Argv[2], c.Argv[3]
	from, fromOK := c.DB.OpenSet(source)
	to, toOK := c.DB.OpenSet(destination)
	switch {
	case fromOK && from.Set() == nil:
		c.Out.Int(0)
	case !fromOK || !toOK:
		return ErrWrongType
	case from.Set() == to.Set():
		c.Out.Int(memberCount(from.Set(), member))
	case from.Remove(member):
		c.NotifyTaken(keyevent.Set, "srem", source, from.Set() == nil)
		if to.Add(member) {
			c.Notify(keyevent.Set, "sadd", destination)
		}
		c.Out.Int(1)
	default:
		c.Out.Int(0)
	}
	return nil
}

// memberCount returns 1 if a set has a member, else 0; s may be nil.
func memberCount(s *set.Set, member []byte) int64 {
	if s != nil && s.Has(member) {
		return 1
	}
	return 0
}

func sismember(c *Ctx) error {
	key, member := c.Argv[1], c.Argv[2]
	s, err := c.findSet(key)
	if err != nil {
		return err
	}
	c.Out.Int(memberCount(s, member))
	return nil
}

func smismember(c *Ctx) error {
	key, members := c.Argv[1], c.Argv[2:]
	s, err := c.findSet(key)
	if err != nil {
		return err
	}
	c.Out.Array(len(members))
	for batch := range slices.Chunk(members, set.BatchSize) {
		found := uint64(0)
		if s != nil {
			found = s.Which(batch)
		}
		for i := range batch {
			c.Out.Int(int64(found >> i & 1))
		}
	}
	return nil
}

func smembers(c *Ctx) error {
	s, err := c.findSet(c.Argv[1])
	if err != nil {
		return err
	}
	c.Out.Set(cardinality(s))
	if s != nil {
		s.Each(func(member []byte) bool {
			c.Out.Bulk(member)
			return true
		})
	}
	return nil
}

func scard(c *Ctx) error {
	s, err := c.findSet(c.Argv[1])
	if err != nil {
		return err
	}
	c.Out.Int(int64(cardinality(s)))
	return nil
}

// cardinality returns the size of a set; s may be nil.
func cardinality(s *set.Set) int {
	if s == nil {
		return 0
	}
	return s.Len()
}
