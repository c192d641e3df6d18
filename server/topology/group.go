package topology

import (
	"cmp"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"net"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"lockserver/commands"
	"lockserver/server/cluster"
)

// Form is the way in which clients find the leader.
type Form uint8

// The forms.
const (
	Cluster  Form = iota // as in a Redis Cluster
	Sentinel             // as with Sentinels; every member is also a Sentinel
)

// Member is a server of a group.
type Member struct {
	ID string // 40 hexadecimal digits, unique in the group, see NodeID
	// Host is where clients reach it: an address, or a name. Empty: at the address by which they reach this
	// server, as the shards of one process.
	Host   string
	Port   int
	Up     bool  // it can be reached
	Offset int64 // how much of the group's history it has
	// SecurePort is its port for encrypted connections; 0: Port is the only one.
	SecurePort int
	// Slots are those that it serves as a shard of its own. If no member has any, the group is one shard, and
	// its leader serves all.
	Slots []cluster.Range
	// Shard is the name of its shard, if shards are groups of several servers: see View.Shard. Leads says
	// that the server leads its shard, or led it last. Update sets it for members of this server's own
	// shard.
	Shard string
	Leads bool
}

// Addr returns the address for clients, as host:port.
func (m *Member) Addr() string { return net.JoinHostPort(m.Host, strconv.Itoa(m.Port)) }

// NodeID returns the ID that follows from a name.
func NodeID(name string) string {
	sum := sha1.Sum([]byte(name))
	return hex.EncodeToString(sum[:])
}

// MemberID returns the ID of a member of a raft group: NodeID of its id there, or, if the group is a shard
// of a cluster, of all three names.
func MemberID(cluster, shard, id string) string {
	if cluster != "" {
		id = cluster + "/" + shard + "/" + id
	}
	return NodeID(id)
}

// View is the known state of a group at one moment.
type View struct {
	Members []Member
	Leader  string // the ID of the leader; empty: no leader
	Term    int64  // number of elections: it only rises
	AtMS    int64  // time of the observation, in milliseconds since 1970
	// Shard is the name of the shard of this server, if the cluster's shards are groups of servers; empty:
	// they are not. Members has those of all shards then, with the slots of the other shards at their
	// leaders. Slots are those that the shard of this server serves. Lost are slots that another shard
	// serves, which owns them, too: they are not served here.
	Shard string
	Slots []cluster.Range
	Lost  []cluster.Range
}

// GroupOptions configures a group.
type GroupOptions struct {
	Form Form
	// Name is the group's name as a master for Sentinels; empty: mymaster.
	Name string
	// Self returns the ID of the member that a connection to a local address belongs to. local is nil if the
	// server itself asks.
	Self func(local net.Addr) string
	// Strict makes the keys of one command share a slot, as in a Redis Cluster.
	Strict bool
	// ReplicasServe lets members that do not lead answer what only reads, as replicas of Redis do.
	ReplicasServe bool
}

// ChangeListener is the server, as far as a Group needs it.
type ChangeListener interface {
	// Switched is called when the leader has changed: another member leads, or the group has got a leader
	// or lost it. It may be called on any goroutine, with any lock held.
	Switched(c Change)
}

// Change is a change of the leader by Update. From and To are nil if there was, or is, no leader. Last is the
// leader before To, even if the group had no leader in between.
type Change struct{ From, To, Last *Member }

// Group is a server's knowledge of its group. Its methods may be called at any time, on any goroutine. A nil
// Group belongs to a server outside of a group.
type Group struct {
	options GroupOptions
	seen    atomic.Pointer[sight]
	update  sync.Mutex // one Update at a time
	host    ChangeListener
	alone   bool // the server is a whole cluster
	// text returns what this server tells other shards, if shards are groups of servers; nil: they are not.
	text func() string
	// mover moves slots to other shards; nil: it cannot be done.
	mover Mover
}

// sight is a view, with state that follows from it and from earlier views. It never changes.
type sight struct {
	View
	leader  *Member          // or nil
	last    *Member          // the leader, or the last leader if it is still a member, or nil
	sinceMS map[string]int64 // by ID: when a member was first seen to be up, or down, as it is; milliseconds
	sharded bool             // members have slots of their own
	whole   bool             // the leader has all slots
	home    int              // the first slot of the leader
	length  uint             // how many slots in a row from home on it has
}

// New returns a group without members. Update sets them.
func New(o GroupOptions) *Group {
	if o.Name == "" {
		o.Name = "mymaster"
	}
	g := &Group{options: o}
	g.seen.Store(&sight{})
	return g
}

// NewAlone returns the group of a server that is a whole cluster by itself, with an ID of 40 hexadecimal
// digits. Listens tells where it is.
func NewAlone(id string) *Group {
	g := New(GroupOptions{Form: Cluster, Strict: true, Self: func(net.Addr) string { return id }})
	g.alone = true
	return g
}

// Listens says where a server is reached that is a whole cluster by itself. Only Host, Port and SecurePort of
// at are used; Host may be empty. It does nothing in another group. nowMS is the time.
func (g *Group) Listens(at Member, nowMS int64) {
	if g == nil || !g.alone {
		return
	}
	at.ID, at.Up, at.Slots = g.options.Self(nil), true, []cluster.Range{cluster.All()}
	_ = g.Update(View{Members: []Member{at}, Leader: at.ID, AtMS: nowMS}) // there is nothing in it to be refused
}

// UseMap sets the function that returns the reply of CLUSTER MAP. It is for servers in a cluster of raft
// groups.
func (g *Group) UseMap(text func() string) { g.text = text }

// Attach sets the host that is notified of changes; a server does that once.
func (g *Group) Attach(h ChangeListener) {
	g.update.Lock()
	g.host = h
	g.update.Unlock()
}

// Update sets the present view. The slice belongs to the group afterwards. The error describes a fault in the
// view; then nothing has changed.
func (g *Group) Update(v View) error {
	g.update.Lock()
	defer g.update.Unlock()
	was := g.seen.Load()
	now := &sight{View: v, sinceMS: make(map[string]int64, len(v.Members))}
	now.sharded = v.Shard != "" || slices.ContainsFunc(v.Members, func(m Member) bool { return len(m.Slots) > 0 })
	for i := range v.Members {
		m := &v.Members[i]
		if _, twice := now.sinceMS[m.ID]; twice || len(m.ID) != 40 || !now.sharded && (m.Host == "" || m.Port == 0) || m.Port < 0 || m.Port > 65535 {
			return fmt.Errorf("topology: member %d: '%s' at %s", i, m.ID, m.Addr())
		}
		now.sinceMS[m.ID] = v.AtMS
		if before := was.find(m.ID); before != nil && before.Up == m.Up {
			now.sinceMS[m.ID] = was.sinceMS[m.ID]
		}
	}
	if v.Leader != "" {
		if now.leader = now.find(v.Leader); now.leader == nil {
			return fmt.Errorf("topology: the leader '%s' is no member", v.Leader)
		}
	}
	if now.last = now.leader; now.last == nil && was.last != nil {
		now.last = now.find(was.last.ID)
	}
	if v.Shard != "" && now.last != nil {
		now.last.Leads, now.last.Slots = true, v.Slots
	}
	if now.leader != nil && len(now.leader.Slots) > 0 {
		first := now.leader.Slots[0]
		now.home, now.length = first.First, uint(first.Last-first.First+1)
	}
	now.whole = !now.sharded || now.leader != nil && slices.Equal(now.leader.Slots, []cluster.Range{cluster.All()})
	g.seen.Store(now)
	if g.host != nil && v.Leader != was.Leader {
		g.host.Switched(Change{From: was.leader, To: now.leader, Last: was.last})
	}
	return nil
}

// View returns the newest view. It must not be changed.
func (g *Group) View() View { return g.seen.Load().View }

// find returns the member with an ID, or nil.
func (s *sight) find(id string) *Member {
	for i := range s.Members {
		if s.Members[i].ID == id {
			return &s.Members[i]
		}
	}
	return nil
}

// slots are those that a member serves.
func (s *sight) slots(m *Member) []cluster.Range {
	if !s.sharded && m == s.last {
		return []cluster.Range{cluster.All()}
	}
	return m.Slots
}

// owner returns the member that serves a slot; nil: no member does.
func (s *sight) owner(n int) *Member {
	if !s.sharded {
		return s.leader
	}
	for i := range s.Members {
		if s.Members[i].has(n) {
			return &s.Members[i]
		}
	}
	return nil
}

func (m *Member) has(n int) bool { return in(m.Slots, n) }

// in reports whether a slot is in one of some ranges.
func in(all []cluster.Range, n int) bool {
	return slices.ContainsFunc(all, func(r cluster.Range) bool { return r.Has(n) })
}

// IsCluster reports whether clients see a cluster.
func (g *Group) IsCluster() bool { return g != nil && g.options.Form == Cluster }

// Strict reports whether the keys of one command must share a slot.
func (g *Group) Strict() bool { return g != nil && g.options.Strict }

// IsMember reports whether other servers have the same data, and one of them leads.
func (g *Group) IsMember() bool { return g != nil && (!g.IsSharded() || g.seen.Load().Shard != "") }

// IsSharded reports whether there are other shards: servers with other slots.
func (g *Group) IsSharded() bool { return g != nil && g.seen.Load().sharded }

// IsSentinel reports whether clients see Sentinels.
func (g *Group) IsSentinel() bool { return g != nil && g.options.Form == Sentinel }

// Connection is the state of a connection: its member of the group, and its READONLY.
type Connection struct {
	Self     string // ID
	Host     string // the address of this server by which the client reaches it; empty: not over TCP
	ReadOnly bool   // READONLY: it would read from a replica
	Secure   bool   // the connection has come to SecurePort
	leads    *sight // the newest in which its member was found to lead
}

// ConnectionOf returns the state of a new connection to a local address.
func (g *Group) ConnectionOf(local net.Addr) (p Connection) {
	if g == nil {
		return p
	}
	p.Self = g.options.Self(local)
	if tcp, ok := local.(*net.TCPAddr); ok {
		p.Host = tcp.IP.String()
		self := g.seen.Load().find(p.Self)
		p.Secure = self != nil && self.SecurePort == tcp.Port
	}
	return p
}

// loopback is where a client that has not come over TCP finds the shards of this process.
const loopback = "127.0.0.1"

// host and port are where the client of a connection reaches a member.
func (p *Connection) host(m *Member) string { return cmp.Or(m.Host, p.Host, loopback) }

func (p *Connection) port(m *Member) int {
	if p.Secure && m.SecurePort != 0 {
		return m.SecurePort
	}
	return m.Port
}

// Leads reports whether the member that a connection has come to leads. A server without a group does.
func (g *Group) Leads(p *Connection) bool { return g == nil || p.leads == g.seen.Load() || g.leads(p) }

// leads is Leads for a view that is new to the connection.
func (g *Group) leads(p *Connection) bool {
	now := g.seen.Load()
	if now.leader == nil || now.leader.ID != p.Self {
		return false
	}
	p.leads = now
	return true
}

// Follows reports whether another member leads than the member of a connection.
func (g *Group) Follows(p *Connection) bool {
	leader := g.seen.Load().leader
	return leader != nil && leader.ID != p.Self
}

// Of returns the group and the place of the client that runs a command.
type Of func(c *commands.Ctx) (*Group, *Connection)
