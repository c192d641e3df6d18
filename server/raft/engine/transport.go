package engine

import (
	"errors"
	"net"
	"sync"

	hraft "github.com/hashicorp/raft"
)

// pipelines are the open pipelines of a member. They can be broken off. The sender of entries in a pipeline
// waits until earlier answers are read. The reader of answers stops when one of them is a refusal, or says
// that another member leads. The library would wait for both for ever when it ends, and the other member gets
// no more entries.
type pipelines struct {
	mu   sync.Mutex
	over bool // there are no more
	open map[*pipeline]struct{}
}

// pipeline is one of them. It ends with the answer behind which the library reads no more.
type pipeline struct {
	hraft.AppendPipeline
	of      *pipelines
	see     func(hraft.AppendFuture)
	answers chan hraft.AppendFuture
	once    sync.Once
	ended   chan struct{}
}

// keep knows of a pipeline as long as it is open.
func (all *pipelines) keep(inner hraft.AppendPipeline, see func(hraft.AppendFuture)) (hraft.AppendPipeline, error) {
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.over {
		return nil, errors.Join(hraft.ErrTransportShutdown, inner.Close())
	}
	if all.open == nil {
		all.open = make(map[*pipeline]struct{})
	}
	p := &pipeline{AppendPipeline: inner, of: all, see: see, answers: make(chan hraft.AppendFuture), ended: make(chan struct{})}
	all.open[p] = struct{}{}
	go p.passOn()
	return p, nil
}

// AppendEntries implements hraft.AppendPipeline.
func (p *pipeline) AppendEntries(q *hraft.AppendEntriesRequest, a *hraft.AppendEntriesResponse) (hraft.AppendFuture, error) {
	if err := sendable(q); err != nil {
		return nil, err
	}
	return p.AppendPipeline.AppendEntries(q, a)
}

// Consumer implements hraft.AppendPipeline.
func (p *pipeline) Consumer() <-chan hraft.AppendFuture { return p.answers }

// passOn gives the library the answers.
func (p *pipeline) passOn() {
	answers := p.AppendPipeline.Consumer()
	for {
		select {
		case f := <-answers:
			p.see(f)
			last := !f.Response().Success || f.Response().Term > f.Request().Term
			select {
			case p.answers <- f:
			case <-p.ended:
				return
			}
			if last {
				_ = p.Close()
				return
			}
		case <-p.ended:
			return
		}
	}
}

// Close implements hraft.AppendPipeline.
func (p *pipeline) Close() error {
	p.of.mu.Lock()
	delete(p.of.open, p)
	p.of.mu.Unlock()
	return p.end()
}

// end closes what the pipeline is made of.
func (p *pipeline) end() error {
	p.once.Do(func() { close(p.ended) })
	return p.AppendPipeline.Close()
}

// breakOff ends all pipelines: what they were for, this member's leading, is over. The library begins new
// ones, unless this is for good.
func (all *pipelines) breakOff(forGood bool) {
	all.mu.Lock()
	defer all.mu.Unlock()
	all.over = all.over || forGood
	for p := range all.open {
		_ = p.end()
	}
	clear(all.open)
}

// transport is the library's, which need not wait for a member that does not answer.
type transport struct {
	*hraft.NetworkTransport
	stream *stream
}

// hangingUp is a transport that can break off every exchange with others, for good.
type hangingUp interface{ hangUp() }

var (
	_ hraft.Transport   = (*transport)(nil)
	_ hraft.WithPreVote = (*transport)(nil)
	_ hraft.WithClose   = (*transport)(nil)
	_ hangingUp         = (*transport)(nil)
)

func (t *transport) hangUp() { t.stream.hangUp() }

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

func closeTransport(t hraft.Transport) error {
	if c, ok := t.(hraft.WithClose); ok {
		return c.Close()
	}
	return nil
}
