//go:build simulation

package simulation

import (
	"sync"
	"time"

	hraft "github.com/hashicorp/raft"
)

// pipeline is a connection on which requests are sent before earlier ones are answered. Requests arrive in
// order; a lost one breaks the connection.
type pipeline struct {
	from  *transport
	to    hraft.ServerAddress
	queue chan *inFlight
	wait  chan *inFlight // sent and not answered yet
	done  chan hraft.AppendFuture

	once   sync.Once
	closed chan struct{}
}

// inFlight is a request on a pipeline. It implements hraft.AppendFuture.
type inFlight struct {
	start    time.Time
	request  *hraft.AppendEntriesRequest
	response *hraft.AppendEntriesResponse
	other    *transport
	answer   chan hraft.RPCResponse
	answered time.Time     // when it was answered; the answer may still be on its way
	over     chan struct{} // closed after err is set
	err      error
}

func (f *inFlight) Error() error {
	<-f.over
	return f.err
}
func (f *inFlight) Start() time.Time                       { return f.start }
func (f *inFlight) Request() *hraft.AppendEntriesRequest   { return f.request }
func (f *inFlight) Response() *hraft.AppendEntriesResponse { return f.response }

// inPipe is the largest number of unanswered requests.
const inPipe = 8

// AppendEntriesPipeline implements hraft.Transport.
func (t *transport) AppendEntriesPipeline(_ hraft.ServerID, to hraft.ServerAddress) (hraft.AppendPipeline, error) {
	p := &pipeline{from: t, to: to, queue: make(chan *inFlight, inPipe), wait: make(chan *inFlight, inPipe),
		done: make(chan hraft.AppendFuture, inPipe), closed: make(chan struct{})}
	go p.send()
	go p.receive()
	return p, nil
}

// AppendEntries implements hraft.AppendPipeline, as do the methods below.
func (p *pipeline) AppendEntries(q *hraft.AppendEntriesRequest, a *hraft.AppendEntriesResponse) (hraft.AppendFuture, error) {
	f := &inFlight{start: time.Now(), request: q, response: a, over: make(chan struct{})}
	select {
	case <-p.closed:
		return nil, hraft.ErrPipelineShutdown
	default:
	}
	select {
	case p.queue <- f:
		return f, nil
	case <-p.closed:
		return nil, hraft.ErrPipelineShutdown
	case <-p.from.closed:
		return nil, hraft.ErrPipelineShutdown
	}
}

func (p *pipeline) Consumer() <-chan hraft.AppendFuture { return p.done }

func (p *pipeline) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

// send carries the requests to the receiver.
func (p *pipeline) send() {
	for {
		var f *inFlight
		select {
		case f = <-p.queue:
		case <-p.closed:
			return
		case <-p.from.closed:
			return
		}
		request := copied(f.request)
		answer, other, ok := p.from.send(p.to, request, nil, f.start)
		if !ok || other == nil {
			f.err = errBroken
		}
		f.answer, f.other = make(chan hraft.RPCResponse, 1), other
		if f.err == nil {
			go f.stamp(p.from, answer)
		}
		select {
		case p.wait <- f:
		case <-p.closed:
			return
		}
	}
}

// receive carries the answers back.
func (p *pipeline) receive() {
	for {
		var f *inFlight
		select {
		case f = <-p.wait:
		case <-p.closed:
			return
		case <-p.from.closed:
			return
		}
		if f.err == nil {
			f.take(p.from)
		}
		close(f.over)
		select {
		case p.done <- f:
		case <-p.closed:
			return
		case <-p.from.closed:
			return
		}
	}
}

// stamp records when the answer was given, because several are on their way at the same time.
func (f *inFlight) stamp(from *transport, answer chan hraft.RPCResponse) {
	var r hraft.RPCResponse
	select {
	case r = <-answer:
	case <-f.other.closed:
		r.Error = errBroken
	case <-from.closed:
		r.Error = errGone
	}
	f.answered = time.Now()
	f.answer <- r
}

// take waits for the answer.
func (f *inFlight) take(from *transport) {
	r := <-f.answer
	switch is, fits := r.Response.(*hraft.AppendEntriesResponse); {
	case r.Error != nil:
		f.err = r.Error
	case !from.of.carry(link{f.other.self, from.self}, f.answered, from.closed):
		f.err = errTimeout
	case fits:
		*f.response = *is
	}
}
