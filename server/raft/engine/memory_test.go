package engine

import (
	"context"
	"errors"
	"io"
	"sync"

	hraft "github.com/hashicorp/raft"

	"lockserver/server/raft"
)

// directory is where the engines of a test find each other, by the address that members reach.
type directory struct {
	mu  sync.Mutex
	all map[string]*Engine
}

// newIn makes an engine that the others find.
func (d *directory) newIn(o Options) *Engine {
	if len(o.Peers) == 0 {
		panic("it forms no group")
	}
	self, _ := raft.Find(o.Peers, o.ID)
	o.Hello = d.hello
	if err := o.Identify(); err != nil {
		panic(err)
	}
	e := New(o)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.all == nil {
		d.all = map[string]*Engine{}
	}
	d.all[self.Raft] = e
	return e
}

func (d *directory) hello(_ context.Context, address string) (Hello, error) {
	d.mu.Lock()
	e := d.all[address]
	d.mu.Unlock()
	if e == nil {
		return Hello{}, errors.New("there is none")
	}
	self := raft.Peer{Raft: address}
	return e.options.Identity.Tell(self)
}

// inMemory is the library's transport, which knows no identities.
type inMemory struct{ *hraft.InmemTransport }

func (t inMemory) AppendEntriesPipeline(id hraft.ServerID, to hraft.ServerAddress) (hraft.AppendPipeline, error) {
	return t.InmemTransport.AppendEntriesPipeline(id, Bare(to))
}

func (t inMemory) AppendEntries(id hraft.ServerID, to hraft.ServerAddress, q *hraft.AppendEntriesRequest, a *hraft.AppendEntriesResponse) error {
	return t.InmemTransport.AppendEntries(id, Bare(to), q, a)
}

func (t inMemory) RequestVote(id hraft.ServerID, to hraft.ServerAddress, q *hraft.RequestVoteRequest, a *hraft.RequestVoteResponse) error {
	return t.InmemTransport.RequestVote(id, Bare(to), q, a)
}

func (t inMemory) RequestPreVote(id hraft.ServerID, to hraft.ServerAddress, q *hraft.RequestPreVoteRequest, a *hraft.RequestPreVoteResponse) error {
	return t.InmemTransport.RequestPreVote(id, Bare(to), q, a)
}

func (t inMemory) InstallSnapshot(id hraft.ServerID, to hraft.ServerAddress, q *hraft.InstallSnapshotRequest, a *hraft.InstallSnapshotResponse, r io.Reader) error {
	return t.InmemTransport.InstallSnapshot(id, Bare(to), q, a, r)
}

func (t inMemory) TimeoutNow(id hraft.ServerID, to hraft.ServerAddress, q *hraft.TimeoutNowRequest, a *hraft.TimeoutNowResponse) error {
	return t.InmemTransport.TimeoutNow(id, Bare(to), q, a)
}
