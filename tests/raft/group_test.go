package raft

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	hraft "github.com/hashicorp/raft"
	"github.com/stretchr/testify/require"

	"lockserver/internal/resp"
	"lockserver/server"
	"lockserver/server/raft"
	"lockserver/server/raft/engine"
	"lockserver/tests/testkit"
)

// patience is the longest time for what happens without help of the test, on a busy machine.
const patience = 2 * time.Minute

// eventually waits until a condition holds.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for begun := time.Now(); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Since(begun) > patience {
			require.FailNow(t, "not so: "+what)
		}
	}
}

// network carries messages between members, or drops them.
type network struct {
	mu   sync.Mutex
	at   map[hraft.ServerAddress]*hraft.InmemTransport
	cuts map[[2]hraft.ServerAddress]bool // from, to
	ids  map[hraft.ServerAddress]*engine.Identity
	// leads holds the engines, which know the position of the history.
	leads map[hraft.ServerAddress]*engine.Engine
	// handed counts the requests to a member to lead at once.
	handed int
}

// wire is a member's end of the network.
type wire struct {
	*hraft.InmemTransport
	of *network
	id *engine.Identity
}

var errCut = errors.New("the network is cut")

// join makes the end of a member, and connects it to all others.
func (n *network) join(at hraft.ServerAddress, id *engine.Identity) (hraft.Transport, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	_, w := hraft.NewInmemTransportWithTimeout(at, time.Second)
	for to, other := range n.at {
		if to != at {
			w.Connect(to, other)
			other.Connect(at, w)
		}
	}
	n.at[at], n.ids[at] = w, id
	return &wire{w, n, id}, nil
}

// hello asks the member that others reach at an address who it is.
func (n *network) hello(from hraft.ServerAddress, address string) (h engine.Hello, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for to, id := range n.ids {
		if reached, client, _ := strings.Cut(string(to), "/"); reached == address && !n.cuts[[2]hraft.ServerAddress{from, to}] && !n.cuts[[2]hraft.ServerAddress{to, from}] {
			return id.Tell(raft.Peer{Raft: reached, Client: client})
		}
	}
	return h, errCut
}

// position asks the member that others reach at an address how far the history goes.
func (n *network) position(from hraft.ServerAddress, address string) (p raft.Position, err error) {
	n.mu.Lock()
	var asked *engine.Engine
	for to, e := range n.leads {
		reached, _, _ := strings.Cut(string(to), "/")
		if reached == address && n.ids[to] != nil && !n.cuts[[2]hraft.ServerAddress{from, to}] && !n.cuts[[2]hraft.ServerAddress{to, from}] {
			asked = e
		}
	}
	n.mu.Unlock()
	if asked == nil {
		return p, errCut
	}
	return asked.Position()
}

// leave removes the end of a member, as if no process listened there.
func (n *network) leave(at hraft.ServerAddress) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.ids, at)
}

// cut drops all messages from one member to another, or drops none.
func (n *network) cut(from, to hraft.ServerAddress, on bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.cuts[[2]hraft.ServerAddress{from, to}] = on
}

// through carries a request, and its answer.
func (w *wire) through(to hraft.ServerAddress, send func(to hraft.ServerAddress) error) error {
	open := func(from, to hraft.ServerAddress) bool {
		w.of.mu.Lock()
		defer w.of.mu.Unlock()
		return !w.of.cuts[[2]hraft.ServerAddress{from, to}]
	}
	bare := engine.Bare(to)
	w.of.mu.Lock()
	other := w.of.ids[bare]
	w.of.mu.Unlock()
	if !open(w.LocalAddr(), bare) || other == nil {
		return errCut
	}
	if err := engine.Meet(w.id, other, to); err != nil {
		return err
	}
	err := send(bare)
	if !open(bare, w.LocalAddr()) {
		return errCut
	}
	return err
}

// AppendEntriesPipeline is not supported, because a pipeline would go on through a cut.
func (w *wire) AppendEntriesPipeline(hraft.ServerID, hraft.ServerAddress) (hraft.AppendPipeline, error) {
	return nil, hraft.ErrPipelineReplicationNotSupported
}

func (w *wire) AppendEntries(id hraft.ServerID, to hraft.ServerAddress, q *hraft.AppendEntriesRequest, a *hraft.AppendEntriesResponse) error {
	return w.through(to, func(to hraft.ServerAddress) error { return w.InmemTransport.AppendEntries(id, to, q, a) })
}

func (w *wire) RequestVote(id hraft.ServerID, to hraft.ServerAddress, q *hraft.RequestVoteRequest, a *hraft.RequestVoteResponse) error {
	return w.through(to, func(to hraft.ServerAddress) error { return w.InmemTransport.RequestVote(id, to, q, a) })
}

func (w *wire) RequestPreVote(id hraft.ServerID, to hraft.ServerAddress, q *hraft.RequestPreVoteRequest, a *hraft.RequestPreVoteResponse) error {
	return w.through(to, func(to hraft.ServerAddress) error { return w.InmemTransport.RequestPreVote(id, to, q, a) })
}

func (w *wire) InstallSnapshot(id hraft.ServerID, to hraft.ServerAddress, q *hraft.InstallSnapshotRequest, a *hraft.InstallSnapshotResponse, r io.Reader) error {
	return w.through(to, func(to hraft.ServerAddress) error { return w.InmemTransport.InstallSnapshot(id, to, q, a, r) })
}

func (w *wire) TimeoutNow(id hraft.ServerID, to hraft.ServerAddress, q *hraft.TimeoutNowRequest, a *hraft.TimeoutNowResponse) error {
	return w.through(to, func(to hraft.ServerAddress) error {
		w.of.mu.Lock()
		w.of.handed++
		w.of.mu.Unlock()
		return w.InmemTransport.TimeoutNow(id, to, q, a)
	})
}

// member is a server of the group, which can be ended and started again.
type member struct {
	group *group
	peer  raft.Peer
	logs  *hraft.InmemStore
	snaps hraft.SnapshotStore
	clock skewed

	srv    *server.Server
	client *testkit.Client // for questions; nil: none is open
}

// skewed is the clock of a machine that shows a wrong time.
type skewed struct{ byUS atomic.Int64 }

var started = time.Now()

func (c *skewed) NowUS() int64 { return time.Now().UnixMicro() + c.byUS.Load() }
func (*skewed) SinceUS() int64 { return time.Since(started).Microseconds() }

// group holds three or more servers, and the network between them.
type group struct {
	t       testing.TB
	network *network
	all     []*member
	peers   []raft.Peer
	change  func(*engine.Options, *server.Options)
	wrap    func(id string, e raft.Engine) raft.Engine
	// electionMS is the election timeout of all members, unless change sets another.
	electionMS int64
}

// newGroup starts a group. The first member is asked to stand for election at once, and newGroup waits until
// there is a leader.
func newGroup(t testing.TB, members int, change func(*engine.Options, *server.Options)) *group {
	t.Helper()
	g := prepare(t, members, change)
	for _, m := range g.all {
		m.start()
	}
	if members > 1 {
		g.elect()
	}
	return g
}

// steadyMS is for how long the leader of a steady group may be silent: longer than a busy machine makes it.
const steadyMS = 6000

// newSteady starts a group that elects no leader by itself because the machine is busy: a test may rely on
// the one that leads. The first one is elected at once. It is not for tests that wait for an election.
func newSteady(t testing.TB, members int, change func(*engine.Options, *server.Options)) *group {
	t.Helper()
	return newGroup(t, members, steadily(change))
}

// steadily changes the options for a steady group. It runs after another change.
func steadily(change func(*engine.Options, *server.Options)) func(*engine.Options, *server.Options) {
	return func(eo *engine.Options, so *server.Options) {
		if change != nil {
			change(eo, so)
		}
		eo.ElectionMS = steadyMS
	}
}

// elect asks the first of the given members, or of all members, to stand for election, as a leader does that
// hands the lead on. It asks as soon as the member knows the group, and waits until one of the members leads.
func (g *group) elect(of ...*member) {
	g.t.Helper()
	if len(of) == 0 {
		of = g.all
	}
	first, from, asked := of[0], of[1], false
	eventually(g.t, "there is a leader", func() bool {
		for _, m := range of {
			if m.field("raft_role") == "leader" {
				return true
			}
		}
		if !asked && first.number("raft_last_index") > 0 {
			asked = true
			g.network.mu.Lock()
			w := g.network.at[from.at()]
			g.network.mu.Unlock()
			request := &hraft.TimeoutNowRequest{RPCHeader: hraft.RPCHeader{ProtocolVersion: hraft.ProtocolVersionMax}}
			_ = w.TimeoutNow(hraft.ServerID(first.peer.ID), first.at(), request, &hraft.TimeoutNowResponse{})
		}
		return false
	})
}

// prepare makes a group without running members.
func prepare(t testing.TB, members int, change func(*engine.Options, *server.Options)) *group {
	g := &group{t: t, network: &network{at: map[hraft.ServerAddress]*hraft.InmemTransport{}, cuts: map[[2]hraft.ServerAddress]bool{},
		ids: map[hraft.ServerAddress]*engine.Identity{}, leads: map[hraft.ServerAddress]*engine.Engine{}}, change: change, electionMS: int64(500 * testkit.Busy())}
	for i := range members {
		g.add(i)
		g.peers = append(g.peers, g.all[i].peer)
	}
	return g
}

// add prepares one more member.
func (g *group) add(i int) *member {
	id := string(rune('a' + i%26))
	if i >= 26 {
		id += strconv.Itoa(i / 26)
	}
	p, err := raft.NewPeer(id, fmt.Sprintf("%s:%d", id, 7000+i), fmt.Sprintf("%s:%d", id, 6379+i))
	require.NoError(g.t, err)
	m := &member{group: g, peer: p, logs: hraft.NewInmemStore()}
	m.snaps, err = hraft.NewFileSnapshotStore(g.t.TempDir(), 2, io.Discard)
	require.NoError(g.t, err)
	g.all = append(g.all, m)
	g.t.Cleanup(m.stop)
	return m
}

func (m *member) at() hraft.ServerAddress { return engine.Address(m.peer) }

// start starts the server with the data that it has kept.
func (m *member) start() {
	t := m.group.t
	log := slog.New(slog.DiscardHandler)
	if os.Getenv("RAFT_LOG") != "" {
		log = slog.New(slog.NewTextHandler(os.Stderr, nil)).With("member", m.peer.ID)
	}
	eo := engine.Options{NowMS: func() int64 { return m.clock.NowUS() / 1000 }, ID: m.peer.ID, Peers: m.group.peers, ElectionMS: m.group.electionMS, Log: log, Logs: m.logs, Stable: m.logs, Snapshots: m.snaps,
		Hello: func(_ context.Context, address string) (engine.Hello, error) {
			return m.group.network.hello(m.at(), address)
		},
		Position: func(_ context.Context, address string) (raft.Position, error) {
			return m.group.network.position(m.at(), address)
		}}
	so := server.Options{Log: log, Clock: &m.clock, Directives: map[string]string{"enable-debug-command": "yes"}}
	so.RaftOptions.SnapshotBytes = 1 << 30
	if change := m.group.change; change != nil {
		change(&eo, &so)
	}
	require.NoError(t, eo.Identify())
	eo.Transport = func() (hraft.Transport, error) { return m.group.network.join(m.at(), eo.Identity) }
	e := engine.New(eo)
	m.group.network.mu.Lock()
	m.group.network.leads[m.at()] = e
	m.group.network.mu.Unlock()
	so.Raft = e
	if wrap := m.group.wrap; wrap != nil {
		so.Raft = wrap(m.peer.ID, so.Raft)
	}
	srv, err := server.New(so)
	require.NoError(t, err)
	require.NoError(t, srv.Start())
	m.srv = srv
}

// stop ends it as a kill would: no message is sent. Entries that were stored stay.
func (m *member) stop() {
	if m.srv == nil {
		return
	}
	if m.client != nil {
		m.client.Close()
		m.client = nil
	}
	m.group.network.leave(m.at())
	_ = m.srv.Close()
	m.srv = nil
}

// wipe gives a member that has ended an empty disk.
func (m *member) wipe() {
	m.logs, m.snaps = hraft.NewInmemStore(), hraft.NewInmemSnapshotStore()
}

// dial connects a client.
func (m *member) dial() *testkit.Client {
	conn, err := m.srv.Dial()
	require.NoError(m.group.t, err)
	c := testkit.NewClient(m.group.t, conn)
	c.Timeout = patience
	return c
}

// ask sends a command, and connects anew if the connection was closed. Without an answer the reply is an
// error.
func (m *member) ask(words ...string) resp.Value {
	if m.srv == nil {
		return resp.Value{Kind: '-', Str: "it does not run"}
	}
	if m.client == nil {
		m.client = m.dial()
	}
	v, err := m.client.Call(words...)
	if err != nil {
		m.client.Close()
		m.client = nil
		return resp.Value{Kind: '-', Str: err.Error()}
	}
	return v
}

// askWithin is ask for a command that may never be answered.
func (m *member) askWithin(limit time.Duration, words ...string) resp.Value {
	if m.client == nil {
		m.client = m.dial()
	}
	c := m.client
	c.Timeout = limit
	defer func() { c.Timeout = patience }()
	return m.ask(words...)
}

// field returns a field of INFO raft.
func (m *member) field(name string) string { return m.info("raft", name) }

// info returns a field of a section of INFO.
func (m *member) info(section, name string) string {
	for line := range strings.Lines(m.ask("INFO", section).Str) {
		if k, v, ok := strings.Cut(strings.TrimSpace(line), ":"); ok && k == name {
			return v
		}
	}
	return ""
}

func (m *member) number(name string) int {
	n, _ := strconv.Atoi(m.field(name))
	return n
}

// isolate cuts a member off from all others, or connects it again.
func (g *group) isolate(m *member, on bool) {
	for _, other := range g.all {
		if other != m {
			g.network.cut(m.at(), other.at(), on)
			g.network.cut(other.at(), m.at(), on)
		}
	}
}

// leader waits until one of the given members, or of all, leads and serves.
func (g *group) leader(of ...*member) *member {
	g.t.Helper()
	if len(of) == 0 {
		of = g.all
	}
	var found *member
	eventually(g.t, "there is a leader", func() bool {
		for _, m := range of {
			if m.srv != nil && m.field("raft_role") == "leader" {
				found = m
				return true
			}
		}
		return false
	})
	return found
}

// do makes the leader run a command that may run twice, also if the leader changes meanwhile.
func (g *group) do(words ...string) (v resp.Value) {
	g.t.Helper()
	eventually(g.t, strings.Join(words[:1], " ")+" is answered", func() bool {
		v = g.leader().ask(words...)
		return v.Kind != '-'
	})
	return v
}

// doneBy makes the leader run a command that may run twice, and returns the member that has acknowledged it.
func (g *group) doneBy(words ...string) (leader *member) {
	g.t.Helper()
	eventually(g.t, strings.Join(words[:1], " ")+" is acknowledged", func() bool {
		leader = g.leader()
		return leader.ask(words...).Kind != '-'
	})
	return leader
}

// operate makes the leader run RAFT ADD, REMOVE or TRANSFER until one succeeds. A request without a reply may
// have been carried out. So the removal of a server that is no member counts as a success. Other errors are
// returned at once, unless the leader changes.
func (g *group) operate(words ...string) (v resp.Value) {
	g.t.Helper()
	unknown := false
	eventually(g.t, "RAFT "+words[0]+" is answered", func() bool {
		v = g.leader().ask(append([]string{"RAFT"}, words...)...)
		switch {
		case unknown && words[0] == "REMOVE" && strings.Contains(v.Str, "no member has this id"):
			v = resp.Value{Kind: '+', Str: "OK"}
		case v.Kind != '-' || strings.HasPrefix(v.Str, "ERR ") && !strings.Contains(v.Str, "does not lead") && !strings.Contains(v.Str, "leadership"):
		default:
			unknown = true
			return false
		}
		return true
	})
	return v
}

// others returns all members but one.
func (g *group) others(than *member) (all []*member) {
	for _, m := range g.all {
		if m != than {
			all = append(all, m)
		}
	}
	return all
}

// identities returns the rows of RAFT MEMBERS up to the incarnation: the part that does not change by itself.
func identities(v resp.Value) (all []string) {
	for _, row := range v.Elems {
		all = append(all, row.String()[:strings.Index(row.String(), "refused")])
	}
	return all
}

// same waits until all members are at one position of the history, with the same data.
func (g *group) same() {
	g.t.Helper()
	eventually(g.t, "all are at one place", func() bool {
		place, ok := g.place()
		if !ok {
			return false
		}
		digests := map[string][]string{}
		for _, m := range g.all {
			if m.srv != nil {
				is := m.ask("DEBUG", "DIGEST").String()
				digests[is] = append(digests[is], m.peer.ID)
			}
		}
		if still, ok := g.place(); !ok || still != place {
			return false
		}
		require.Len(g.t, digests, 1, "at %s", place)
		return true
	})
}

// place returns the position of all members, and false if they are not at the same.
func (g *group) place() (at string, ok bool) {
	for _, m := range g.all {
		if m.srv == nil {
			continue
		}
		if r := m.field("raft_role"); r != "leader" && r != "follower" {
			return "", false
		}
		is := m.field("raft_history_id") + " " + m.field("raft_history_offset") + " " + m.field("raft_uncommitted_bytes")
		if at == "" {
			at = is
		}
		if is != at {
			return "", false
		}
	}
	return at, true
}

// allVote waits until no member is a learner.
func (g *group) allVote() {
	g.t.Helper()
	eventually(g.t, "all are voters", func() bool {
		members := g.leader().ask("RAFT", "MEMBERS").String()
		return strings.Contains(members, "leader") && !strings.Contains(members, "learner")
	})
}
