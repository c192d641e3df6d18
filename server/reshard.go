package server

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"lockserver/internal/config"
	"lockserver/internal/keyslot"
	"lockserver/persistence"
	"lockserver/persistence/digest"
	"lockserver/persistence/disk"
	"lockserver/server/cluster"
	"lockserver/server/durability"
	"lockserver/store"
)

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
		return got, fmt.Errorf("%s has no data of shards; the data of a server without shards is copied, see docs/CLUSTER.md", dir)
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
	ex.Do(func() {
		data, same = ex.Durable.Copy(persistence.History{}, true, true), ex.Durable.Copy(persistence.History{}, true, false)
		r.keys += ex.Store.DB(0).Len()
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
