package server

import (
	"net"
	"sync"

	"lockserver/commands"
)

// testServers are the further servers of a server in test mode. They end with it.
type testServers struct {
	mu     sync.Mutex
	byAddr map[string]*Server
	ended  bool // no more are taken
}

// errNoSuchServer answers TEST.SERVER END.
const errNoSuchServer commands.Error = "ERR there is no such server"

// NewServer implements testmode.Controls.
func (h testHost) NewServer(topology string) (addr string, err error) {
	srv, err := New(Options{Directives: map[string]string{"test-mode": "yes", "test-topology": topology}, Version: h.opts.Version})
	if err != nil {
		return "", err
	}
	if err := srv.Start(); err != nil {
		return "", err
	}
	addr = srv.Addr().String()
	if !h.servers.add(addr, srv) {
		_ = srv.Close()
		return "", net.ErrClosed
	}
	return addr, nil
}

// EndServer implements testmode.Controls.
func (h testHost) EndServer(addr string) error {
	h.servers.mu.Lock()
	srv := h.servers.byAddr[addr]
	delete(h.servers.byAddr, addr)
	h.servers.mu.Unlock()
	if srv == nil {
		return errNoSuchServer
	}
	return srv.Close()
}

// add takes a server that runs; false: its parent has ended.
func (t *testServers) add(addr string, srv *Server) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended {
		return false
	}
	if t.byAddr == nil {
		t.byAddr = make(map[string]*Server)
	}
	t.byAddr[addr] = srv // one that was there has ended by itself: its port was free
	return true
}

// end ends them all.
func (t *testServers) end() {
	t.mu.Lock()
	t.ended = true
	servers := t.byAddr
	t.byAddr = nil
	t.mu.Unlock()
	for _, srv := range servers {
		_ = srv.Close()
	}
}
