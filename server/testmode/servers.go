package testmode

import (
	"io"
	"net"
	"sync"

	"lockserver/commands"
)

// Servers holds the further servers of a server in test mode (TEST.SERVER). They end with it. The zero value
// is ready for use; all methods may be called at any time.
type Servers struct {
	mu     sync.Mutex
	byAddr map[string]io.Closer
	ended  bool // no further server is accepted
}

// errNoSuchServer answers TEST.SERVER END.
const errNoSuchServer commands.Error = "ERR there is no such server"

// Add adds a server that runs at an address. If its parent has ended, the server is closed, and the error is
// net.ErrClosed.
func (s *Servers) Add(addr string, srv io.Closer) error {
	s.mu.Lock()
	ended := s.ended
	if !ended {
		if s.byAddr == nil {
			s.byAddr = make(map[string]io.Closer)
		}
		s.byAddr[addr] = srv // an earlier server at this address has ended by itself, because its port was free
	}
	s.mu.Unlock()
	if ended {
		_ = srv.Close()
		return net.ErrClosed
	}
	return nil
}

// End ends the server at an address.
func (s *Servers) End(addr string) error {
	s.mu.Lock()
	srv := s.byAddr[addr]
	delete(s.byAddr, addr)
	s.mu.Unlock()
	if srv == nil {
		return errNoSuchServer
	}
	return srv.Close()
}

// EndAll ends all servers, and accepts no further server.
func (s *Servers) EndAll() {
	s.mu.Lock()
	s.ended = true
	servers := s.byAddr
	s.byAddr = nil
	s.mu.Unlock()
	for _, srv := range servers {
		_ = srv.Close()
	}
}
