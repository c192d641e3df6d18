//go:build simulation

package simulation

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	hraft "github.com/hashicorp/raft"

	"lockserver/internal/resp"
	"lockserver/server"
	"lockserver/server/raft"
	"lockserver/server/raft/engine"
)

// wrong is a machine's clock that shows another time than the others', but runs at the right speed.
type wrong struct{ byUS atomic.Int64 }

func (c *wrong) NowUS() int64   { return time.Now().UnixMicro() + c.byUS.Load() }
func (c *wrong) SinceUS() int64 { return time.Now().UnixMicro() }

// member is a member of a group, through all of its lives.
type member struct {
	group *group
	peer  raft.Peer
	disk  *disk
	clock wrong
	alive atomic.Pointer[life] // nil while it does not run
	lives int
	standing
}

// life is a member from a start to the next crash.
type life struct {
	server *server.Server
	engine *engine.Engine
	mount  *mount
	end    chan struct{} // closed when it is over, and all its goroutines have ended
	conns  conns
	// transport is its end of the network.
	transport atomic.Pointer[transport]
	crashed   atomic.Bool
}

// number is another one for each server of a run.
func (m *member) number() (sum uint64) {
	for _, b := range []byte(m.peer.ID) {
		sum = sum*2 + uint64(b)
	}
	return sum
}

// at returns the member's address for the others.
func (m *member) at() hraft.ServerAddress { return engine.Address(m.peer) }

// start begins a new life with the data on the disk.
func (m *member) start() error {
	m.lives++
	l := &life{mount: &mount{disk: m.disk}, end: make(chan struct{})}
	log := m.group.log.With("member", m.peer.ID, "life", m.lives)
	founders := m.group.founders
	if _, ok := raft.Find(founders, m.peer.ID); !ok {
		founders = nil // it waits until it is added as a member
	}
	cached, err := hraft.NewLogCache(64, l.mount)
	if err != nil {
		return err
	}
	eo := engine.Options{ID: m.peer.ID, Peers: founders, ElectionMS: electionMS, Trailing: m.group.trailing, Log: log,
		Logs: cached, Stable: l.mount, Snapshots: l.mount,
		Hello: func(ctx context.Context, address string) (engine.Hello, error) {
			return m.group.network.hello(ctx, m.at(), address)
		}}
	if err := eo.Identify(); err != nil {
		return err
	}
	eo.Transport = func() (hraft.Transport, error) {
		t := m.group.network.join(m.at(), eo.Identity)
		l.transport.Store(t)
		if l.crashed.Load() {
			_ = t.Close()
		}
		return t, nil
	}
	l.engine = engine.New(eo)
	so := server.Options{Log: log, Clock: &m.clock, Seed: m.group.seed + uint64(m.lives)<<32 + m.number() | 1, Raft: l.engine,
		Directives: map[string]string{"bind": "", "enable-debug-command": "yes", "lock-watchdog-timeout": fmt.Sprint(watchdogMS)}}
	so.RaftOptions = raft.MemberOptions{SnapshotBytes: m.group.snapshotBytes}
	if s := m.group.shard; s != nil {
		s.configure(m, &so)
	}
	if l.server, err = server.New(so); err != nil {
		return err
	}
	if err = l.server.Start(); err == nil {
		m.alive.Store(l) // clients can connect from now on
	}
	return err
}

// electionMS is how long a leader may be silent. watchdogMS is the lease of locks that the server renews.
const (
	electionMS = 500
	watchdogMS = 3000
)

// crash ends a member's life at once: nothing that it does from now on reaches a client, a member or its
// disk.
func (m *member) crash() {
	l := m.alive.Swap(nil)
	if l == nil {
		return
	}
	l.mount.crash()
	l.crashed.Store(true)
	l.conns.cut()
	if t := l.transport.Load(); t != nil {
		_ = t.Close()
	}
	go func() {
		_ = l.server.Close()
		close(l.end)
	}()
	m.group.mu.Lock()
	defer m.group.mu.Unlock()
	m.group.dying = append(m.group.dying, l.end)
}

// dial connects a client; the connection breaks with the member.
func (m *member) dial() (net.Conn, error) {
	l := m.alive.Load()
	if l == nil {
		return nil, errRefused
	}
	c, err := l.server.Dial()
	if err != nil {
		return nil, err
	}
	l.conns.add(c)
	return c, nil
}

// ask sends a command on a new connection. Without a reply the result is an error.
func (m *member) ask(words ...string) resp.Value {
	c, err := m.dial()
	if err == nil {
		defer func() { _ = c.Close() }()
		var v resp.Value
		if v, err = newCaller(c).call(10*time.Second, words...); err == nil {
			return v
		}
	}
	return resp.Value{Kind: '-', Str: err.Error()}
}

// fields returns the fields of INFO raft.
func (m *member) fields() map[string]string {
	all := map[string]string{}
	for line := range strings.Lines(m.ask("INFO", "raft").Str) {
		if k, v, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			all[k] = v
		}
	}
	return all
}

// group holds the members and the network between them.
type group struct {
	seed                      uint64
	network                   *network
	log                       *slog.Logger
	all                       []*member
	founders                  []raft.Peer
	shard                     *shard // nil: the group is no shard of a cluster
	trailing                  uint64
	snapshotBytes             int64
	mu                        sync.Mutex
	dying                     []chan struct{} // guarded by mu
	leaders, undone, rebuilds int             // elections won, undone entries and rebuilt members, in the lives that reached the end of the run
}

// newGroup returns a group without running members, and spare servers outside of it.
func newGroup(seed uint64, members, spare int) *group {
	return newShard(seed, nil, newNetwork(seed), members, spare)
}

// newShard returns such a group on a network, as a shard of a cluster, if shard is not nil.
func newShard(seed uint64, shard *shard, network *network, members, spare int) *group {
	g := &group{seed: seed, shard: shard, network: network, log: slog.New(slog.DiscardHandler), trailing: 20, snapshotBytes: 1 << 30}
	if os.Getenv("RAFT_LOG") != "" {
		g.log = slog.New(slog.NewTextHandler(os.Stderr, nil))
	}
	for range members {
		m := g.add()
		m.in.Store(true)
		g.founders = append(g.founders, m.peer)
	}
	for range spare {
		g.add()
	}
	return g
}

// count adds the numbers in a member's INFO.
func (g *group) count(m *member) {
	f := m.fields()
	won, _ := strconv.Atoi(f["raft_elections_won"])
	anew, _ := strconv.Atoi(f["raft_rebuilds"])
	undone, _ := strconv.Atoi(f["raft_undone"])
	g.leaders, g.undone, g.rebuilds = g.leaders+won, g.undone+undone, g.rebuilds+anew
}

// add adds another server, which is in no group yet.
func (g *group) add() *member {
	i := len(g.all)
	id := string(rune('a' + i))
	if g.shard != nil {
		id = g.shard.name + id
	}
	m := &member{group: g, disk: newDisk(newChance(g.seed, "disk "+id)),
		peer: raft.Peer{ID: id, Raft: fmt.Sprintf("%s:%d", id, 7000+i), Client: fmt.Sprintf("%s:%d", id, 6379+i)}}
	g.all = append(g.all, m)
	return m
}
