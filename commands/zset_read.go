package commands

import "lockserver/store/zset"

// scored returns the size of a sorted set; z may be nil.
func scored(z *zset.ZSet) int {
	if z == nil {
		return 0
	}
	return z.Len()
}

func zcard(c *Ctx) error {
	z, err := c.findZSet(c.Argv[1])
	if err != nil {
		return err
	}
	c.Out.Int(int64(scored(z)))
	return nil
}

func zscore(c *Ctx) error {
	key, member := c.Argv[1], c.Argv[2]
	z, err := c.findZSet(key)
	if err != nil {
		return err
	}
	writeScore(c, z, member)
	return nil
}

func zmscore(c *Ctx) error {
	key, members := c.Argv[1], c.Argv[2:]
	z, err := c.findZSet(key)
	if err != nil {
		return err
	}
	c.Out.Array(len(members))
	for _, member := range members {
		writeScore(c, z, member)
	}
	return nil
}

// writeScore writes a member's score, or null.
func writeScore(c *Ctx, z *zset.ZSet, member []byte) {
	if z != nil {
		if score, ok := z.Score(member); ok {
			c.Out.Double(score)
			return
		}
	}
	c.Out.Null()
}

func zrank(c *Ctx) error    { return replyRank(c, false) }
func zrevrank(c *Ctx) error { return replyRank(c, true) }

// replyRank runs ZRANK and ZREVRANK, with the option WITHSCORE of Redis 7.2.
func replyRank(c *Ctx, down bool) error {
	a := c.Args()
	key, member := a.Key(), a.Bytes()
	if a.Left() > 1 {
		a.Arity()
	}
	withScore := a.More() && a.Option() == "WITHSCORE"
	if err := a.Err(); err != nil {
		return err
	}
	z, err := c.findZSet(key)
	if err != nil {
		return err
	}
	var rank int
	var score float64
	found := false
	if z != nil {
		rank, score, found = z.Rank(member)
	}
	switch {
	case !found && withScore:
		c.Out.NullArray()
		return nil
	case !found:
		c.Out.Null()
		return nil
	case withScore:
		c.Out.Array(2)
	}
	if down {
		rank = z.Len() - 1 - rank
	}
	c.Out.Int(int64(rank))
	if withScore {
		c.Out.Double(score)
	}
	return nil
}

func zcount(c *Ctx) error    { return replyCount(c, byScore) }
func zlexcount(c *Ctx) error { return replyCount(c, byLex) }

func replyCount(c *Ctx, by orderBy) error {
	a := c.Args()
	key := a.Key()
	x := rangeCall{by: by, least: a.Bytes(), most: a.Bytes()}
	if err := a.Err(); err != nil {
		return err
	}
	if err := x.readEnds(); err != nil {
		return err
	}
	z, err := c.findZSet(key)
	if err != nil {
		return err
	}
	from, to := x.ranks(z)
	c.Out.Int(int64(to - from))
	return nil
}
