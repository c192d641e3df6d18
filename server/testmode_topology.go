package server

import (
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"

	"lockserver/internal/config"
	"lockserver/server/testmode"
	"lockserver/server/topology"
)

// A server in test mode can look like a group (test-topology): it listens on a port for each member, and says
// on each what that member would say. There is one set of data, so that all members have the same at any
// moment.

// facadeMembers are enough for a majority without one of them.
const facadeMembers = 3

// facade is the group that there is not.
type facade struct {
	group *topology.Group
	host  string

	mu     sync.Mutex
	ports  [facadeMembers]int // 0: not known yet
	leader int
	term   int64
}

// newFacade is the group that a configuration asks for; nil: none.
func newFacade(c *config.Config) *facade {
	if c.TestTopology == testmode.Standalone {
		return nil
	}
	f := &facade{}
	if len(c.Bind) > 0 {
		f.host = strings.TrimPrefix(c.Bind[0], "-")
	}
	form := topology.Cluster
	if c.TestTopology == testmode.Sentinel {
		form = topology.Sentinel
	}
	f.group = topology.New(topology.Options{Form: form, Self: f.self, ReplicasServe: true})
	return f
}

func memberID(i int) string { return topology.NodeID("member " + strconv.Itoa(i)) }

// self tells by its port which member a connection has come to. One without a port talks with the leader.
func (f *facade) self(local net.Addr) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	tcp, ok := local.(*net.TCPAddr)
	if !ok {
		return memberID(f.leader)
	}
	for i, port := range f.ports {
		if port == tcp.Port {
			return memberID(i)
		}
	}
	return memberID(0) // it was quick: only the others' ports are known before the server listens
}

// listen opens the ports of all but the first member: those above its own, or free ones.
func (f *facade) listen(first int) (lns []net.Listener, err error) {
	for i := 1; i < facadeMembers; i++ {
		port := 0
		if first != 0 {
			port = first + i
		}
		ln, err := net.Listen("tcp", net.JoinHostPort(f.host, strconv.Itoa(port)))
		if err != nil {
			for _, open := range lns {
				_ = open.Close()
			}
			return nil, fmt.Errorf("test-topology: member %d: %w", i+1, err)
		}
		lns = append(lns, ln)
		f.ports[i] = ln.Addr().(*net.TCPAddr).Port
	}
	return lns, nil
}

// lead makes a member the leader, and tells the group. nowMS is the time.
func (f *facade) lead(i int, nowMS int64) error {
	f.mu.Lock()
	f.leader = i
	f.term++
	v := topology.View{Leader: memberID(i), Term: f.term, AtMS: nowMS}
	for i, port := range f.ports {
		v.Members = append(v.Members, topology.Member{ID: memberID(i), Host: f.host, Port: port, Up: true})
	}
	f.mu.Unlock()
	return f.group.Update(v)
}

// listen makes clients able to connect to a, and to the members of a group that the server looks like.
func (srv *Server) listen() error {
	a, err := srv.addresses()
	if err != nil {
		return err
	}
	f := srv.executor.facade
	if f == nil {
		return srv.endpoint.Listen(a)
	}
	lns, err := f.listen(a.Port)
	if err != nil {
		return err
	}
	if err = srv.endpoint.Listen(a); err != nil {
		for _, ln := range lns {
			_ = ln.Close()
		}
		return err
	}
	for _, ln := range lns {
		srv.endpoint.Serve(ln)
	}
	f.mu.Lock()
	f.ports[0] = srv.port()
	f.mu.Unlock()
	return f.lead(0, srv.executor.clock.NowUS()/1000)
}

// Failover implements testmode.Controls. Clients of the old leader lose their connections, as when a member
// of a group leads no more. Exceptions are the client that asks, and subscribers of a Sentinel, which would
// be another process in a real group.
func (h testHost) Failover(by int64) (addr string, err error) {
	if h.facade == nil {
		return "", testmode.ErrNoGroup
	}
	h.do(func() { addr, err = h.failOver(func(id int64) bool { return id == by }) })
	return addr, err
}

// failOver is Failover within a unit. Clients that are spared keep their connections.
func (ex *executor) failOver(spared func(id int64) bool) (addr string, err error) {
	f, old := ex.facade, ex.group.View().Leader
	if err := f.lead((f.leader+1)%facadeMembers, ex.store.NowMS()); err != nil {
		return "", err
	}
	ex.groupChanges.tell()
	for _, s := range ex.sortedClients() {
		if s.place.Self == old && !spared(s.id) && (s.subs == nil || ex.group.IsCluster()) {
			ex.terminate(s)
		}
	}
	return net.JoinHostPort(f.host, strconv.Itoa(f.ports[f.leader])), nil
}

// leadAsNew makes the first member the leader again.
func (ex *executor) leadAsNew() {
	if f := ex.facade; f != nil && f.leader != 0 {
		_ = f.lead(0, ex.store.NowMS()) // it was possible before
		ex.groupChanges.tell()
	}
}
