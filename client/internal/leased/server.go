package leased

import (
	"context"
	"reflect"
	"sync"
	"time"

	"lockserver/client"
)

// idle is how long the connection of a server stays when no lock is held and no call is made.
const idle = 10 * time.Second

// server holds the connection and the locks of one client of a library.
type server struct {
	locks  Locks
	ready  chan struct{} // closed when client or err is there
	client *client.Client
	err    error

	mu    sync.Mutex
	calls int  // that are under way
	used  bool // since the last look
	held  map[claim]*client.Lock
}

// claim names a lock by its key and its value.
type claim struct{ key, value string }

// servers are those that are in use. redislock.Obtain is given a client of a library with each call, so what
// such calls share has no other place.
var servers = struct {
	mu sync.Mutex
	by map[Locks]*server
}{by: make(map[Locks]*server)}

// enter begins a call, and connects if need be. Call leave in the end, unless there is an error.
func (l Locks) enter(ctx context.Context) (*server, error) {
	if !reflect.ValueOf(l.library).Comparable() {
		return nil, l.refused()
	}
	servers.mu.Lock()
	s := servers.by[l]
	if s == nil {
		s = &server{locks: l, ready: make(chan struct{}), held: make(map[claim]*client.Lock)}
		servers.by[l] = s
		go s.open()
	}
	s.mu.Lock()
	s.calls++
	s.mu.Unlock()
	servers.mu.Unlock()
	select {
	case <-s.ready:
	case <-ctx.Done():
		s.leave()
		return nil, ctx.Err()
	}
	if s.err != nil {
		s.leave()
		return nil, s.err
	}
	return s, nil
}

// leave ends a call.
func (s *server) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls--
	s.used = true
}

// open makes the client. If that fails, the next call tries again.
func (s *server) open() {
	s.client, s.err = s.locks.connect()
	if s.err != nil {
		s.forget()
	} else {
		time.AfterFunc(idle, s.look)
	}
	close(s.ready)
}

func (s *server) forget() {
	servers.mu.Lock()
	defer servers.mu.Unlock()
	delete(servers.by, s.locks)
}

// look ends the client if it was of no use for a while.
func (s *server) look() {
	servers.mu.Lock()
	s.mu.Lock()
	stats := s.client.Stats()
	inUse := s.used || s.calls > 0 || stats.Held > 0 || stats.Waiting > 0
	s.used = false
	for of, lock := range s.held {
		if lock.Remaining() == 0 {
			delete(s.held, of)
		}
	}
	if !inUse {
		delete(servers.by, s.locks)
	}
	s.mu.Unlock()
	servers.mu.Unlock()
	if inUse {
		time.AfterFunc(idle, s.look)
		return
	}
	s.client.Close()
}

// claim records the lock that a value has; nil: it has none any more.
func (s *server) claim(key, value string, lock *client.Lock) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if lock == nil {
		delete(s.held, claim{key, value})
		return
	}
	s.held[claim{key, value}] = lock
}

// claimed is the lock that a value was given by this server's client; nil: none.
func (s *server) claimed(key, value string) *client.Lock {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.held[claim{key, value}]
}
