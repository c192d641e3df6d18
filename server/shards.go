package server

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"lockserver/commands"
	"lockserver/server/clock"
	"lockserver/server/cluster"
	"lockserver/server/topology"
)

// Cluster is a Redis Cluster of several servers in this process, its shards. Each has an executor, data and a
// port of its own. Make it with NewCluster, start it with Start, end it with Close or Shutdown.
type Cluster struct {
	shards []*clusterShard
	id     string
	waits  sync.WaitGroup // for what Start has begun
	done   chan struct{}
	heard  atomic.Int64 // subscriptions of channels and patterns at all shards

	mu     sync.Mutex
	places []topology.Member // of the shards; Port 0 and no host: not known yet
	ends   ShutdownOptions   // of the server that has begun to end first
	ended  bool
	gives  []map[callSum][]byte // by shard: replies of commands that were repeated there
}

// mostGiven bounds the replies that are kept for a shard.
const mostGiven = 64

// mostUnheard is how many bytes of messages wait for a shard at most. Further ones are dropped, and the log
// says how many.
const mostUnheard = 64 << 20

// clusterShard is one server of a cluster, as the others see it. It implements peers.
type clusterShard struct {
	*Server
	of       *Cluster
	index    int
	executor *executor
	heard    atomic.Int64 // subscriptions of channels and patterns

	mu      sync.Mutex
	inbox   [][2][]byte // messages: channel and payload
	bytes   int         // in the inbox
	hearing bool        // a goroutine empties the inbox
	dropped int         // messages since the inbox was full
}

var _ peers = (*clusterShard)(nil)

// NewCluster returns a cluster of n shards, 1 to 64, with empty databases; it neither listens nor loads
// anything until Start. The options are those of each shard, with these exceptions. Ports count up from shard
// to shard. The directory gets a directory for each shard (shard-1, shard-2), and remembers the number of
// shards: another number is refused. CONFIG REWRITE has no file. Phase and RoleChanged are called for the
// first shard. Options for groups, a Listener and a Journal are refused.
func NewCluster(o Options, n int) (*Cluster, error) {
	switch {
	case n < 1 || n > cluster.MaxShards:
		return nil, fmt.Errorf("server: a cluster has 1 to %d shards, not %d", cluster.MaxShards, n)
	case o.Group != nil || o.Raft != nil || o.Listener != nil || o.Journal != nil:
		return nil, errors.New("server: a cluster of shards has no other group, Listener or Journal")
	}
	o.Directives = maps.Clone(o.Directives)
	if o.Directives == nil {
		o.Directives = make(map[string]string)
	}
	o.Directives["cluster-enabled"], o.Directives["shards"], o.ConfigFile = "yes", strconv.Itoa(n), ""
	whole, err := o.config()
	if err != nil {
		return nil, fmt.Errorf("server: %w", err)
	}
	dir := ""
	if whole.DBFilename != "" || whole.AppendOnly {
		if dir, err = filepath.Abs(whole.Dir); err != nil {
			return nil, fmt.Errorf("server: %w", err)
		}
	}
	if whole.TestTopology != "standalone" {
		return nil, errors.New("server: test-topology: one server that looks like several, and no shards")
	}
	if whole.TestMode {
		if o.Clock != nil {
			return nil, errTestOptions
		}
		o.Clock = clock.NewAdjustable() // one for all shards
	}
	c := &Cluster{done: make(chan struct{}), places: make([]topology.Member, n), gives: make([]map[callSum][]byte, n)}
	c.id = topology.NodeID(strconv.FormatUint(rand.Uint64(), 10))
	if dir != "" {
		record, err := cluster.Claim(dir, n, c.id)
		if err != nil {
			return nil, fmt.Errorf("server: %w", err)
		}
		c.id = record.ID
	}
	for i, slots := range cluster.Split(n) {
		c.places[i] = topology.Member{ID: topology.NodeID(c.id + strconv.Itoa(i)), Up: true, Slots: []cluster.Range{slots}}
		s := &clusterShard{of: c, index: i}
		so := o
		so.peers, so.shard, so.Directives = s, i, maps.Clone(o.Directives)
		so.Group = topology.New(topology.GroupOptions{Form: topology.Cluster, Strict: true, Self: func(net.Addr) string { return c.places[i].ID }})
		if i > 0 {
			so.Phase, so.RoleChanged = nil, nil
		}
		if o.Seed != 0 {
			so.Seed = o.Seed + uint64(i)
		}
		if o.Log != nil {
			so.Log = o.Log.With("shard", i+1)
		}
		if err := so.moveTo(i, dir, whole.TLS.Port); err != nil {
			return nil, err
		}
		if s.Server, err = New(so); err != nil {
			return nil, err
		}
		s.executor = &s.in.(*instance).executor
		c.shards = append(c.shards, s)
	}
	return c, nil
}

// moveTo gives shard i ports and a directory of its own.
func (o *Options) moveTo(i int, dir string, tlsPort int) error {
	if o.Addr != "" {
		host, port, err := net.SplitHostPort(o.Addr)
		if err != nil {
			return fmt.Errorf("server: Addr: %w", err)
		}
		o.Addr = net.JoinHostPort(host, above(port, i))
	}
	if port, ok := o.Directives["port"]; ok {
		o.Directives["port"] = above(port, i)
	}
	if tlsPort != 0 {
		o.Directives["tls-port"] = strconv.Itoa(tlsPort + i)
	}
	if i > 0 {
		delete(o.Directives, "unixsocket")
	}
	if dir != "" {
		delete(o.Directives, "dir")
		o.Dir = cluster.ShardDir(dir, i)
	}
	return nil
}

// above is the port of shard i, if the first one has this port; "0" is a free one.
func above(port string, i int) string {
	if n, err := strconv.Atoi(port); err == nil && n != 0 {
		return strconv.Itoa(n + i)
	}
	return port
}

// Shards are the servers, in the order of their slots.
func (c *Cluster) Shards() []*Server {
	all := make([]*Server, len(c.shards))
	for i, s := range c.shards {
		all[i] = s.Server
	}
	return all
}

// Addr is the address of the first shard: see Server.Addr.
func (c *Cluster) Addr() net.Addr { return c.shards[0].Server.Addr() }

// SecureAddr is that of the first shard for encrypted connections: see Server.SecureAddr.
func (c *Cluster) SecureAddr() net.Addr { return c.shards[0].Server.SecureAddr() }

// Directives are those of the first shard: see Server.Directives.
func (c *Cluster) Directives() map[string]string { return c.shards[0].Server.Directives() }

// Start starts all shards at once, and returns when the data of all is there. All listen before the first of
// them answers a command, because a client may go from any of them to any other. After an error none runs.
func (c *Cluster) Start() error {
	errs := make([]error, len(c.shards))
	try := func(s *clusterShard, step func() error) {
		if err := step(); err != nil {
			errs[s.index] = fmt.Errorf("shard %d: %w", s.index+1, err)
		}
	}
	c.each(func(s *clusterShard) { try(s, s.in.(*instance).open) })
	deaf := errors.Join(errs...)
	c.each(func(s *clusterShard) {
		switch {
		case errs[s.index] != nil:
		case deaf != nil:
			_ = s.in.(*instance).serve(deaf)
		default:
			try(s, func() error { return s.in.(*instance).serve(nil) })
		}
	})
	if err := errors.Join(errs...); err != nil {
		_ = c.Close()
		return err
	}
	for _, s := range c.shards { // when one has ended, the others end as it did
		c.waits.Go(func() {
			<-s.Server.Done()
			c.mu.Lock()
			o, alone := c.ends, !c.places[s.index].Up
			c.mu.Unlock()
			if alone {
				return
			}
			c.each(func(other *clusterShard) {
				if other.Server.Shutdown(o) != nil {
					_ = other.Server.Close()
				}
			})
		})
	}
	go func() {
		c.waits.Wait()
		c.finish()
	}()
	return nil
}

// each does something for all shards at the same time, and waits for it.
func (c *Cluster) each(f func(s *clusterShard)) {
	var all sync.WaitGroup
	for _, s := range c.shards {
		all.Go(func() { f(s) })
	}
	all.Wait()
}

// finish closes done, once.
func (c *Cluster) finish() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.ended {
		c.ended = true
		close(c.done)
	}
}

// Close ends all shards at once, without saving. It may be called more than once.
func (c *Cluster) Close() error {
	c.each(func(s *clusterShard) { _ = s.Server.Close() })
	c.finish()
	return nil
}

// Shutdown saves as the options say and ends all shards. A shard that cannot save goes on unless Force is
// set; the error says why, and the others have ended.
func (c *Cluster) Shutdown(o ShutdownOptions) error {
	errs := make([]error, len(c.shards))
	c.each(func(s *clusterShard) {
		if err := s.Server.Shutdown(o); err != nil && !errors.Is(err, errClosed) {
			errs[s.index] = fmt.Errorf("shard %d: %w", s.index+1, err)
		}
	})
	return errors.Join(errs...)
}

// Done is closed when all shards have ended. SHUTDOWN of one shard ends all.
func (c *Cluster) Done() <-chan struct{} { return c.done }

// ExitCode returns the code to exit with after Done: the highest of the shards'.
func (c *Cluster) ExitCode() (code int) {
	for _, s := range c.shards {
		code = max(code, s.Server.ExitCode())
	}
	return code
}

// CloseShard ends one shard, counted from 0, as a crash does. The others go on and tell clients that it has
// failed; nothing serves its slots.
func (c *Cluster) CloseShard(i int) error {
	if i < 0 || i >= len(c.shards) {
		return fmt.Errorf("server: there is no shard %d", i)
	}
	c.mu.Lock()
	c.places[i].Up = false
	c.show()
	c.mu.Unlock()
	return c.shards[i].Server.Close()
}

// show tells the clients of all shards what is known of all. The caller holds mu.
func (c *Cluster) show() {
	var known []topology.Member
	for _, m := range c.places {
		if m.Port != 0 {
			known = append(known, m)
		}
	}
	for _, s := range c.shards {
		if own := c.places[s.index]; own.Port != 0 {
			v := topology.View{Members: slices.Clone(known), Leader: own.ID, AtMS: s.executor.Clock.NowUS() / 1000}
			_ = s.executor.group.Update(v) // nothing in it can be refused
		}
	}
}

// placed implements peers. A shard without a known place serves no slots yet.
func (s *clusterShard) placed(at topology.Member) {
	c := s.of
	c.mu.Lock()
	defer c.mu.Unlock()
	p := &c.places[s.index]
	p.Host, p.Port, p.SecurePort = at.Host, at.Port, at.SecurePort
	c.show()
}

// listens implements peers.
func (s *clusterShard) listens(n int) { s.of.heard.Add(int64(n) - s.heard.Swap(int64(n))) }

// anyoneListens implements peers.
func (s *clusterShard) anyoneListens() bool {
	return s.of.heard.Load() > s.heard.Load()
}

// publish implements peers.
func (s *clusterShard) publish(channel, message []byte) {
	for _, other := range s.of.shards {
		if other != s && other.heard.Load() > 0 {
			other.hear(channel, message)
		}
	}
}

// hear takes a message of another shard. Messages reach subscribers in the order in which they come.
func (s *clusterShard) hear(channel, message []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if size := len(channel) + len(message); s.bytes+size <= mostUnheard {
		s.inbox = append(s.inbox, [2][]byte{commands.Clone(channel), commands.Clone(message)})
		s.bytes += size
	} else if s.dropped++; s.dropped == 1 {
		s.executor.Logger.Warn("messages of other shards are dropped: this shard is too slow", "bytes", s.bytes)
	}
	if !s.hearing {
		s.hearing = true
		s.executor.host.background(s.empty)
	}
}

// empty publishes what is in the inbox, until it is empty.
func (s *clusterShard) empty() {
	for {
		s.mu.Lock()
		all := s.inbox
		dropped := s.dropped
		s.inbox, s.bytes, s.dropped = nil, 0, 0
		if s.hearing = len(all) > 0; !s.hearing {
			s.mu.Unlock()
			return
		}
		s.mu.Unlock()
		if dropped > 0 {
			s.executor.Logger.Warn("messages of other shards were dropped", "count", dropped)
		}
		s.executor.Do(func() {
			for _, m := range all {
				s.executor.publish(m[0], m[1])
			}
		})
	}
}

// callSum is a hash of the words of a command. The words are not kept: they may be passwords.
type callSum [sha256.Size]byte

// sumOf returns the callSum of a command.
func sumOf(argv [][]byte) (sum callSum) {
	h := sha256.New()
	for _, word := range argv {
		fmt.Fprintf(h, "%d:%s", len(word), word)
	}
	h.Sum(sum[:0])
	return sum
}

// repeat implements peers.
func (s *clusterShard) repeat(argv [][]byte) {
	for _, other := range s.of.shards {
		if other == s {
			continue
		}
		var reply []byte
		other.executor.Do(func() { reply = runRepeated(other.executor, argv) })
		if len(reply) == 0 || reply[0] == '-' {
			other.executor.Logger.Warn("a command for all shards failed on this one", "command", string(argv[0]), "reply", fmt.Sprintf("%.200q", reply))
			continue
		}
		s.of.mu.Lock()
		if s.of.gives[other.index] == nil || len(s.of.gives[other.index]) >= mostGiven {
			s.of.gives[other.index] = make(map[callSum][]byte)
		}
		s.of.gives[other.index][sumOf(argv)] = reply
		s.of.mu.Unlock()
	}
}

// runRepeated runs a command of another shard under the executor, and returns its reply.
func runRepeated(ex *executor, argv [][]byte) []byte {
	row, err := ex.Table.Resolve(argv)
	s := ex.newReplayer().session
	if err == nil {
		var c commands.Ctx
		ex.Prepare(&c, &s.Party, row, argv)
		c.MayBlock = false
		err = ex.Contain(row, func() error { return row.Run(&c) })
	}
	if err != nil {
		return []byte("-" + err.Error())
	}
	return s.Out.Buf
}

// given implements peers.
func (s *clusterShard) given(argv [][]byte) (reply []byte) {
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	sum := sumOf(argv)
	reply = s.of.gives[s.index][sum]
	delete(s.of.gives[s.index], sum)
	return reply
}

// running are the executors of the shards that have not been killed.
func (s *clusterShard) running() (all []*executor) {
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	for i, other := range s.of.shards {
		if s.of.places[i].Up {
			all = append(all, other.executor)
		}
	}
	return all
}

// kill implements peers.
func (s *clusterShard) kill(shard int) error { return s.of.CloseShard(shard) }

// ending implements peers.
func (s *clusterShard) ending(o ShutdownOptions) {
	s.of.mu.Lock()
	s.of.ends = o
	s.of.mu.Unlock()
}
