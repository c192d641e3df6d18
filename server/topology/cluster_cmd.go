package topology

import (
	"lockserver/commands"
	"lockserver/internal/decimal"
	"lockserver/store"
)

// Errors of Redis, and one error of our own.
const (
	errSlot        commands.Error = "ERR Invalid slot"
	errSlotOrCount commands.Error = "ERR Invalid slot or number of keys"
	errNoMaster    commands.Error = "ERR The specified node is not a master"
	errOwnAffairs  commands.Error = "ERR the servers of this group share its slots and leadership out among themselves"
)

func errUnknownNode(name []byte) error { return commands.Error("ERR Unknown node " + string(name)) }

func readOnly(_ *Group, p *Place, c *commands.Ctx) error {
	p.ReadOnly = true
	c.Out.OK()
	return nil
}

func readWrite(_ *Group, p *Place, c *commands.Ctx) error {
	p.ReadOnly = false
	c.Out.OK()
	return nil
}

// asking has no effect: no slot is ever being moved to another shard.
func asking(_ *Group, _ *Place, c *commands.Ctx) error {
	c.Out.OK()
	return nil
}

// refuseChange answers the commands that change a cluster of Redis.
func refuseChange(*Group, *Place, *commands.Ctx) error { return errOwnAffairs }

func clusterInfo(g *Group, _ *Place, c *commands.Ctx) error {
	c.Out.Verbatim("txt", g.infoText())
	return nil
}

func nodes(g *Group, p *Place, c *commands.Ctx) error {
	now, text := g.seen.Load(), []byte(nil)
	for i := range now.Members {
		text = append(now.describe(text, &now.Members[i], p, c.DB.Store().NowMS()), '\n')
	}
	c.Out.Verbatim("txt", string(text))
	return nil
}

// links replies like a node without links, because members do not use a cluster bus.
func links(_ *Group, _ *Place, c *commands.Ctx) error {
	c.Out.Array(0)
	return nil
}

// slotRanges replies with all slots as one range, its leader, and its replicas. As in Redis it leaves out
// replicas that are down.
func slotRanges(g *Group, _ *Place, c *commands.Ctx) error {
	now := g.seen.Load()
	if now.last == nil {
		c.Out.Array(0)
		return nil
	}
	c.Out.Array(1)
	whole := c.Out.DeferArray()
	c.Out.Int(0)
	c.Out.Int(slots - 1)
	length := 2
	now.each(func(m *Member, master bool) {
		if !master && !m.Up {
			return
		}
		c.Out.Array(4)
		c.Out.BulkString(m.Host)
		c.Out.Int(int64(m.Port))
		c.Out.BulkString(m.ID)
		c.Out.Map(0) // further facts about its address
		length++
	})
	c.Out.SetArray(whole, length)
	return nil
}

// each visits all members, first the member with the slots.
func (s *sight) each(visit func(m *Member, master bool)) {
	if s.last != nil {
		visit(s.last, true)
	}
	for i := range s.Members {
		if m := &s.Members[i]; m != s.last {
			visit(m, false)
		}
	}
}

func shards(g *Group, _ *Place, c *commands.Ctx) error {
	now := g.seen.Load()
	c.Out.Array(1)
	c.Out.Map(2)
	c.Out.BulkString("slots")
	if now.last == nil {
		c.Out.Array(0)
	} else {
		c.Out.Array(2)
		c.Out.Int(0)
		c.Out.Int(slots - 1)
	}
	c.Out.BulkString("nodes")
	c.Out.Array(len(now.Members))
	now.each(func(m *Member, master bool) {
		named := !isAddress(m.Host)
		fields := 7
		if named {
			fields++
		}
		c.Out.Map(fields)
		field(c, "id", m.ID)
		c.Out.BulkString("port")
		c.Out.Int(int64(m.Port))
		field(c, "ip", m.Host)
		field(c, "endpoint", m.Host)
		if named {
			field(c, "hostname", m.Host)
		}
		field(c, "role", roleName(master, "replica"))
		c.Out.BulkString("replication-offset")
		c.Out.Int(m.Offset)
		field(c, "health", now.health(m))
	})
	return nil
}

func field(c *commands.Ctx, name, value string) {
	c.Out.BulkString(name)
	c.Out.BulkString(value)
}

func roleName(master bool, otherwise string) string {
	if master {
		return "master"
	}
	return otherwise
}

// failed reports whether clients see a member as failed: it is down, or it was the leader and the group now
// has no leader.
func (s *sight) failed(m *Member) bool { return !m.Up || m == s.last && s.leader == nil }

func (s *sight) health(m *Member) string {
	if s.failed(m) {
		return "fail"
	}
	return "online"
}

func replicasOf(g *Group, p *Place, c *commands.Ctx) error {
	now := g.seen.Load()
	m := now.find(string(c.Argv[2]))
	switch {
	case m == nil:
		return errUnknownNode(c.Argv[2])
	case m != now.last:
		return errNoMaster
	}
	c.Out.Array(len(now.Members) - 1)
	now.each(func(m *Member, master bool) {
		if !master {
			c.Out.Bulk(now.describe(nil, m, p, c.DB.Store().NowMS()))
		}
	})
	return nil
}

func failureReports(g *Group, _ *Place, c *commands.Ctx) error {
	if g.seen.Load().find(string(c.Argv[2])) == nil {
		return errUnknownNode(c.Argv[2])
	}
	c.Out.Int(0)
	return nil
}

func keySlot(_ *Group, _ *Place, c *commands.Ctx) error {
	c.Out.Int(int64(Slot(c.Argv[2])))
	return nil
}

// countKeysInSlot looks at all keys, because they are not stored by slot.
func countKeysInSlot(_ *Group, _ *Place, c *commands.Ctx) error {
	slot, ok := decimal.ParseInt(c.Argv[2])
	switch {
	case !ok:
		return commands.ErrNotInteger
	case slot < 0 || slot >= slots:
		return errSlot
	}
	count := int64(0)
	eachIn(c, slot, func(string) bool {
		count++
		return true
	})
	c.Out.Int(count)
	return nil
}

func keysInSlot(_ *Group, _ *Place, c *commands.Ctx) error {
	slot, isInt := decimal.ParseInt(c.Argv[2])
	most, isCount := decimal.ParseInt(c.Argv[3])
	switch {
	case !isInt || !isCount:
		return commands.ErrNotInteger
	case slot < 0 || slot >= slots || most < 0:
		return errSlotOrCount
	}
	array, count := c.Out.DeferArray(), 0
	if most > 0 {
		eachIn(c, slot, func(key string) bool {
			c.Out.BulkString(key)
			count++
			return int64(count) < most
		})
	}
	c.Out.SetArray(array, count)
	return nil
}

// eachIn visits the keys of a slot until visit returns false.
func eachIn(c *commands.Ctx, slot int64, visit func(key string) bool) {
	c.DB.Store().DB(0).Each(func(key string, _ store.Ref) bool {
		return int64(Slot([]byte(key))) != slot || visit(key)
	})
}

func myID(_ *Group, p *Place, c *commands.Ctx) error {
	c.Out.BulkString(p.Self)
	return nil
}

func myShardID(g *Group, _ *Place, c *commands.Ctx) error {
	c.Out.BulkString(g.shardID())
	return nil
}
