package server

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"lockserver/commands"
	"lockserver/internal/config"
	"lockserver/internal/keyslot"
	"lockserver/persistence"
	"lockserver/persistence/digest"
	"lockserver/persistence/disk"
	"lockserver/server/cluster"
	"lockserver/server/durability"
	"lockserver/server/topology"
	"lockserver/store"
)

// Cluster is a Redis Cluster of several servers in this process, its shards. Each has an executor, data and a
// port of its own. Make it with NewCluster, start it with Start, end it with Close or Shutdown.
type Cluster struct {
	shards []*clusterShard
	id     string
	waits  sync.WaitGroup // for what Start has begun
	done   chan struct{}

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
		so.Group = topology.New(topology.Options{Form: topology.Cluster, Strict: true, Self: func(net.Addr) string { return c.places[i].ID }})
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

// Start starts all shards at once, and returns when the data of all is there. After an error none runs.
func (c *Cluster) Start() error {
	errs := make([]error, len(c.shards))
	c.each(func(s *clusterShard) {
		if err := s.Server.Start(); err != nil {
			errs[s.index] = fmt.Errorf("shard %d: %w", s.index+1, err)
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
			_ = s.executor.group.Update(topology.View{Members: slices.Clone(known), Leader: own.ID}) // nothing in it can be refused
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
func (s *clusterShard) listens(n int) { s.heard.Store(int64(n)) }

// anyoneListens implements peers.
func (s *clusterShard) anyoneListens() bool {
	return slices.ContainsFunc(s.of.shards, func(other *clusterShard) bool { return other != s && other.heard.Load() > 0 })
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
		s.executor.log.Warn("messages of other shards are dropped: this shard is too slow", "bytes", s.bytes)
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
			s.executor.log.Warn("messages of other shards were dropped", "count", dropped)
		}
		s.executor.do(func() {
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
		other.executor.do(func() { reply = runRepeated(other.executor, argv) })
		if len(reply) == 0 || reply[0] == '-' {
			other.executor.log.Warn("a command for all shards failed on this one", "command", string(argv[0]), "reply", fmt.Sprintf("%.200q", reply))
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
	row, err := ex.table.Resolve(argv)
	s := ex.newReplayer().session
	if err == nil {
		var c commands.Ctx
		ex.prepare(&c, &s.Party, row, argv)
		c.MayBlock = false
		err = ex.contain(row, func() error { return row.Run(&c) })
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

// ending implements peers.
func (s *clusterShard) ending(o ShutdownOptions) {
	s.of.mu.Lock()
	s.of.ends = o
	s.of.mu.Unlock()
}

// Resharded is the result of Reshard.
type Resharded struct {
	From, To int    // number of shards
	Keys     int    // in all shards
	Kept     string // the directory with the data of the old shards
}

// Reshard splits or joins the data of a cluster by slots, for n shards, 2 to 64. No server may run on the
// directory. The options are those of NewCluster. It makes the new data beside the old data, reads it again
// and compares it, and only then puts it in the place of the old data. After an error or a crash call it
// again: the data is that of the old shards until the new data is complete.
func Reshard(o Options, n int) (Resharded, error) { return reshard(o, n, func() error { return nil }) }

// resharding is the change of the number of shards. All its servers and stores have the same time, so that
// nothing expires in between.
type resharding struct {
	options Options // of the servers that load the old data
	config  *config.Config
	dir     string
	clock   *ManualClock
	was, is cluster.Record
	keys    int
	sum     digest.Digest // of all keys
	tokens  int64
	code    [][]byte    // of the function libraries
	locks   []io.Closer // of the old directories that were read: no server may start there
}

// reshard is Reshard, with a function that is called after each change of the file system.
func reshard(o Options, n int, step func() error) (got Resharded, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("server: %w", err)
		}
	}()
	if n < 2 || n > cluster.MaxShards {
		return got, fmt.Errorf("2 to %d shards, not %d", cluster.MaxShards, n)
	}
	c, err := o.config()
	if err != nil {
		return got, err
	}
	dir, err := filepath.Abs(c.Dir)
	if err != nil {
		return got, err
	}
	if err := cluster.FinishReshard(dir, step); err != nil { // of an earlier call
		return got, err
	}
	was, ok, err := cluster.ReadRecord(dir)
	switch {
	case err != nil:
		return got, err
	case !ok:
		return got, fmt.Errorf("%s has no data of shards", dir)
	}
	got = Resharded{From: was.Shards, To: n, Kept: cluster.KeptDir(dir)}
	if was.Shards == n {
		return got, nil
	}
	r := &resharding{config: c, dir: dir, clock: NewManualClock(time.Now()), was: was, is: cluster.Record{Shards: n, ID: was.ID}}
	if err := r.prepare(&o); err != nil {
		return got, err
	}
	err = r.run(step)
	for _, lock := range r.locks {
		_ = lock.Close()
	}
	if err != nil {
		return got, err
	}
	got.Keys = r.keys
	return got, nil
}

// filesBy holds the beginnings of the names of directives that say how files are read.
var filesBy = []string{"append", "aof-load", "aof-use", "dbfilename", "rdb", "hash-", "list-", "set-", "zset-", "stream-", "key-load"}

// ReadsFiles reports whether a directive says how a server's files are read: Reshard goes by those alone.
func ReadsFiles(directive string) bool {
	return slices.ContainsFunc(filesBy, func(beginning string) bool { return strings.HasPrefix(directive, beginning) })
}

// prepare makes the options of the servers that load the old data. They listen nowhere and save nothing.
func (r *resharding) prepare(o *Options) error {
	if r.config.DBFilename == "" {
		return errors.New("dbfilename is needed: the new data is written as snapshots")
	}
	log := false
	for i := range r.was.Shards {
		_, err := os.Stat(filepath.Join(cluster.ShardDir(r.dir, i), r.config.AppendDirname))
		log = log || err == nil
	}
	if log && !r.config.AppendOnly {
		return errors.New("the shards have an append-only file: say appendonly yes, or the newest data would be missing")
	}
	all := r.config.Directives()
	maps.DeleteFunc(all, func(name, _ string) bool { return !ReadsFiles(name) })
	maps.Copy(all, map[string]string{"bind": "", "port": "0", "save": "", "auto-aof-rewrite-percentage": "0"})
	r.options = Options{Directives: all, Clock: r.clock, Log: o.Log, Progress: o.Progress}
	return nil
}

func (r *resharding) run(step func() error) error {
	if err := cluster.BeginReshard(r.dir, r.is.Shards, step); err != nil {
		return err
	}
	for i := range r.was.Shards {
		if err := errors.Join(r.export(i), step()); err != nil {
			return fmt.Errorf("shard %d: %w", i+1, err)
		}
	}
	var sum digest.Digest
	keys := 0
	for i, slots := range cluster.Split(r.is.Shards) {
		if err := errors.Join(r.build(i, slots), step()); err != nil {
			return fmt.Errorf("new shard %d: %w", i+1, err)
		}
		n, d, err := r.check(i, slots)
		if err != nil {
			return fmt.Errorf("new shard %d: %w", i+1, err)
		}
		keys += n
		mix(&sum, d)
	}
	if keys != r.keys || sum != r.sum {
		return fmt.Errorf("the new shards have %d keys, the old ones %d, and their data must be the same: nothing was changed", keys, r.keys)
	}
	for i := range r.was.Shards {
		if err := os.Remove(r.cut(i)); err != nil {
			return err
		}
	}
	if err := cluster.CommitReshard(r.dir, r.is, step); err != nil {
		return err
	}
	return cluster.FinishReshard(r.dir, step)
}

// mix adds the digest of other keys to a digest.
func mix(to *digest.Digest, d digest.Digest) {
	for i := range to {
		to[i] ^= d[i]
	}
}

// cut is the file with all data of an old shard.
func (r *resharding) cut(i int) string {
	return filepath.Join(cluster.FreshDir(r.dir), "cut-"+strconv.Itoa(i+1))
}

// export loads an old shard as a start does, and writes a snapshot of it.
func (r *resharding) export(i int) (err error) {
	o := r.options
	o.Dir = cluster.ShardDir(r.dir, i)
	srv, err := New(o)
	if err != nil {
		return err
	}
	if err := srv.Start(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, srv.Close(), r.lock(o.Dir)) }()
	ex := &srv.in.(*instance).executor
	var data, same *durability.Copy
	ex.do(func() {
		data, same = ex.durable.Copy(persistence.History{}, true, true), ex.durable.Copy(persistence.History{}, true, false)
		r.keys += ex.store.DB(0).Len()
	})
	defer data.Release()
	defer same.Release()
	d, _ := same.Digest(nil)
	mix(&r.sum, d)
	f, err := os.Create(r.cut(i))
	if err != nil {
		return err
	}
	if err := errors.Join(data.Write(f), f.Close()); err != nil {
		return err
	}
	got, err := r.load(r.cut(i), r.store(), func([]byte) bool { return false })
	r.tokens = max(r.tokens, got.TokenLimit) // tokens of a lock rise, wherever it was
	return err
}

// lock takes the lock of a directory until the end.
func (r *resharding) lock(dir string) error {
	l, err := disk.OS{}.Lock(filepath.Join(dir, durability.LockFile))
	if errors.Is(err, disk.ErrLocked) {
		return errors.New("another server writes to the directory " + dir)
	}
	if err == nil {
		r.locks = append(r.locks, l)
	}
	return err
}

// snapshot is the file of a new shard.
func (r *resharding) snapshot(i int) string {
	return filepath.Join(cluster.ShardDir(cluster.FreshDir(r.dir), i), r.config.DBFilename)
}

// load loads the keys of some slots from a snapshot.
func (r *resharding) load(path string, into *store.Store, keep func(key []byte) bool) (persistence.Loaded, error) {
	f, err := os.Open(path)
	if err != nil {
		return persistence.Loaded{}, err
	}
	defer f.Close()
	return persistence.Load(f, into, persistence.LoadOptions{Keep: keep, Functions: func(code [][]byte) error {
		if r.code == nil {
			for _, library := range code {
				r.code = append(r.code, bytes.Clone(library))
			}
		}
		return nil
	}})
}

// build writes the snapshot of a new shard.
func (r *resharding) build(i int, slots cluster.Range) error {
	st := r.store()
	for old, had := range cluster.Split(r.was.Shards) {
		if had.Last < slots.First || slots.Last < had.First {
			continue
		}
		if _, err := r.load(r.cut(old), st, func(key []byte) bool { return slots.Has(keyslot.Of(key)) }); err != nil {
			return err
		}
	}
	snap := st.Cut()
	defer snap.Release()
	_, err := persistence.SaveFile(r.snapshot(i), snap, persistence.SaveOptions{Compress: r.config.RDBCompression, Checksum: true,
		CreatedS: st.NowMS() / 1000, Version: compatibleVersion, Functions: r.code, TokenLimit: r.tokens})
	return err
}

func (r *resharding) store() *store.Store {
	st := store.New(r.config.Databases, store.Limits{})
	st.SetNow(r.clock.NowUS())
	return st
}

// check reads the snapshot of a new shard, and returns the number and the digest of its keys.
func (r *resharding) check(i int, slots cluster.Range) (keys int, d digest.Digest, err error) {
	st, astray := r.store(), 0
	got, err := r.load(r.snapshot(i), st, func(key []byte) bool {
		if !slots.Has(keyslot.Of(key)) {
			astray++
		}
		return true
	})
	switch {
	case err != nil:
		return 0, d, err
	case astray > 0 || got.TokenLimit < r.tokens:
		return 0, d, fmt.Errorf("%d keys of other shards, tokens to %d instead of %d", astray, got.TokenLimit, r.tokens)
	}
	snap := st.Cut()
	defer snap.Release()
	d, _ = digest.Exact(snap, digest.ExactOptions{})
	return st.DB(0).Len(), d, nil
}
