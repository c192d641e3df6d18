package engine

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	hraft "github.com/hashicorp/raft"
	"github.com/stretchr/testify/require"

	"lockserver/persistence/disk"
	"lockserver/server/raft"
	"lockserver/tests/testkit"
)

// disky is a member's directory that tests damage, with copies of all of its files.
type disky struct {
	t     *testing.T
	dir   string
	whole map[string][]byte // by path
	has   state
}

// state is all that a member goes on from.
type state struct {
	entries  map[uint64]string
	term     uint64
	vote     string
	disk     string
	snapshot string
}

// keepSmall opens the stores of a directory, with small files of the log.
func keepSmall(dir string, move bool) (o Options, err error) {
	o = Options{ID: "a", Log: slog.New(slog.DiscardHandler), MoveDamaged: move, segmentBytes: 2 << 10}
	return o, KeepIn(dir, "small", &o)
}

// newDisky makes a directory with a snapshot and a log of several files. The log's end was replaced once.
func newDisky(t *testing.T) *disky {
	d := &disky{t: t, dir: filepath.Join(t.TempDir(), "raft"), whole: map[string][]byte{}}
	o, err := keepSmall(d.dir, true)
	require.NoError(t, err)
	require.NoError(t, o.Stable.SetUint64(keyTerm, 3))
	require.NoError(t, o.Stable.Set([]byte("LastVoteCand"), []byte("10.0.0.2:7000")))
	store := func(from, to, term uint64) {
		var all []*hraft.Log
		for i := from; i <= to; i++ {
			all = append(all, &hraft.Log{Index: i, Term: term, Data: fmt.Appendf(nil, "entry %d of term %d %030d", i, term, i)})
		}
		require.NoError(t, o.Logs.StoreLogs(all))
	}
	for i := uint64(1); i < 40; i += 4 {
		store(i, i+3, 1)
	}
	require.NoError(t, o.Logs.DeleteRange(39, 40))
	store(39, 42, 2)
	sink, err := o.Snapshots.Create(1, 30, 1, hraft.Configuration{Servers: []hraft.Server{{ID: "a", Address: "10.0.0.1:7000"}}}, 1, hollow{})
	require.NoError(t, err)
	_, err = sink.Write([]byte("the data"))
	require.NoError(t, err)
	require.NoError(t, sink.Close())
	require.NoError(t, o.Logs.DeleteRange(1, 25))
	store(43, 43, 3)
	o.committed.write(40, time.Now())
	require.NoError(t, o.Release())
	o, err = keepSmall(d.dir, true)
	require.NoError(t, err)
	d.has = d.read(&o)
	require.NotContains(t, d.has.entries, uint64(1))
	require.Contains(t, d.has.entries, uint64(43))
	require.NoError(t, o.Release())
	require.NoError(t, filepath.WalkDir(d.dir, func(path string, e os.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			d.whole[path], err = os.ReadFile(path)
		}
		return err
	}))
	require.GreaterOrEqual(t, len(d.logs()), 2)
	return d
}

// logs are the paths of the log's files.
func (d *disky) logs() []string {
	all, err := filepath.Glob(filepath.Join(d.dir, diskDir, logDir, "*.log"))
	require.NoError(d.t, err)
	return all
}

// read reads all that the library would.
func (d *disky) read(o *Options) (s state) {
	s.entries = map[uint64]string{}
	first, err := o.Logs.FirstIndex()
	require.NoError(d.t, err)
	last, err := o.Logs.LastIndex()
	require.NoError(d.t, err)
	for i := first; i <= last && last > 0; i++ {
		var l hraft.Log
		require.NoError(d.t, o.Logs.GetLog(i, &l))
		s.entries[i] = fmt.Sprint(l.Term, string(l.Data))
	}
	s.term, err = o.Stable.GetUint64(keyTerm)
	require.NoError(d.t, err)
	vote, err := o.Stable.Get([]byte("LastVoteCand"))
	require.NoError(d.t, err)
	s.vote, s.disk = string(vote), o.Identity.incarnation
	kept, err := o.Snapshots.List()
	require.NoError(d.t, err)
	if len(kept) > 0 {
		m, from, err := o.Snapshots.Open(kept[0].ID)
		require.NoError(d.t, err)
		data, err := io.ReadAll(from)
		require.NoError(d.t, err)
		require.NoError(d.t, from.Close())
		s.snapshot = fmt.Sprint(m.Index, m.Term, m.Configuration, string(data))
	}
	return s
}

// restore makes the directory what it was.
func (d *disky) restore() {
	all, err := os.ReadDir(d.dir)
	require.NoError(d.t, err)
	for _, e := range all {
		require.NoError(d.t, os.RemoveAll(filepath.Join(d.dir, e.Name())))
	}
	for path, is := range d.whole {
		require.NoError(d.t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(d.t, os.WriteFile(path, is, 0o600))
	}
}

// outcome starts on the directory. Either it is found to be damaged, or everything is as it was.
func (d *disky) outcome(what string) (is *damaged) {
	o, err := keepSmall(d.dir, true)
	require.NoError(d.t, err, what)
	got := d.read(&o)
	if o.damaged == nil {
		require.Equal(d.t, d.has, got, what)
	} else {
		require.Empty(d.t, got.entries, what)
		require.NotEqual(d.t, d.has.disk, got.disk, what)
		empty, err := o.Identity.isEmpty()
		require.NoError(d.t, err)
		require.True(d.t, empty, what)
	}
	require.NoError(d.t, o.Release())
	return o.damaged
}

// verify verifies the directory.
func (d *disky) verify() error {
	_, _, err := verify(d.dir, disk.OS{}, filepath.Join(d.dir, diskDir, logDir), nil)
	return err
}

// strideBytes is of how many bytes one is changed in a run.
const strideBytes = 5

// TestDamagedBytes: whichever byte of a member's files is another, it is found at the start, or changes
// nothing that the member goes on from.
func TestDamagedBytes(t *testing.T) {
	d := newDisky(t)
	found, first := map[string]int{}, testkit.Seed(t)%strideBytes
	open := func(path string) *os.File {
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		require.NoError(t, err)
		return f
	}
	for path, is := range d.whole {
		name := filepath.Base(path)
		if name == memberFile || name == lockFile || name == charterFile {
			continue
		}
		f := open(path)
		used := len(bytes.TrimRight(is, "\x00"))
		for at := int(first); at < used; at += strideBytes {
			if name == "state" && is[at] == 0 && at%(64*strideBytes) > strideBytes { // most of it is empty
				continue
			}
			write := func(b byte) {
				_, err := f.WriteAt([]byte{b}, int64(at))
				require.NoError(t, err)
			}
			write(is[at] ^ 1<<(at%8))
			err := d.verify()
			if err != nil || at%(8*strideBytes) > 2*strideBytes { // to open them takes longer
				write(is[at])
			}
			var bad *Damage
			if errors.As(err, &bad) {
				found[name]++
				continue
			}
			require.NoError(t, err)
			if at%(8*strideBytes) > 2*strideBytes {
				continue
			}
			if d.outcome(fmt.Sprint(name, " ", at)) != nil {
				t.Fatalf("%s %d: it was found at the second look", name, at)
			}
			require.NoError(t, f.Close())
			d.restore()
			f = open(path)
		}
		require.NoError(t, f.Close())
		if filepath.Ext(name) == ".log" || name == "meta.json" || name == "state.bin" {
			require.Equal(t, (used-int(first)+strideBytes-1)/strideBytes, found[name], "each byte of %s counts", name)
		}
	}
}

// TestDamagedFiles: a file that is missing, cut, another's or there twice is found at the start, or changes
// nothing that the member goes on from.
func TestDamagedFiles(t *testing.T) {
	d := newDisky(t)
	logs := d.logs()
	state, err := filepath.Glob(filepath.Join(d.dir, diskDir, snapshotsDir, "*", "state.bin"))
	require.NoError(t, err)
	meta := filepath.Join(filepath.Dir(state[0]), "meta.json")
	in := filepath.Join(d.dir, diskDir, logDir)
	votes, reached := filepath.Join(in, "state"), filepath.Join(in, "reached")
	put := func(path string, is []byte) { require.NoError(t, os.WriteFile(path, is, 0o600)) }
	remove := func(all ...string) {
		for _, path := range all {
			require.NoError(t, os.RemoveAll(path))
		}
	}
	for _, tt := range []struct {
		what  string
		do    func()
		found bool
	}{
		{"nothing", func() {}, false},
		{"the first file is removed", func() { remove(logs[0]) }, true},
		{"the newest file is removed", func() { remove(logs[len(logs)-1]) }, true},
		{"all files are removed", func() { remove(logs...) }, true},
		{"all files and what they reached are removed", func() { remove(append(logs, reached)...) }, true},
		{"all files, what they reached and the votes are removed", func() { remove(append(logs, reached, votes)...) }, true},
		{"the votes are removed", func() { remove(votes) }, true},
		{"the log is removed", func() { remove(in) }, true},
		{"everything but what is committed is removed", func() { remove(filepath.Join(d.dir, diskDir)) }, true},
		{"everything but the snapshots is removed", func() { remove(in, filepath.Join(d.dir, committedFile)) }, true},
		{"the votes are cut", func() { put(votes, d.whole[votes][:20]) }, true},
		{"the votes are empty", func() { put(votes, nil) }, true},
		{"half of the votes is cut off", func() { put(votes, d.whole[votes][:len(d.whole[votes])/2]) }, false},
		{"what the log reached is removed", func() { remove(reached) }, true},
		{"what the log reached is empty", func() { put(reached, nil) }, true},
		{"what the log reached and the votes are swapped", func() { put(reached, d.whole[votes]); put(votes, d.whole[reached]) }, true},
		{"the first file is cut", func() { put(logs[0], d.whole[logs[0]][:900]) }, true},
		{"the newest file is cut", func() { put(logs[len(logs)-1], d.whole[logs[len(logs)-1]][:100]) }, true},
		{"the newest file is empty", func() { put(logs[len(logs)-1], nil) }, true},
		{"two files are swapped", func() { put(logs[0], d.whole[logs[1]]); put(logs[1], d.whole[logs[0]]) }, true},
		{"a file is there twice", func() { put(logs[1], d.whole[logs[0]]) }, true},
		{"a file is there once more", func() { put(filepath.Join(in, "0000000000000099.log"), d.whole[logs[0]]) }, true},
		{"a file has a copy", func() { put(logs[0]+".copy", d.whole[logs[0]]) }, false},
		{"the snapshot is removed", func() { remove(filepath.Dir(meta)) }, true},
		{"all snapshots are removed", func() { remove(filepath.Join(d.dir, diskDir, snapshotsDir)) }, true},
		{"the snapshot's data is removed", func() { remove(state[0]) }, true},
		{"the snapshot's data is cut", func() { put(state[0], []byte("the")) }, true},
		{"the snapshot's description is removed", func() { remove(meta) }, true},
		{"the snapshot's description is cut", func() { put(meta, d.whole[meta][:50]) }, true},
		{"description and data are swapped", func() { put(meta, d.whole[state[0]]); put(state[0], d.whole[meta]) }, true},
		{"what is committed is removed", func() { remove(filepath.Join(d.dir, committedFile)) }, false},
	} {
		tt.do()
		is := d.outcome(tt.what)
		require.Equal(t, tt.found, is != nil, "%s: %s", tt.what, is.is())
		if is != nil {
			require.Contains(t, is.is(), d.dir, "it says which file")
			require.DirExists(t, is.path)
			again, err := keepSmall(d.dir, true)
			require.NoError(t, err, "the next start finds a whole disk")
			require.Equal(t, is, again.damaged, "and says so until the files are removed")
			require.NoError(t, again.Release())
			require.NoError(t, os.RemoveAll(is.path))
			require.Empty(t, is.is())
		}
		d.restore()
	}
}

// TestMovingIsInterrupted: a process that ends while damaged files are moved leaves a directory that the next
// one moves on, wherever that was.
func TestMovingIsInterrupted(t *testing.T) {
	d := newDisky(t)
	aside := []string{committedFile, diskDir}
	for moved := range len(aside) + 1 {
		begun := filepath.Join(d.dir, damagedPrefix+moving)
		require.NoError(t, beginMoving(begun, &Damage{File: "a file", At: 7, Why: "it was flipped"}))
		for _, name := range aside[:moved] {
			require.NoError(t, os.Rename(filepath.Join(d.dir, name), filepath.Join(begun, name)))
		}
		is := d.outcome(fmt.Sprint(moved, " are moved"))
		require.Equal(t, "a file: damaged at the offset 7: it was flipped", is.is())
		for _, name := range aside {
			_, err := os.Stat(filepath.Join(is.path, name))
			require.NoError(t, err, name)
		}
		d.restore()
	}
}

// TestOthersMoveNothing: programs that look at a directory say what is damaged, and leave it as it is.
func TestOthersMoveNothing(t *testing.T) {
	d := newDisky(t)
	require.NoError(t, os.Remove(d.logs()[0]))
	_, err := keepSmall(d.dir, false)
	var bad *Damage
	require.ErrorAs(t, err, &bad)
	require.Contains(t, bad.Error(), ": damaged: the log begins with the entry ")
	require.DirExists(t, filepath.Join(d.dir, diskDir))
}

// TestNoGroupOfDamagedDisks: members with damaged disks form no new group, and others form none with them.
func TestNoGroupOfDamagedDisks(t *testing.T) {
	d := newDisky(t)
	require.NoError(t, os.Remove(d.logs()[0]))
	o, err := keepSmall(d.dir, true)
	require.NoError(t, err)
	h, err := o.Identity.Tell(raft.Peer{})
	require.NoError(t, err)
	require.NoError(t, o.Release())
	require.True(t, h.Empty, "the leader makes it a learner")
	h, err = decodeHello(h.encode())
	require.NoError(t, err)
	is := heardOf{Hello: h, peer: raft.Peer{ID: "a"}}
	require.Contains(t, is.unfit(nil), "had a disk that is damaged, and was in a group: "+o.damaged.is())
}
