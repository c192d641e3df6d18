//go:build simulation

package simulation

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	hraft "github.com/hashicorp/raft"

	"lockserver/server/raft"
	"lockserver/server/raft/engine"
)

// link is one direction between two members.
type link struct{ from, to hraft.ServerAddress }

// weather is what happens to the messages on a link.
type weather uint8

const (
	fair weather = iota
	lost         // no message arrives
	held         // messages arrive when this is over, even if their sender has given up
)

// network carries the members' messages to each other, as the seed decides.
type network struct {
	chance *chance // for links without their own chance
	seed   uint64

	mu      sync.Mutex
	ends    map[hraft.ServerAddress]*transport // the newest transport of each address
	chances map[link]*chance
	links   map[link]weather
	slowMS  map[link]int64 // additional time of a message on a link
	changed chan struct{}  // closed and replaced when links change
}

func newNetwork(seed uint64) *network {
	return &network{chance: newChance(seed, "network"), seed: seed, chances: map[link]*chance{}, ends: map[hraft.ServerAddress]*transport{}, links: map[link]weather{},
		slowMS: map[link]int64{}, changed: make(chan struct{})}
}

// set changes a link.
func (n *network) set(l link, w weather, slowMS int64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.links[l], n.slowMS[l] = w, slowMS
	close(n.changed)
	n.changed = make(chan struct{})
}

// calm makes all links fast and reliable.
func (n *network) calm() {
	n.mu.Lock()
	defer n.mu.Unlock()
	clear(n.links)
	clear(n.slowMS)
	close(n.changed)
	n.changed = make(chan struct{})
}

// delay returns how long the next message on a link takes.
func (n *network) delay(l link) time.Duration {
	n.mu.Lock()
	slow, c := n.slowMS[l], n.chances[l]
	if c == nil { // each link has its own, so that other links do not change its draws
		c = newChance(n.seed, fmt.Sprint("link ", l))
		n.chances[l] = c
	}
	n.mu.Unlock()
	d := c.between(100*time.Microsecond, 2*time.Millisecond)
	if c.oneIn(200) {
		d += c.between(0, 100*time.Millisecond)
	}
	if slow > 0 {
		d += c.between(0, time.Duration(slow)*time.Millisecond)
	}
	return d
}

// carry returns when a message that was sent at a moment has arrived, or false if it never does.
func (n *network) carry(l link, sent time.Time, gone <-chan struct{}) bool {
	time.Sleep(time.Until(sent.Add(n.delay(l))))
	for {
		n.mu.Lock()
		w, changed := n.links[l], n.changed
		n.mu.Unlock()
		if w != held {
			return w == fair
		}
		select {
		case <-changed:
		case <-gone:
			return false
		}
	}
}

// at returns the listener at an address, or nil.
func (n *network) at(a hraft.ServerAddress) *transport {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.ends[a]
}

// transport is a member's end of the network, while its engine is open.
type transport struct {
	of       *network
	self     hraft.ServerAddress
	identity *engine.Identity
	consumer chan hraft.RPC

	once   sync.Once
	closed chan struct{}

	mu    sync.Mutex
	heart func(hraft.RPC) // handles heartbeats
}

var (
	_ hraft.Transport   = (*transport)(nil)
	_ hraft.WithPreVote = (*transport)(nil)
	_ hraft.WithClose   = (*transport)(nil)
)

// join creates a member's end.
func (n *network) join(self hraft.ServerAddress, identity *engine.Identity) *transport {
	t := &transport{of: n, self: self, identity: identity, consumer: make(chan hraft.RPC), closed: make(chan struct{})}
	n.mu.Lock()
	n.ends[self] = t
	n.mu.Unlock()
	return t
}

// Close implements hraft.WithClose.
func (t *transport) Close() error {
	t.once.Do(func() {
		close(t.closed)
		t.of.mu.Lock()
		defer t.of.mu.Unlock()
		if t.of.ends[t.self] == t {
			delete(t.of.ends, t.self)
		}
	})
	return nil
}

// Consumer implements hraft.Transport, as do the methods below.
func (t *transport) Consumer() <-chan hraft.RPC                                { return t.consumer }
func (t *transport) LocalAddr() hraft.ServerAddress                            { return t.self }
func (t *transport) EncodePeer(_ hraft.ServerID, a hraft.ServerAddress) []byte { return []byte(a) }
func (t *transport) DecodePeer(b []byte) hraft.ServerAddress                   { return hraft.ServerAddress(b) }

func (t *transport) SetHeartbeatHandler(f func(hraft.RPC)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.heart = f
}

var (
	errRefused = errors.New("nobody listens there")
	errBroken  = errors.New("the connection broke")
	errTimeout = errors.New("no answer came in time")
	errGone    = errors.New("this end is closed")
)

// answerWithin is the longest time for an answer.
const answerWithin = 2 * time.Second

// call sends a request and waits for its answer.
func (t *transport) call(to hraft.ServerAddress, request any, data io.Reader) (any, error) {
	var all []byte
	if data != nil {
		var err error
		if all, err = io.ReadAll(data); err != nil {
			return nil, err
		}
	}
	done := make(chan hraft.RPCResponse, 1)
	sent := time.Now()
	go func() {
		if r, ok := t.exchange(to, request, all, sent); ok {
			done <- r
		}
	}()
	late := time.NewTimer(answerWithin)
	defer late.Stop()
	select {
	case r := <-done:
		return r.Response, r.Error
	case <-late.C:
		return nil, errTimeout
	case <-t.closed:
		return nil, errGone
	}
}

// exchange carries a request to the receiver and its answer back. It returns false if one of them is lost.
func (t *transport) exchange(to hraft.ServerAddress, request any, data []byte, sent time.Time) (r hraft.RPCResponse, ok bool) {
	answer, other, ok := t.send(to, request, data, sent)
	if !ok {
		return r, false
	}
	if other == nil {
		return hraft.RPCResponse{Error: errRefused}, true
	}
	return t.receive(other, answer)
}

// send carries a request to the receiver. It returns false if the request is lost. There may be no listener.
// Each request has its own connection.
func (t *transport) send(at hraft.ServerAddress, request any, data []byte, sent time.Time) (answer chan hraft.RPCResponse, other *transport, ok bool) {
	to := engine.Bare(at)
	if !t.of.carry(link{t.self, to}, sent, t.closed) {
		return nil, nil, false
	}
	if other = t.of.at(to); other == nil {
		return nil, nil, true
	}
	answer = make(chan hraft.RPCResponse, 1)
	if err := engine.Meet(t.identity, other.identity, at); err != nil {
		answer <- hraft.RPCResponse{Error: err}
		return answer, other, true
	}
	q := hraft.RPC{Command: request, RespChan: answer}
	if data != nil {
		q.Reader = bytes.NewReader(data)
		if t.of.chance.oneIn(10) { // the connection breaks in the middle
			q.Reader = io.MultiReader(bytes.NewReader(data[:t.of.chance.below(len(data)+1)]), brokenReader{})
		}
	}
	other.mu.Lock()
	heart := other.heart
	other.mu.Unlock()
	if a, is := request.(*hraft.AppendEntriesRequest); is && heart != nil && a.PrevLogEntry == 0 && a.PrevLogTerm == 0 &&
		len(a.Entries) == 0 && a.LeaderCommitIndex == 0 {
		heart(q)
		return answer, other, true
	}
	select {
	case other.consumer <- q:
		return answer, other, true
	case <-other.closed:
		return nil, nil, true
	}
}

// brokenReader is the rest of a broken connection.
type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, errBroken }

// receive carries an answer back.
func (t *transport) receive(other *transport, answer chan hraft.RPCResponse) (r hraft.RPCResponse, ok bool) {
	select {
	case r = <-answer:
	case <-other.closed:
		return hraft.RPCResponse{Error: errBroken}, true
	case <-t.closed:
		return r, false
	}
	return r, t.of.carry(link{other.self, t.self}, time.Now(), t.closed)
}

// ask is call with an answer of a given type.
func ask[A any](t *transport, to hraft.ServerAddress, request any, data io.Reader, answer *A) error {
	r, err := t.call(to, request, data)
	if is, ok := r.(*A); ok && is != nil && err == nil {
		*answer = *is
	}
	return err
}

func (t *transport) AppendEntries(_ hraft.ServerID, to hraft.ServerAddress, q *hraft.AppendEntriesRequest, a *hraft.AppendEntriesResponse) error {
	return ask(t, to, copied(q), nil, a)
}

func (t *transport) RequestVote(_ hraft.ServerID, to hraft.ServerAddress, q *hraft.RequestVoteRequest, a *hraft.RequestVoteResponse) error {
	return ask(t, to, q, nil, a)
}

func (t *transport) RequestPreVote(_ hraft.ServerID, to hraft.ServerAddress, q *hraft.RequestPreVoteRequest, a *hraft.RequestPreVoteResponse) error {
	return ask(t, to, q, nil, a)
}

func (t *transport) InstallSnapshot(_ hraft.ServerID, to hraft.ServerAddress, q *hraft.InstallSnapshotRequest, a *hraft.InstallSnapshotResponse, r io.Reader) error {
	return ask(t, to, q, r, a)
}

func (t *transport) TimeoutNow(_ hraft.ServerID, to hraft.ServerAddress, q *hraft.TimeoutNowRequest, a *hraft.TimeoutNowResponse) error {
	return ask(t, to, q, nil, a)
}

// hello asks the server at an address for its identity.
func (n *network) hello(ctx context.Context, from hraft.ServerAddress, address string) (h engine.Hello, err error) {
	other := n.reached(address)
	gone := ctx.Done()
	if other == nil {
		time.Sleep(time.Millisecond)
		return h, errRefused
	}
	if !n.carry(link{from, other.self}, time.Now(), gone) {
		<-gone
		return h, errTimeout
	}
	if other = n.reached(address); other == nil {
		return h, errRefused
	}
	h, err = other.identity.Tell(raft.Peer{Raft: address, Client: peerClient(other.self)})
	if !n.carry(link{other.self, from}, time.Now(), gone) {
		<-gone
		return h, errTimeout
	}
	return h, err
}

// reached returns the listener for members at host:port, or nil.
func (n *network) reached(address string) *transport {
	n.mu.Lock()
	defer n.mu.Unlock()
	for at, t := range n.ends {
		if reached, _, _ := strings.Cut(string(at), "/"); reached == address {
			return t
		}
	}
	return nil
}

// peerClient returns a member's address for clients.
func peerClient(at hraft.ServerAddress) string {
	_, client, _ := strings.Cut(string(at), "/")
	return client
}

// copied returns a copy that shares no memory with its sender.
func copied(q *hraft.AppendEntriesRequest) *hraft.AppendEntriesRequest {
	c := *q
	c.Entries = nil
	for _, e := range q.Entries {
		c.Entries = append(c.Entries, copiedLog(e))
	}
	return &c
}

func copiedLog(e *hraft.Log) *hraft.Log {
	c := *e
	c.Data, c.Extensions = slices.Clone(e.Data), slices.Clone(e.Extensions)
	return &c
}
