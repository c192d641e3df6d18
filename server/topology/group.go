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

// Form is how clients find the leader.
type Form uint8

// The forms.
const (
	Cluster  Form = iota // as in a Redis Cluster
	Sentinel             // as with Sentinels, every member being one, too
)

// Member is a server of a group.
type Member struct {
	ID     string // 40 hexadecimal digits, unique in the group, see NodeID
	Host   string // where clients reach it: an address, or a name
	Port   int
	Up     bool  // it can be reached
	Offset int64 // how much of the group's history it has
}

// Addr is where clients reach the member, as host:port.
func (m *Member) Addr() string { return net.JoinHostPort(m.Host, strconv.Itoa(m.Port)) }

// NodeID is an ID that follows from a name.
func NodeID(name string) string {
	sum := sha1.Sum([]byte(name))
	return hex.EncodeToString(sum[:])
}

// View is what is known of a group at one moment.
type View struct {
	Members []Member
	Leader  string // the ID of the one that leads; empty: there is none
	Term    int64  // how often a leader was looked for: it only rises
	AtMS    int64  // when this was seen, in milliseconds since 1970
}

// Options say what a group is like.
type Options struct {
	Form Form
	// Name is the group's, as Sentinels know a master; empty: mymaster.
	Name string
	// Self tells which member it is, by its ID, that a connection to a local address has come to; nil: to
	// none, but it is the server itself that asks.
	Self func(local net.Addr) string
	// ReplicasServe lets members that do not lead answer what only reads, as replicas of Redis do.
	ReplicasServe bool
}

// ChangeListener is what a Group needs of the server.
type ChangeListener interface {
	// Switched is called when the group has another view: another member leads, or there is a leader where
	// there was none, or none any more. It may be called on any goroutine, with any lock held.
	Switched(c Change)
}

// Change is what Update has changed. From and To are nil where there was, or is, no leader. Last is the
// leader before To, also if the group had no leader in between.
type Change struct{ From, To, Last *Member }

// Group is what a server knows of the servers that it belongs to. Its methods may be called at any time, on
// any goroutine. A nil Group is that of a server outside of a group.
type Group struct {
	options Options
	seen    atomic.Pointer[sight]
	update  sync.Mutex // one Update at a time
	host    ChangeListener
}

// sight is a view, and what follows from it and those before. It is never changed.
type sight struct {
	View
	leader  *Member          // nil: there is none
	last    *Member          // the leader, or the last one if it is still a member; nil: there is none
	sinceMS map[string]int64 // by ID: when a member was first seen to be up, or down, as it is; milliseconds
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

// Update tells what is known now. The slice belongs to the group afterwards. The error says what is wrong
// with the view, which changes nothing then.
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

// find returns the member of that ID; nil: there is none.
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

// Place is where a connection is: the member that it has come to, and what it has said to that one.
type Place struct {
	Self     string // ID
	ReadOnly bool   // READONLY: it would read from a replica
}

// PlaceOf is that of a new connection to a local address.
func (g *Group) PlaceOf(local net.Addr) (p Place) {
	if g != nil {
		p.Self = g.options.Self(local)
	}
	return p
}

// Leads reports whether the member that a connection has come to leads. A server without a group does.
func (g *Group) Leads(p *Place) bool {
	if g == nil {
		return true
	}
	leader := g.seen.Load().leader
	return leader != nil && leader.ID == p.Self
}

// Follows reports whether another member leads than the one that a connection has come to.
func (g *Group) Follows(p *Place) bool {
	leader := g.seen.Load().leader
	return leader != nil && leader.ID != p.Self
}

// Of returns the group and the place of the client that runs a command.
type Of func(c *commands.Ctx) (*Group, *Place)
