package topology

import (
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"net"
	"strconv"
	"sync"
	"sync/atomic"

	"lockserver/commands"
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
	ID     string // 40 hexadecimal digits, unique in the group, see NodeID
	Host   string // the address or name that clients connect to
	Port   int
	Up     bool  // it can be reached
	Offset int64 // how much of the group's history it has
}

// Addr returns the address for clients, as host:port.
func (m *Member) Addr() string { return net.JoinHostPort(m.Host, strconv.Itoa(m.Port)) }

// NodeID returns the ID that follows from a name.
func NodeID(name string) string {
	sum := sha1.Sum([]byte(name))
	return hex.EncodeToString(sum[:])
}

// View is the known state of a group at one moment.
type View struct {
	Members []Member
	Leader  string // the ID of the leader; empty: no leader
	Term    int64  // number of elections: it only rises
	AtMS    int64  // time of the observation, in milliseconds since 1970
}

// Options configures a group.
type Options struct {
	Form Form
	// Name is the group's name as a master for Sentinels; empty: mymaster.
	Name string
	// Self returns the ID of the member that a connection to a local address belongs to. local is nil if the
	// server itself asks.
	Self func(local net.Addr) string
	// ReplicasServe lets members that do not lead answer read commands, like replicas of Redis.
	ReplicasServe bool
}

// ChangeListener is the server, as far as a Group needs it.
type ChangeListener interface {
	// Switched is called when the leader has changed: another member leads, or there is now a leader, or
	// there is none any more. It may be called on any goroutine, with any lock held.
	Switched(c Change)
}

// Change is a change of the leader by Update. From and To are nil if there was, or is, no leader. Last is the
// leader before To, even if the group had no leader in between.
type Change struct{ From, To, Last *Member }

// Group is a server's knowledge of its group. Its methods may be called at any time, on any goroutine. A nil
// Group belongs to a server outside of a group.
type Group struct {
	options Options
	seen    atomic.Pointer[sight]
	update  sync.Mutex // one Update at a time
	host    ChangeListener
}

// sight is a view, with state that follows from it and from earlier views. It never changes.
type sight struct {
	View
	leader  *Member          // nil: no leader
	last    *Member          // the leader, or the last leader if it is still a member; nil: there was none
	sinceMS map[string]int64 // by ID: since when a member has been up, or down; in milliseconds
}

// New returns a group without members. Update sets them.
func New(o Options) *Group {
	if o.Name == "" {
		o.Name = "mymaster"
	}
	g := &Group{options: o}
	g.seen.Store(&sight{})
	return g
}

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
	for i := range v.Members {
		m := &v.Members[i]
		if _, twice := now.sinceMS[m.ID]; twice || len(m.ID) != 40 || m.Host == "" || m.Port < 1 || m.Port > 65535 {
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

// IsCluster reports whether clients see a cluster.
func (g *Group) IsCluster() bool { return g != nil && g.options.Form == Cluster }

// IsSentinel reports whether clients see Sentinels.
func (g *Group) IsSentinel() bool { return g != nil && g.options.Form == Sentinel }

// Place is the state of a connection: its member, and its READONLY.
type Place struct {
	Self     string // ID
	ReadOnly bool   // READONLY was called: the client accepts reads from a replica
}

// PlaceOf returns the Place of a new connection to a local address.
func (g *Group) PlaceOf(local net.Addr) (p Place) {
	if g != nil {
		p.Self = g.options.Self(local)
	}
	return p
}

// Leads reports whether the member of a connection leads. A server without a group leads.
func (g *Group) Leads(p *Place) bool {
	if g == nil {
		return true
	}
	leader := g.seen.Load().leader
	return leader != nil && leader.ID == p.Self
}

// Follows reports whether another member leads than the member of a connection.
func (g *Group) Follows(p *Place) bool {
	leader := g.seen.Load().leader
	return leader != nil && leader.ID != p.Self
}

// Of returns the group and the place of the client that runs a command.
type Of func(c *commands.Ctx) (*Group, *Place)
