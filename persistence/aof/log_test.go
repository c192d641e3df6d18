package aof

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/persistence/disk"
	"lockserver/store"
	"lockserver/tests/lossy"
)

func TestWhatIsAppendedIsLoaded(t *testing.T) {
	for _, p := range []Policy{Always, EverySec, No} {
		t.Run(p.String(), func(t *testing.T) {
			files := lossy.New()
			w := newWatch()
			l, in, got := open(t, placeOn(files), w.options(p))
			require.False(t, got.Exists)
			require.Empty(t, in.got)
			require.True(t, l.Active())

			l.Append(unit("SET a 1"))
			l.Append([]store.Effect{effect(3, "SET b 2"), effect(3, "DEL c"), effect(0, "SET d 4")})
			l.Flush()
			want := l.Appended()
			w.await(t, func() bool { return w.durable == want })
			require.NoError(t, l.Close())

			_, in, got = open(t, placeOn(files), newWatch().options(p))
			require.Equal(t, []string{"REDIS start", "SELECT 0", "SET a 1", "SELECT 3", "SET b 2", "DEL c", "SELECT 0", "SET d 4"}, in.got)
			require.True(t, got.Exists)
			require.Equal(t, 2, got.Files)
			require.EqualValues(t, 7, got.Commands)
			require.EqualValues(t, 3, got.Units) // SELECT counts as a unit
			require.Nil(t, got.Cut)
		})
	}
}

// TestFormat compares the files with the files that Redis 7.0 writes for the same commands.
func TestFormat(t *testing.T) {
	files := lossy.New()
	o := newWatch().options(Always)
	o.NowMS = func() int64 { return 1_700_000_000_123 }
	l, _, _ := open(t, placeOn(files), o)
	l.SetTimestamps(true)
	l.Append(unit("SET a 1"))
	l.Append(unit("SET a 22", "DEL b"))
	require.NoError(t, l.Close())
	require.Equal(t, "file a.aof.1.base.rdb seq 1 type b\nfile a.aof.1.incr.aof seq 1 type i\n", content(t, files, "log/a.aof.manifest"))
	require.Equal(t, "#TS:1700000000\r\n"+
		"*2\r\n$6\r\nSELECT\r\n$1\r\n0\r\n*3\r\n$3\r\nSET\r\n$1\r\na\r\n$1\r\n1\r\n"+
		"*1\r\n$5\r\nMULTI\r\n*3\r\n$3\r\nSET\r\n$1\r\na\r\n$2\r\n22\r\n*2\r\n$3\r\nDEL\r\n$1\r\nb\r\n*1\r\n$4\r\nEXEC\r\n",
		content(t, files, "log/a.aof.1.incr.aof"))
}

// TestAlwaysWaitsForTheSync: a position is reported only after a sync that began after its bytes were
// written.
func TestAlwaysWaitsForTheSync(t *testing.T) {
	files := lossy.New()
	w := newWatch()
	l, _, _ := open(t, placeOn(files), w.options(Always))
	require.Zero(t, l.Position())
	gate := make(chan struct{})
	syncs := make(chan struct{}, 16)
	files.SetFaults(func(op lossy.Op) error {
		if op.Kind == lossy.Sync {
			syncs <- struct{}{}
			<-gate
		}
		return nil
	})
	first := l.Append(unit("SET a 1"))
	require.Positive(t, first)
	l.Flush()
	<-syncs
	require.Zero(t, l.Durable())
	require.Equal(t, first, l.Position(), "a read may tell of what is not durable")
	// All units that arrive during a sync are covered by the next sync.
	var last int64
	for i := range 10 {
		last = l.Append(unit(fmt.Sprintf("SET b %d", i)))
		l.Flush()
	}
	gate <- struct{}{}
	<-syncs
	require.Equal(t, first, l.Durable())
	gate <- struct{}{}
	w.await(t, func() bool { return w.durable == last })
	require.Empty(t, syncs)
	files.SetFaults(nil)
	require.NoError(t, l.Close())
}

// TestWriterRunsNext: with one processor, Flush gives the processor to the writer. So the writer does not
// wait for an event loop that goes to sleep in the system and keeps the processor. Now and then the scheduler
// chooses another goroutine.
func TestWriterRunsNext(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	files := lossy.New()
	w := newWatch()
	l, _, _ := open(t, placeOn(files), w.options(Always))
	var writes atomic.Int64
	files.SetFaults(func(op lossy.Op) error {
		if op.Kind == lossy.Write {
			writes.Add(1)
		}
		return nil
	})
	const n = 200
	begun := 0
	for range n {
		for !l.sleeping.Load() {
			runtime.Gosched()
		}
		before := writes.Load()
		end := l.Append(unit("SET a 1"))
		l.Flush()
		if writes.Load() > before {
			begun++
		}
		w.await(t, func() bool { return w.durable == end })
	}
	require.Greater(t, begun, n/2)
	require.NoError(t, l.Close())
}

// TestEverySecDoesNotWait: replies are sent when the system has the bytes of their units, and a sync follows.
func TestEverySecDoesNotWait(t *testing.T) {
	files := lossy.New()
	w := newWatch()
	l, _, _ := open(t, placeOn(files), w.options(EverySec))
	end := l.Append(unit("SET a 1"))
	require.Equal(t, l.Appended(), end)
	require.Equal(t, end, l.Position())
	require.False(t, l.Waits())
	require.True(t, l.Write(end))
	require.Equal(t, end, l.Durable())
	require.Equal(t, inFile("SELECT 0", "SET a 1"), content(t, files, "log/a.aof.1.incr.aof"))
	w.await(t, func() bool { return w.synced == end })
	require.Equal(t, end, l.Synced())
	require.NoError(t, l.Close())
}

func TestPolicyChanges(t *testing.T) {
	w := newWatch()
	l, _, _ := open(t, placeOn(lossy.New()), w.options(No))
	end := l.Append(unit("SET a 1"))
	l.Flush()
	require.Equal(t, end, l.Durable())
	require.Zero(t, l.Synced())
	l.SetPolicy(Always)
	require.Equal(t, end, l.Position())
	require.True(t, l.Waits())
	w.await(t, func() bool { return w.synced == end })
	l.SetPolicy(EverySec)
	require.False(t, l.Waits())
	require.Equal(t, EverySec, l.Policy())
	require.NoError(t, l.Close())
}

func TestSync(t *testing.T) {
	l, _, _ := open(t, placeOn(lossy.New()), newWatch().options(No))
	l.Append(unit("SET a 1"))
	require.NoError(t, l.Sync(context.Background()))
	require.Equal(t, l.Appended(), l.Synced())
	require.NoError(t, l.Sync(context.Background()), "nothing to do")
	require.NoError(t, l.Close())
	require.ErrorIs(t, l.Close(), ErrClosed)
	require.Zero(t, l.Append(unit("SET a 1")), "is dropped")
}

// TestWriterWritesTheRest: units without a sent reply are written, too.
func TestWriterWritesTheRest(t *testing.T) {
	w := newWatch()
	l, _, _ := open(t, placeOn(lossy.New()), w.options(No))
	for range 3 {
		end := l.Append(unit("SET a 1"))
		l.Wake()
		w.await(t, func() bool { return w.durable == end })
	}
	require.NoError(t, l.Close())
}

// TestWriteWhileTheFileChanges: units appended before a rewrite go into the old file, whichever goroutine
// writes them. Later units wait, and no writing goroutine waits for the change.
func TestWriteWhileTheFileChanges(t *testing.T) {
	files := lossy.New()
	w := newWatch()
	o := w.options(No)
	o.Gather = patience
	l, _, _ := open(t, placeOn(files), o)
	gate, reached := make(chan struct{}), make(chan struct{}, 1)
	files.SetFaults(func(op lossy.Op) error {
		if op.Kind == lossy.Sync {
			select {
			case reached <- struct{}{}:
			default:
			}
			<-gate
		}
		return nil
	})
	before := l.Append(unit("SET a 1"))
	require.False(t, l.Waits())
	rw, err := l.BeginRewrite(true)
	require.NoError(t, err)
	require.True(t, l.Waits())
	after := l.Append(unit("SET a 2"))
	require.True(t, l.Write(before))
	<-reached
	l.Flush()
	require.False(t, l.Write(after), "it has to wait for the writer")
	close(gate)
	require.Equal(t, inFile("SELECT 0", "SET a 1"), content(t, files, "log/a.aof.1.incr.aof"))
	require.NoError(t, rw.Run(snapshotOf("new")))
	w.await(t, func() bool { return w.durable == after })
	require.Equal(t, inFile("SELECT 0", "SET a 2"), content(t, files, "log/a.aof.2.incr.aof"))
	require.False(t, l.Waits())
	last := l.Append(unit("SET a 3"))
	require.True(t, l.Write(last))
	require.NoError(t, l.Close())
}

// TestManyWrite: with several writing goroutines each unit is in the file exactly once, in order, also while
// the file changes.
func TestManyWrite(t *testing.T) {
	files := lossy.New()
	l, _, _ := open(t, placeOn(files), newWatch().options(EverySec))
	var appending sync.Mutex
	var writers sync.WaitGroup
	n := 0
	for range 4 {
		writers.Go(func() {
			for range 200 {
				appending.Lock()
				n++
				end := l.Append(unit(fmt.Sprintf("RPUSH l %d", n)))
				if n%100 == 50 {
					rw, err := l.BeginRewrite(true)
					require.NoError(t, err)
					rw.Abort()
				}
				waits := l.Waits()
				appending.Unlock()
				if waits {
					l.Flush()
				} else {
					require.True(t, l.Write(end))
				}
			}
		})
	}
	writers.Wait()
	require.NoError(t, l.Close())
	_, in, _ := open(t, placeOn(files), newWatch().options(EverySec))
	var got, want []string
	for _, line := range in.got {
		if strings.HasPrefix(line, "RPUSH") {
			got = append(got, line)
		}
	}
	for i := range n {
		want = append(want, fmt.Sprintf("RPUSH l %d", i+1))
	}
	require.Equal(t, want, got)
}

func TestDirectoryIsLocked(t *testing.T) {
	for name, files := range map[string]disk.FS{"memory": lossy.New(), "system": disk.OS{}} {
		t.Run(name, func(t *testing.T) {
			p := placeOn(files)
			if name == "system" {
				p.Dir = t.TempDir()
			}
			l, _, _ := open(t, p, newWatch().options(EverySec))
			_, err := OpenDir(p)
			require.ErrorIs(t, err, disk.ErrLocked)
			require.NoError(t, l.Close())
			d, err := OpenDir(p)
			require.NoError(t, err)
			require.NoError(t, d.Close())
		})
	}
}

func TestContinueComesAfterLoad(t *testing.T) {
	d, err := OpenDir(placeOn(lossy.New()))
	require.NoError(t, err)
	_, err = d.Continue(Options{}, snapshotOf("x"))
	require.ErrorIs(t, err, errNotRead)
	_, err = d.Load(&lines{}, LoadOptions{})
	require.NoError(t, err)
	broken := errors.New("no snapshot")
	_, err = d.Continue(Options{}, func(io.Writer) error { return broken })
	require.ErrorIs(t, err, broken)
	l, err := d.Continue(Options{}, snapshotOf("x"))
	require.NoError(t, err)
	require.NoError(t, l.Close())
}

// TestWriteFails: the error latches, replies do not wait any more, and the file ends with a whole unit.
func TestWriteFails(t *testing.T) {
	for _, p := range []Policy{Always, EverySec} {
		files := lossy.New()
		w := newWatch()
		l, _, _ := open(t, placeOn(files), w.options(p))
		wait := l.Append(unit("SET a 1"))
		require.NoError(t, l.Sync(context.Background()))
		full := errors.New("no space left")
		files.SetFaults(func(op lossy.Op) error {
			if op.Kind == lossy.Write {
				return &lossy.Short{Bytes: len(inFile("SET a 2")) + 5, Err: full}
			}
			return nil
		})
		l.Append(unit("SET a 2"))
		l.Append(unit("SET a 3"))
		l.Flush()
		w.await(t, func() bool { return len(w.failed) == 1 })
		require.ErrorIs(t, w.failed[0], full)
		require.ErrorIs(t, l.Err(), full)
		require.Zero(t, l.Position(), "reads go on")
		require.Zero(t, l.Append(unit("SET a 4")))
		require.False(t, l.Active())
		require.ErrorIs(t, l.Sync(context.Background()), full)
		if p == Always {
			require.Equal(t, wait, l.Durable())
		}
		files.SetFaults(nil)
		require.ErrorIs(t, l.Close(), full)
		in, got, err := load(t, placeOn(files), LoadOptions{})
		require.NoError(t, err, "nothing to cut off: %s", content(t, files, "log/a.aof.1.incr.aof"))
		require.Nil(t, got.Cut)
		require.Equal(t, []string{"REDIS start", "SELECT 0", "SET a 1", "SET a 2"}, in.got)
	}
}

func TestSyncFails(t *testing.T) {
	for _, p := range []Policy{Always, EverySec} {
		files := lossy.New()
		w := newWatch()
		l, _, _ := open(t, placeOn(files), w.options(p))
		bad := errors.New("input/output error")
		failing := 1
		files.SetFaults(func(op lossy.Op) error {
			if op.Kind == lossy.Sync && failing > 0 {
				failing--
				return bad
			}
			return nil
		})
		l.Append(unit("SET a 1"))
		l.Flush()
		w.await(t, func() bool { return len(w.failed) == 1 })
		require.ErrorIs(t, l.Err(), bad)
		require.ErrorIs(t, l.Close(), bad)
		require.Zero(t, l.Synced())
	}
}

func TestStats(t *testing.T) {
	files := lossy.New()
	l, _, _ := open(t, placeOn(files), newWatch().options(Always))
	start := l.Stats()
	require.EqualValues(t, len("REDIS start."), start.Bytes)
	require.Equal(t, start.Bytes, start.StartBytes)
	l.Append(unit("SET a 1"))
	require.Equal(t, start.Bytes+l.Appended(), l.Stats().Bytes)
	require.NoError(t, l.Sync(context.Background()))
	st := l.Stats()
	require.Zero(t, st.Pending)
	require.Equal(t, start.Bytes+l.Appended(), st.Bytes)
	rw, err := l.BeginRewrite(true)
	require.NoError(t, err)
	require.NoError(t, rw.Run(snapshotOf("short")))
	require.EqualValues(t, len("REDIS short."), l.Stats().Bytes)
	require.Equal(t, l.Stats().Bytes, l.Stats().StartBytes)
	require.NoError(t, l.Close())
}

// TestCloseWaitsForTheRewrite: no file of a log is touched after its lock was released.
func TestCloseWaitsForTheRewrite(t *testing.T) {
	files := lossy.New()
	l, _, _ := open(t, placeOn(files), newWatch().options(Always))
	rw, err := l.BeginRewrite(true)
	require.NoError(t, err)
	begun, finish, ran := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		ran <- rw.Run(func(w io.Writer) error {
			close(begun)
			<-finish
			return snapshotOf("late")(w)
		})
	}()
	<-begun
	closed := make(chan error, 1)
	go func() { closed <- l.Close() }()
	select {
	case <-closed:
		require.FailNow(t, "closed under a rewrite")
	case <-time.After(20 * time.Millisecond): // gives a fault some time to show
	}
	close(finish)
	require.ErrorIs(t, <-ran, ErrClosed)
	require.NoError(t, <-closed)
	_, in, _ := open(t, placeOn(files), newWatch().options(Always))
	require.Equal(t, []string{"REDIS start"}, in.got)
}
