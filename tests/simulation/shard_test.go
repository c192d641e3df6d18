//go:build simulation

package simulation

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"lockserver/internal/keyslot"
	"lockserver/internal/resp"
	"lockserver/server"
	"lockserver/server/cluster"
	"lockserver/server/shardmap"
	"lockserver/server/topology"
)

// clusterName is the name of the cluster of a run.
const clusterName = "shop"

// shard is a group as a shard of a cluster.
type shard struct {
	name  string
	slots []cluster.Range // the directive cluster-slots
	of    *shards
}

// shards are the groups of a cluster.
type shards struct {
	network *network
	groups  []*group
	dir     string // has the files with the maps of the members
	// restored are the maps that files had at one moment, by member.
	restored map[*member][]byte
}

// all returns the members of all groups.
func (s *shards) all() (all []*member) {
	for _, g := range s.groups {
		all = append(all, g.all...)
	}
	return all
}

// mapFile is the file in which a member keeps the map of the shards.
func (s *shards) mapFile(m *member) string { return filepath.Join(s.dir, m.peer.ID+".json") }

// configure makes a member's server a member of a shard. It knows a member of the shard before.
func (s *shard) configure(m *member, o *server.Options) {
	at := slices.Index(s.of.groups, m.group)
	before := s.of.groups[(at+len(s.of.groups)-1)%len(s.of.groups)]
	for name, value := range map[string]string{"cluster-enabled": "yes", "cluster-name": clusterName, "cluster-shard": s.name,
		"cluster-slots": cluster.RangesText(s.slots), "cluster-peers": before.all[m.number()%uint64(len(before.all))].peer.Client} {
		o.Directives[name] = value
	}
	id := topology.MemberID(clusterName, s.name, m.peer.ID)
	o.Group = topology.New(topology.GroupOptions{Form: topology.Cluster, Strict: true, Self: func(net.Addr) string { return id }})
	o.ShardMapPath = s.of.mapFile(m)
	o.DialShards = func(_ context.Context, host string, port int) (net.Conn, error) {
		return s.of.dial(m, net.JoinHostPort(host, strconv.Itoa(port)))
	}
}

// dial connects a member to one of another shard, over the network of the run.
func (s *shards) dial(from *member, address string) (net.Conn, error) {
	to := s.at(address)
	if to == nil {
		return nil, errRefused
	}
	c := &mapConn{network: s.network, out: link{from.at(), to.at()}, in: link{to.at(), from.at()}, closed: make(chan struct{})}
	if !s.network.carry(c.out, time.Now(), c.closed) {
		return nil, errTimeout
	}
	var err error
	c.Conn, err = to.dial()
	return c, err
}

// at returns the member that clients reach at an address, or nil.
func (s *shards) at(address string) *member {
	for _, m := range s.all() {
		if m.peer.Client == address {
			return m
		}
	}
	return nil
}

// mapConn is a connection between members of two shards. A message that the network loses has no answer.
type mapConn struct {
	net.Conn
	network *network
	out, in link
	once    sync.Once
	closed  chan struct{}
}

func (c *mapConn) Write(p []byte) (int, error) {
	if !c.network.carry(c.out, time.Now(), c.closed) {
		return len(p), nil
	}
	return c.Conn.Write(p)
}

func (c *mapConn) Read(p []byte) (int, error) {
	for {
		n, err := c.Conn.Read(p)
		if err != nil || c.network.carry(c.in, time.Now(), c.closed) {
			return n, err
		}
	}
}

func (c *mapConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Conn.Close()
}

// calm makes the links of a group's members fast and reliable. If the group is no shard, these are all links.
func (g *group) calm() {
	if g.shard == nil {
		g.network.calm()
		return
	}
	for _, a := range g.all {
		for _, b := range g.all {
			g.network.set(link{a.at(), b.at()}, fair, 0)
		}
	}
}

// anyKey returns a key that the group's leader answers for.
func (g *group) anyKey() string {
	if g.shard == nil {
		return "any"
	}
	for i := 0; ; i++ {
		key := fmt.Sprint("any", i)
		if has(g.shard.slots, keyslot.Of([]byte(key))) {
			return key
		}
	}
}

func has(all []cluster.Range, slot int) bool {
	return slices.ContainsFunc(all, func(r cluster.Range) bool { return r.Has(slot) })
}

// leader returns the leader of a group, or nil.
func (g *group) leader() *member {
	for _, m := range g.all {
		if l := m.alive.Load(); l != nil && l.engine.Leads() {
			return m
		}
	}
	return nil
}

// own returns what a member says of its own shard.
func (m *member) own() (shardmap.Shard, error) {
	v := m.ask("CLUSTER", "MAP")
	if v.IsError() {
		return shardmap.Shard{}, errors.New(v.Str)
	}
	_, own, all, err := shardmap.Read(v.Str)
	if err != nil {
		return shardmap.Shard{}, err
	}
	at := slices.IndexFunc(all, func(s shardmap.Shard) bool { return s.Name == own })
	if at < 0 {
		return shardmap.Shard{}, errors.New("it owns nothing")
	}
	return all[at], nil
}

// slotsEntry is an entry of a log that gives a group other slots after a generation, as package raft writes
// it.
func slotsEntry(generation int64, o cluster.Owned) []byte {
	e := append([]byte{1, byte(len("slots"))}, "slots"...)
	e = append(e, 0)
	for _, n := range []int64{generation, 0, 0} {
		e = binary.LittleEndian.AppendUint64(e, uint64(n))
	}
	return append(e, o.String()...)
}

// change gives a group other slots, of generation 2, and reports whether its log has them. It tries until the
// run is over.
func (w *world) change(slots []cluster.Range) bool {
	owned := cluster.Owned{Cluster: clusterName, Shard: w.group.shard.name, Slots: slots}
	for ; !w.over(); time.Sleep(w.chance.between(10*time.Millisecond, 200*time.Millisecond)) {
		m := w.group.leader()
		if m == nil {
			continue
		}
		if is, err := m.own(); err == nil && is.Generation == 2 {
			w.say("the shard %s has the slots of generation 2", w.group.shard.name)
			return true
		}
		if l := m.alive.Load(); l != nil {
			_ = l.engine.Propose(slotsEntry(1, owned))()
		}
	}
	return false
}

// slot returns the slot of an operation. All commands of the families of a cluster have one key, the second
// word.
func (op *operation) slot() int { return keyslot.Of([]byte(op.words[1])) }

// route goes to the member that serves the slot of an operation as far as the client knows, or at times to
// any member. Without routes it does nothing.
func (c *client) route(o *operation) {
	if c.routes == nil {
		return
	}
	to, known := c.routes[o.slot()]
	if !known || c.chance.oneIn(6) {
		to = c.chance.below(len(c.world.group.all))
	}
	if to != c.at {
		c.leave()
		c.at = to
	}
}

// next returns the member to ask after a reply that names no other one, or names it.
func (c *client) next(v resp.Value) int {
	if words := strings.Fields(v.Str); words[0] == "MOVED" && c.routes != nil {
		to := slices.IndexFunc(c.world.group.all, func(m *member) bool { return m.peer.Client == words[2] })
		if slot, err := strconv.Atoi(words[1]); to >= 0 && err == nil {
			c.routes[slot] = to
			return to
		}
	}
	return c.chance.below(len(c.world.group.all))
}
