package testmode

import (
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"

	"lockserver/internal/config"
	"lockserver/server/topology"
)

// Members is the number of members of an imitated group: enough for a majority after one of them fails.
const Members = 3

// Group is the group that a server in test mode imitates (test-topology). The server listens on a port for
// each member, and replies on each port as that member would. There is one set of data, so all members have
// the same data at any moment.
type Group struct {
	Topology *topology.Group
	host     string

	mu     sync.Mutex
	ports  [Members]int // 0: not known yet
	leader int
	term   int64
}

// NewGroup returns the group of a configuration, or nil.
func NewGroup(c *config.Config) *Group {
	if c.TestTopology == Standalone {
		return nil
	}
	g := &Group{}
	if len(c.Bind) > 0 {
		g.host = strings.TrimPrefix(c.Bind[0], "-")
	}
	form := topology.Cluster
	if c.TestTopology == Sentinel {
		form = topology.Sentinel
	}
	g.Topology = topology.New(topology.GroupOptions{Form: form, Strict: c.ClusterEnabled, Self: g.self, ReplicasServe: true})
	return g
}

func memberID(i int) string { return topology.NodeID("member " + strconv.Itoa(i)) }

// self returns the member of a connection by its port. A connection without a port belongs to the leader.
func (g *Group) self(local net.Addr) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	tcp, ok := local.(*net.TCPAddr)
	if !ok {
		return memberID(g.leader)
	}
	for i, port := range g.ports {
		if port == tcp.Port {
			return memberID(i)
		}
	}
	return memberID(0) // an early connection: only the ports of the other members are known before the server listens
}

// Listen opens the ports of all but the first member: the ports above the first, or free ports.
func (g *Group) Listen(first int) (lns []net.Listener, err error) {
	for i := 1; i < Members; i++ {
		port := 0
		if first != 0 {
			port = first + i
		}
		ln, err := net.Listen("tcp", net.JoinHostPort(g.host, strconv.Itoa(port)))
		if err != nil {
			for _, open := range lns {
				_ = open.Close()
			}
			return nil, fmt.Errorf("test-topology: member %d: %w", i+1, err)
		}
		lns = append(lns, ln)
		g.ports[i] = ln.Addr().(*net.TCPAddr).Port
	}
	return lns, nil
}

// Begin makes the first member, which listens on port, the leader. nowMS is the time.
func (g *Group) Begin(port int, nowMS int64) error {
	g.mu.Lock()
	g.ports[0] = port
	g.mu.Unlock()
	return g.lead(0, nowMS)
}

// Next makes the next member the leader, and returns its address.
func (g *Group) Next(nowMS int64) (addr string, err error) {
	if err := g.lead((g.leader+1)%Members, nowMS); err != nil {
		return "", err
	}
	return net.JoinHostPort(g.host, strconv.Itoa(g.ports[g.leader])), nil
}

// First makes the first member the leader again, and reports whether that is a change.
func (g *Group) First(nowMS int64) (changed bool) {
	if g.leader == 0 {
		return false
	}
	_ = g.lead(0, nowMS) // it succeeded before
	return true
}

// lead makes a member the leader, and updates the group.
func (g *Group) lead(i int, nowMS int64) error {
	g.mu.Lock()
	g.leader = i
	g.term++
	v := topology.View{Leader: memberID(i), Term: g.term, AtMS: nowMS}
	for i, port := range g.ports {
		v.Members = append(v.Members, topology.Member{ID: memberID(i), Host: g.host, Port: port, Up: true})
	}
	g.mu.Unlock()
	return g.Topology.Update(v)
}
