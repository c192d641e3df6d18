package topology

import (
	"slices"
	"strconv"
	"strings"

	"lockserver/commands"
	"lockserver/internal/decimal"
	"lockserver/internal/keyslot"
	"lockserver/server/cluster"
	"lockserver/store"
)

// Errors of Redis, and one error of our own.
const (
	errSlot        commands.Error = "ERR Invalid slot"
	errSlotRange   commands.Error = "ERR Invalid or out of range slot"
	errSlotOrCount commands.Error = "ERR Invalid slot or number of keys"
	errNoMaster    commands.Error = "ERR The specified node is not a master"
	errFixedSlots  commands.Error = "ERR the slots of this cluster are fixed while it runs: see docs/CLUSTER.md"
	errGroups      commands.Error = "ERR the shards are raft groups, which change by CLUSTER MIGRATESLOTS and by RAFT: see docs/CLUSTER.md"
	errNoMap       commands.Error = "ERR this server is no shard of a cluster of raft groups: see docs/CLUSTER.md"
	errOwnAffairs  commands.Error = "ERR the servers of this group share its slots and leadership out among themselves"
)

func errUnknownNode(name []byte) error { return commands.Error("ERR Unknown node " + string(name)) }

func readOnly(_ *Group, p *Connection, c *commands.Ctx) error {
	p.ReadOnly = true
	c.Out.OK()
	return nil
}

func readWrite(_ *Group, p *Connection, c *commands.Ctx) error {
	p.ReadOnly = false
	c.Out.OK()
	return nil
}

// asking has no effect: a slot that moves is served by one shard at a time, and MOVED sends clients there.
func asking(_ *Group, _ *Connection, c *commands.Ctx) error {
	c.Out.OK()
	return nil
}

// refuseChange is the reply to the commands that change a cluster of Redis.
func refuseChange(g *Group, _ *Connection, c *commands.Ctx) error {
	if !g.IsSharded() {
		return errOwnAffairs
	}
	switch c.Row.Name {
	case "bumpepoch": // nodes never dispute, so the epoch is high enough
		c.Out.Simple("STILL " + strconv.FormatUint(uint64(g.seen.Load().Term), 10))
		return nil
	case "saveconfig": // it is on disk
		c.Out.OK()
		return nil
	}
	if name, ranged := strings.CutSuffix(c.Row.Name, "range"); name == "addslots" || name == "delslots" {
		if err := refuseSlots(c, c.Argv[2:], ranged, name == "addslots"); err != nil {
			return err
		}
	}
	if g.mover != nil {
		return errGroups
	}
	return errFixedSlots
}

// refuseSlots returns what is wrong with the slots of CLUSTER ADDSLOTS and DELSLOTS, in Redis' order, or that
// a slot to be added has an owner, as all have. A script that makes a cluster of new nodes knows that answer.
func refuseSlots(c *commands.Ctx, words [][]byte, ranged, add bool) error {
	if ranged && len(words)%2 != 0 {
		return commands.ErrArity(c.Row.FullName())
	}
	for i, word := range words {
		n, ok := decimal.ParseInt(word)
		if !ok || n < 0 || n >= keyslot.Count {
			return errSlotRange
		}
		if !ranged || i%2 == 0 {
			continue
		}
		first, _ := decimal.ParseInt(words[i-1])
		switch {
		case first > n:
			return commands.Error("ERR start slot number " + string(words[i-1]) + " is greater than end slot number " + string(word))
		case add:
			return errBusy(words[i-1])
		}
	}
	if add {
		return errBusy(words[0])
	}
	return nil
}

// errBusy answers the addition of a slot that has an owner.
func errBusy(slot []byte) error {
	return commands.Error("ERR Slot " + string(slot) + " is already busy")
}

// mapText tells other shards what this server knows of all: see package shardmap.
func mapText(g *Group, _ *Connection, c *commands.Ctx) error {
	if g.text == nil {
		return errNoMap
	}
	c.Out.Verbatim("txt", g.text())
	return nil
}

func clusterInfo(g *Group, _ *Connection, c *commands.Ctx) error {
	c.Out.Verbatim("txt", g.infoText())
	return nil
}

func nodes(g *Group, p *Connection, c *commands.Ctx) error {
	now, text := g.seen.Load(), []byte(nil)
	for i := range now.Members {
		text = append(now.describe(text, &now.Members[i], p, c.DB.Store().NowMS()), '\n')
	}
	c.Out.Verbatim("txt", string(text))
	return nil
}

// links answers as if members used a cluster bus: a Redis node has a link to each other node that it reaches,
// and one from it.
func links(g *Group, p *Connection, c *commands.Ctx) error {
	now := g.seen.Load()
	all, count := c.Out.DeferArray(), 0
	for i := range now.Members {
		m := &now.Members[i]
		if m.ID == p.Self || !m.Up {
			continue
		}
		for _, direction := range []string{"to", "from"} {
			c.Out.Map(6)
			field(c, "direction", direction)
			field(c, "node", m.ID)
			c.Out.BulkString("create-time")
			c.Out.Int(now.sinceMS[m.ID])
			field(c, "events", "r")
			c.Out.BulkString("send-buffer-allocated")
			c.Out.Int(0)
			c.Out.BulkString("send-buffer-used")
			c.Out.Int(0)
			count++
		}
	}
	c.Out.SetArray(all, count)
	return nil
}

// slotRanges answers with each range of slots, its master, and its replicas. As in Redis replicas that are
// down are left out.
func slotRanges(g *Group, p *Connection, c *commands.Ctx) error {
	now := g.seen.Load()
	ranges, count := c.Out.DeferArray(), 0
	for _, of := range now.shards() {
		for _, r := range now.ranges(of) {
			whole, length := c.Out.DeferArray(), 2
			c.Out.Int(int64(r.First))
			c.Out.Int(int64(r.Last))
			for _, m := range of {
				if !m.Up && m != of[0] {
					continue
				}
				c.Out.Array(4)
				c.Out.BulkString(p.host(m))
				c.Out.Int(int64(p.port(m)))
				c.Out.BulkString(m.ID)
				c.Out.Map(0) // what else is known of its address
				length++
			}
			c.Out.SetArray(whole, length)
			count++
		}
	}
	c.Out.SetArray(ranges, count)
	return nil
}

// shards returns the members of each shard. The member that serves the slots comes first.
func (s *sight) shards() (all [][]*Member) {
	if s.Shard != "" {
		return s.groups()
	}
	if s.sharded {
		for i := range s.Members {
			all = append(all, []*Member{&s.Members[i]})
		}
		return all
	}
	var only []*Member
	if s.last != nil {
		only = append(only, s.last)
	}
	for i := range s.Members {
		if m := &s.Members[i]; m != s.last {
			only = append(only, m)
		}
	}
	return [][]*Member{only}
}

// groups are shards, if shards are groups of servers. The shards are in the order of their first members.
func (s *sight) groups() (all [][]*Member) {
	at := make(map[string]int)
	for i := range s.Members {
		m := &s.Members[i]
		n, known := at[m.Shard]
		if !known {
			n = len(all)
			at[m.Shard], all = n, append(all, nil)
		}
		if m.Leads {
			all[n] = slices.Insert(all[n], 0, m)
		} else {
			all[n] = append(all[n], m)
		}
	}
	return all
}

// ranges are the slots of a shard.
func (s *sight) ranges(of []*Member) []cluster.Range {
	if len(of) == 0 {
		return nil
	}
	return s.slots(of[0])
}

// shardOf is the shard of a member.
func (s *sight) shardOf(m *Member) []*Member {
	all := s.shards()
	return all[slices.IndexFunc(all, func(of []*Member) bool { return slices.Contains(of, m) })]
}

func shards(g *Group, p *Connection, c *commands.Ctx) error {
	now := g.seen.Load()
	all := now.shards()
	c.Out.Array(len(all))
	for _, of := range all {
		c.Out.Map(2)
		c.Out.BulkString("slots")
		ranges := now.ranges(of)
		c.Out.Array(2 * len(ranges))
		for _, r := range ranges {
			c.Out.Int(int64(r.First))
			c.Out.Int(int64(r.Last))
		}
		c.Out.BulkString("nodes")
		c.Out.Array(len(of))
		for _, m := range of {
			writeNode(c, now, p, m)
		}
	}
	return nil
}

// writeNode writes a member as CLUSTER SHARDS shows it.
func writeNode(c *commands.Ctx, s *sight, p *Connection, m *Member) {
	host := p.host(m)
	named, twice := !isAddress(host), m.SecurePort != 0
	fields := 7
	if named {
		fields++
	}
	if twice {
		fields++
	}
	c.Out.Map(fields)
	field(c, "id", m.ID)
	c.Out.BulkString("port")
	c.Out.Int(int64(m.Port))
	if twice {
		c.Out.BulkString("tls-port")
		c.Out.Int(int64(m.SecurePort))
	}
	field(c, "ip", host)
	field(c, "endpoint", host)
	if named {
		field(c, "hostname", host)
	}
	field(c, "role", roleName(s.isMaster(m), "replica"))
	c.Out.BulkString("replication-offset")
	c.Out.Int(m.Offset)
	field(c, "health", s.health(m))
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

func replicasOf(g *Group, p *Connection, c *commands.Ctx) error {
	now := g.seen.Load()
	m := now.find(string(c.Argv[2]))
	switch {
	case m == nil:
		return errUnknownNode(c.Argv[2])
	case !now.isMaster(m):
		return errNoMaster
	}
	replicas := now.shardOf(m)[1:]
	c.Out.Array(len(replicas))
	for _, m := range replicas {
		c.Out.Bulk(now.describe(nil, m, p, c.DB.Store().NowMS()))
	}
	return nil
}

func failureReports(g *Group, _ *Connection, c *commands.Ctx) error {
	if g.seen.Load().find(string(c.Argv[2])) == nil {
		return errUnknownNode(c.Argv[2])
	}
	c.Out.Int(0)
	return nil
}

func keySlot(_ *Group, _ *Connection, c *commands.Ctx) error {
	c.Out.Int(int64(keyslot.Of(c.Argv[2])))
	return nil
}

// countKeysInSlot looks at all keys, because they are not stored by slot.
func countKeysInSlot(_ *Group, _ *Connection, c *commands.Ctx) error {
	n, ok := decimal.ParseInt(c.Argv[2])
	switch {
	case !ok:
		return commands.ErrNotInteger
	case n < 0 || n >= keyslot.Count:
		return errSlot
	}
	count := int64(0)
	eachIn(c, n, func(string) bool {
		count++
		return true
	})
	c.Out.Int(count)
	return nil
}

func keysInSlot(_ *Group, _ *Connection, c *commands.Ctx) error {
	n, isInt := decimal.ParseInt(c.Argv[2])
	most, isCount := decimal.ParseInt(c.Argv[3])
	switch {
	case !isInt || !isCount:
		return commands.ErrNotInteger
	case n < 0 || n >= keyslot.Count || most < 0:
		return errSlotOrCount
	}
	array, count := c.Out.DeferArray(), 0
	if most > 0 {
		eachIn(c, n, func(key string) bool {
			c.Out.BulkString(key)
			count++
			return int64(count) < most
		})
	}
	c.Out.SetArray(array, count)
	return nil
}

// eachIn visits the keys of a slot until visit returns false.
func eachIn(c *commands.Ctx, n int64, visit func(key string) bool) {
	c.DB.Store().DB(0).Keys().Each(func(key string, _ store.Ref) bool {
		return int64(keyslot.Of([]byte(key))) != n || visit(key)
	})
}

func myID(_ *Group, p *Connection, c *commands.Ctx) error {
	c.Out.BulkString(p.Self)
	return nil
}

func myShardID(g *Group, p *Connection, c *commands.Ctx) error {
	c.Out.BulkString(g.shardID(p.Self))
	return nil
}
