package effects

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/server"
	"lockserver/server/raft"
	"lockserver/tests/testkit"
)

// A log is the log of a group of two members in memory. The test decides what is committed.
type log struct {
	mu        sync.Mutex
	committed [][]byte
	pending   []*proposed // in order; while held is set, no entry is committed
	held      bool
	members   [2]*logged
	place     place // after the committed entries
}

// proposed is an entry that is not committed yet, and may never be.
type proposed struct {
	entry []byte
	over  chan error
}

// place is a place in the history: see the format of an entry in server/raft.
type place struct {
	id     string
	offset uint64
}

// logged is a raft.Engine that uses a log.
type logged struct {
	of      *log
	id      string
	leads   atomic.Bool
	machine raft.Machine // nil if it is closed
	sums    chan raft.Checksum
}

var (
	_          raft.Engine = (*logged)(nil)
	errDeposed             = errors.New("another member leads")
	errNever               = errors.New("this log cannot do that")
)

// Open implements raft.Engine: the machine gets the committed entries.
func (e *logged) Open(m raft.Machine) error {
	e.of.mu.Lock()
	defer e.of.mu.Unlock()
	for i, entry := range e.of.committed {
		_ = m.Apply(uint64(i+1), entry, true)
	}
	e.machine = m
	return nil
}

// Replay implements raft.Engine.
func (e *logged) Replay(m raft.Machine) error { return e.Open(m) }

// Close implements raft.Engine.
func (e *logged) Close() error {
	e.of.mu.Lock()
	defer e.of.mu.Unlock()
	e.machine = nil
	return nil
}

// Propose implements raft.Engine.
func (e *logged) Propose(entry []byte) (wait func() error) {
	p := &proposed{entry, make(chan error, 1)}
	e.of.mu.Lock()
	if !e.leads.Load() {
		e.of.mu.Unlock()
		return func() error { return errDeposed }
	}
	e.of.pending = append(e.of.pending, p)
	held := e.of.held
	e.of.mu.Unlock()
	return func() error {
		if !held {
			e.of.commit(1 << 30)
		}
		return <-p.over
	}
}

// commit commits the next entries, at most the given number.
func (l *log) commit(most int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for ; most > 0 && len(l.pending) > 0; most-- {
		p := l.pending[0]
		l.pending = l.pending[1:]
		l.apply(p.entry)
		p.over <- nil
	}
}

// apply commits an entry.
func (l *log) apply(entry []byte) {
	l.committed = append(l.committed, entry)
	after, end := placesOf(entry)
	if after == l.place {
		l.place = end
	}
	for _, e := range l.members {
		if e.machine != nil {
			_ = e.machine.Apply(uint64(len(l.committed)), entry, false)
		}
	}
}

// placesOf returns the places before and after an entry.
func placesOf(entry []byte) (after, end place) {
	b := entry[1:]
	name := func() (s string) {
		s, b = string(b[1:1+b[0]]), b[1+b[0]:]
		return s
	}
	after.id, end.id = name(), name()
	after.offset = binary.LittleEndian.Uint64(b)
	end.offset = after.offset + uint64(len(b)-24)
	return after, end
}

// markOf returns the entry at which members compare their data.
func markOf(at place) []byte {
	mark := []byte{1}
	for _, name := range []string{"mark", at.id} {
		mark = append(append(mark, byte(len(name))), name...)
	}
	mark = binary.LittleEndian.AppendUint64(mark, at.offset)
	return append(mark, make([]byte, 16)...)
}

// drop refuses the pending entries.
func (l *log) drop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, p := range l.pending {
		p.over <- errDeposed
	}
	l.pending = nil
}

func (l *log) hold(on bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held = on
}

// waiting returns the number of pending entries.
func (l *log) waiting() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.pending)
}

// Barrier implements raft.Engine.
func (e *logged) Barrier() error { return nil }

// Prove implements raft.Engine.
func (e *logged) Prove() func() error {
	return func() error {
		if !e.leads.Load() {
			return errDeposed
		}
		return nil
	}
}

// Leads implements raft.Engine.
func (e *logged) Leads() bool { return e.leads.Load() }

// Leader implements raft.Engine.
func (e *logged) Leader() raft.Peer {
	for _, m := range e.of.members {
		if m.leads.Load() {
			return raft.Peer{ID: m.id}
		}
	}
	return raft.Peer{}
}

// LeaderPosition implements raft.Engine.
func (e *logged) LeaderPosition(context.Context) (raft.Position, error) {
	return raft.Position{}, raft.ErrCannotAsk
}

// Snapshot implements raft.Engine.
func (e *logged) Snapshot() error { return errNever }

// NewestSnapshot implements raft.Engine.
func (e *logged) NewestSnapshot() raft.SnapshotInfo { return raft.SnapshotInfo{} }

// OpenSnapshot implements raft.Engine.
func (e *logged) OpenSnapshot() (i raft.SnapshotInfo, r io.ReadCloser, err error) {
	return i, nil, errNever
}

// Status implements raft.Engine.
func (e *logged) Status() raft.Status {
	return raft.Status{ID: e.id, Leader: e.Leader(), Peers: []raft.Peer{{ID: "a"}, {ID: "b"}}}
}

// Survey implements raft.Engine.
func (e *logged) Survey() raft.Status { return e.Status() }

// Add implements raft.Engine.
func (e *logged) Add(raft.Peer) error { return errNever }

// Remove implements raft.Engine.
func (e *logged) Remove(string) error { return errNever }

// Transfer implements raft.Engine.
func (e *logged) Transfer(string) error { return errNever }

// Successor implements raft.Engine.
func (e *logged) Successor(string) (string, error) { return "", errNever }

// Checked implements raft.Engine.
func (e *logged) Checked(c raft.Checksum) { e.sums <- c }

// Verdict implements raft.Engine.
func (e *logged) Verdict() raft.Verdict { return raft.Verdict{} }

// Times implements raft.Engine.
func (e *logged) Times() (t raft.Times) { return t }

// KeepUsers implements raft.Engine.
func (e *logged) KeepUsers(string) error { return nil }

// KeptUsers implements raft.Engine.
func (e *logged) KeptUsers() string { return "" }

// pair is two servers that share a log.
type pair struct {
	t       *testing.T
	log     *log
	servers [2]*server.Server
	chance  *rand.Rand
	unique  atomic.Int64
	clients int
}

func newPair(t *testing.T, seed uint64) *pair {
	p := &pair{t: t, log: &log{}, chance: rand.New(rand.NewPCG(seed, 1))}
	for i, id := range []string{"a", "b"} {
		p.log.members[i] = &logged{of: p.log, id: id, sums: make(chan raft.Checksum, 100)}
		o := server.Options{Raft: p.log.members[i], Seed: seed | 1, Log: slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelError}))}
		o.RaftOptions.SnapshotBytes = 1 << 40
		p.servers[i] = startServer(t, o)
	}
	t.Cleanup(func() {
		for _, e := range p.log.members {
			e.leads.Store(false)
		}
		p.log.drop()
	})
	return p
}

// lead makes a member the leader, and waits until it accepts writes.
func (p *pair) lead(i int) {
	e := p.log.members[i]
	e.leads.Store(true)
	e.machine.Leads(true)
	e.machine.Changed()
	require.Eventually(p.t, func() bool { return p.field(i, "raft_role") == "leader" }, patience, time.Millisecond)
}

// depose makes the leader follow.
func (p *pair) depose(i int) {
	e := p.log.members[i]
	e.of.mu.Lock()
	e.leads.Store(false)
	m := e.machine
	e.of.mu.Unlock()
	m.Leads(false)
}

// field returns a field of INFO raft.
func (p *pair) field(i int, name string) string {
	conn, err := p.servers[i].Dial()
	require.NoError(p.t, err)
	c := testkit.NewClient(p.t, conn)
	defer c.Close()
	v, err := c.Call("INFO", "raft")
	if err != nil {
		return ""
	}
	for line := range strings.Lines(v.Str) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// worker returns a random client.
func (p *pair) worker() *worker {
	p.clients++
	return &worker{name: fmt.Sprint("owner", p.clients), rand: rand.New(rand.NewPCG(p.chance.Uint64(), 1)), unique: &p.unique,
		startMS: time.Now().UnixMilli(), fieldTimes: true, producers: true, accepted: map[string]int{}, observe: func(step) {}}
}

// play runs random clients that send the given number of commands each, and waits for the replies.
func (p *pair) play(i, clients, commands int) {
	var all sync.WaitGroup
	for range clients {
		w := p.worker()
		all.Go(func() { _ = w.run(p.dial(i), commands) })
	}
	all.Wait()
}

func (p *pair) dial(i int) func() (*testkit.Client, error) {
	return func() (*testkit.Client, error) {
		conn, err := p.servers[i].Dial()
		if err != nil {
			return nil, err
		}
		return testkit.NewClient(p.t, conn), nil
	}
}

// send sends commands of a random client, and does not wait for the replies.
func (p *pair) send(i, commands int) *testkit.Client {
	c, err := p.dial(i)()
	require.NoError(p.t, err)
	w := p.worker()
	larger := p.chance.IntN(2 * (commands + 1))
	for n := range commands {
		if n == larger {
			c.Send(p.ofWholeDatabases()...)
		}
		c.Send(w.command()...)
	}
	c.Send("SET", "s0", w.value()) // a command that certainly has an effect
	return c
}

// ofWholeDatabases returns a command that changes whole databases, or the libraries of functions.
func (p *pair) ofWholeDatabases() []string {
	library := fmt.Sprint("lib", p.chance.IntN(3))
	code := fmt.Sprintf("#!lua name=%s\nredis.register_function('%s_%d', function() return 1 end)", library, library, p.chance.IntN(1000))
	return [][]string{{"FLUSHALL"}, {"FLUSHALL", "ASYNC"}, {"FLUSHDB"}, {"SWAPDB", "0", "1"}, {"FUNCTION", "LOAD", "REPLACE", code}, {"FUNCTION", "LOAD", "REPLACE", code},
		{"FUNCTION", "DELETE", library}, {"FUNCTION", "FLUSH"}}[p.chance.IntN(8)]
}

// compare compares the data of both members.
func (p *pair) compare(what string) {
	p.log.mu.Lock()
	p.log.apply(markOf(p.log.place))
	p.log.mu.Unlock()
	var sums [2]raft.Checksum
	for i, e := range p.log.members {
		select {
		case sums[i] = <-e.sums:
		case <-time.After(patience):
			require.FailNow(p.t, "no digest: "+what)
		}
	}
	if sums[0] != sums[1] {
		require.FailNow(p.t, "the members differ: "+what, "%v\n%s", sums, strings.Join(p.differences(), "\n"))
	}
	require.Equal(p.t, p.functions(0), p.functions(1), "the members have other functions: "+what)
}

// functions returns the names of all functions of a member, with the code of their libraries.
func (p *pair) functions(i int) string {
	c, err := p.dial(i)()
	require.NoError(p.t, err)
	defer c.Close()
	var libraries []string
	list := c.Do("FUNCTION", "LIST", "WITHCODE")
	require.Empty(p.t, list.Str)
	for _, l := range list.Elems {
		libraries = append(libraries, l.String())
	}
	slices.Sort(libraries)
	return strings.Join(libraries, "\n")
}

// differences compares the data of both as clients see it, after each of them has led.
func (p *pair) differences() []string {
	p.log.hold(false)
	var data [2]testkit.Dataset
	for i := range data {
		p.lead(i)
		data[i] = testkit.ReadDataset(testkit.Dial(p.t, p.servers[i].Dial))
		p.depose(i)
	}
	return data[0].Diff(data[1], 0)
}

// number returns a field of INFO raft of the first member.
func (p *pair) number(name string) int {
	n, err := strconv.Atoi(p.field(0, name))
	require.NoError(p.t, err)
	return n
}

// TestUndoneIsAsIfNeverDone: the uncommitted changes of a deposed leader leave no trace. The other member has
// applied the committed entries and nothing else. Some of the pending entries are committed before the leader
// is deposed, some afterwards, and some never.
func TestUndoneIsAsIfNeverDone(t *testing.T) {
	t.Parallel()
	seed := seedOf(t)
	p := newPair(t, seed)
	deposals := 8
	if testkit.Long() {
		deposals = 400
	}
	for round := range deposals {
		p.log.hold(false)
		p.lead(0)
		p.play(0, 3, p.chance.IntN(300))
		if p.chance.IntN(2) == 0 {
			p.send(0, 1+p.chance.IntN(50)).Close()
		}
		p.log.hold(true)
		var clients []*testkit.Client
		for range 1 + p.chance.IntN(3) {
			clients = append(clients, p.send(0, 1+p.chance.IntN(200)))
		}
		require.Eventually(t, func() bool { return p.log.waiting() > 0 }, patience, time.Millisecond)
		if p.chance.IntN(2) == 0 {
			p.log.commit(p.chance.IntN(3))
		}
		p.depose(0)
		for _, c := range clients {
			c.Close()
		}
		p.log.commit(p.chance.IntN(3))
		p.log.drop()
		require.Eventually(t, func() bool { return p.field(0, "raft_role") == "follower" }, patience, time.Millisecond)
		p.compare(fmt.Sprint("deposed for time ", round+1))
		p.log.hold(false)
		p.lead(1)
		p.play(1, 2, p.chance.IntN(100))
		p.depose(1)
		p.compare(fmt.Sprint("the other one has led for time ", round+1))
	}
	undone, rebuilt := p.number("raft_undone"), p.number("raft_rebuilds")
	t.Logf("deposed %d times: undone %d times, built anew %d times", deposals, undone, rebuilt)
	require.Positive(t, undone)
	require.Zero(t, rebuilt)
}
