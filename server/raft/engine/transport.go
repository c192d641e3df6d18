package engine

import (
	"errors"
	"net"
	"sync"

	hraft "github.com/hashicorp/raft"
)

// transport is the library's, whose exchanges can be broken off. The library waits for them when it ends,
// and one may never: who sends entries in a pipeline waits until the answers before are read, and who reads
// these has gone when one of them said that another leads.
type transport struct {
	*hraft.NetworkTransport
	stream *stream

	mu        sync.Mutex
	hungUp    bool
	pipelines map[hraft.AppendPipeline]struct{} // that are open
}

// breaker is a transport that can break off what is under way.
type breaker interface {
	// breakPipelines ends all pipelines: what they were for, this member's leading, is over. The library
	// begins new ones.
	breakPipelines()
	// hangUp breaks off every exchange with another member, for good.
	hangUp()
}

var (
	_ hraft.Transport   = (*transport)(nil)
	_ hraft.WithPreVote = (*transport)(nil)
	_ hraft.WithClose   = (*transport)(nil)
	_ breaker           = (*transport)(nil)
)

// AppendEntriesPipeline implements hraft.Transport.
func (t *transport) AppendEntriesPipeline(id hraft.ServerID, at hraft.ServerAddress) (hraft.AppendPipeline, error) {
	p, err := t.NetworkTransport.AppendEntriesPipeline(id, at)
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.hungUp {
		_ = p.Close()
		return nil, hraft.ErrTransportShutdown
	}
	if t.pipelines == nil {
		t.pipelines = make(map[hraft.AppendPipeline]struct{})
	}
	t.pipelines[p] = struct{}{}
	return pipeline{p, t}, nil
}

// pipeline is one that its transport knows of as long as it is open.
type pipeline struct {
	hraft.AppendPipeline
	of *transport
}

// Close implements hraft.AppendPipeline.
func (p pipeline) Close() error {
	p.of.mu.Lock()
	delete(p.of.pipelines, p.AppendPipeline)
	p.of.mu.Unlock()
	return p.AppendPipeline.Close()
}

func (t *transport) breakPipelines() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for p := range t.pipelines {
		_ = p.Close()
	}
	clear(t.pipelines)
}

func (t *transport) hangUp() {
	t.mu.Lock()
	t.hungUp = true
	t.mu.Unlock()
	t.breakPipelines()
	t.stream.hangUp()
}

// dialed is a connection to another member, which its stream knows of as long as it is open.
type dialed struct {
	net.Conn
	of *stream
}

// keep has the stream know of a connection.
func (s *stream) keep(c net.Conn) (net.Conn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.calls.Err() != nil {
		return nil, errors.Join(hraft.ErrTransportShutdown, c.Close())
	}
	s.dialed[c] = struct{}{}
	return dialed{c, s}, nil
}

// Close implements net.Conn.
func (c dialed) Close() error {
	c.of.mu.Lock()
	delete(c.of.dialed, c.Conn)
	c.of.mu.Unlock()
	return c.Conn.Close()
}

// hangUp closes all connections to others, and lets there be no more.
func (s *stream) hangUp() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.endCalls()
	for c := range s.dialed {
		_ = c.Close()
	}
	clear(s.dialed)
}
