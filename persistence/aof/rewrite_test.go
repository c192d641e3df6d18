package aof

import (
	"context"
	"errors"
	"io"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/tests/lossy"
)

func TestRewrite(t *testing.T) {
	files := lossy.New()
	l, _, _ := open(t, placeOn(files), newWatch().options(EverySec))
	l.Append(unit("SET a 1"))
	rw, err := l.BeginRewrite(true)
	require.NoError(t, err)
	_, err = l.BeginRewrite(true)
	require.ErrorIs(t, err, ErrRewriting)
	l.Append(unit("SET b 2"))
	require.NoError(t, rw.Run(snapshotOf("with a")))
	l.Append(unit("SET c 3"))
	names, err := files.List("log")
	require.NoError(t, err)
	require.Equal(t, []string{"a.aof.2.base.rdb", "a.aof.2.incr.aof", "a.aof.lock", "a.aof.manifest"}, names)

	rw, err = l.BeginRewrite(false)
	require.NoError(t, err)
	require.NoError(t, rw.Run(func(w io.Writer) error {
		_, err := io.WriteString(w, inFile("SET all 1"))
		return err
	}))
	require.Error(t, rw.Commit(), "it is over")
	rw.Abort()
	l.Append(unit("SET d 4"))
	require.NoError(t, l.Close())
	require.Equal(t, "file a.aof.3.base.aof seq 3 type b\nfile a.aof.3.incr.aof seq 3 type i\n", content(t, files, "log/a.aof.manifest"))
	in, _, err := load(t, placeOn(files), LoadOptions{})
	require.NoError(t, err)
	require.Equal(t, []string{"SET all 1", "SELECT 0", "SET d 4"}, in.got)
}

// TestAbortedRewrite: files accumulate, and no unit is lost.
func TestAbortedRewrite(t *testing.T) {
	files := lossy.New()
	l, _, _ := open(t, placeOn(files), newWatch().options(Always))
	l.Append(unit("SET a 1"))
	broken := errors.New("called off")
	for _, c := range []string{"SET b 2", "SET c 3"} {
		rw, err := l.BeginRewrite(true)
		require.NoError(t, err)
		l.Append(unit(c))
		require.ErrorIs(t, rw.Run(func(w io.Writer) error {
			_, _ = io.WriteString(w, "REDIS half")
			return broken
		}), broken)
	}
	require.NoError(t, l.Err())
	require.NoError(t, l.Close())
	names, err := files.List("log")
	require.NoError(t, err)
	require.Equal(t, []string{"a.aof.1.base.rdb", "a.aof.1.incr.aof", "a.aof.2.incr.aof", "a.aof.3.incr.aof", "a.aof.lock", "a.aof.manifest"}, names)
	in, _, err := load(t, placeOn(files), LoadOptions{})
	require.NoError(t, err)
	require.Equal(t, []string{"REDIS start", "SELECT 0", "SET a 1", "SELECT 0", "SET b 2", "SELECT 0", "SET c 3"}, in.got)
}

// TestRewriteCannotBegin: if the new file cannot be created, the old file stays in use, and only the rewrite
// has failed.
func TestRewriteCannotBegin(t *testing.T) {
	full := errors.New("no space left")
	for _, kind := range []lossy.Kind{lossy.Create, lossy.Rename, lossy.SyncDir} {
		files := lossy.New()
		w := newWatch()
		l, _, _ := open(t, placeOn(files), w.options(Always))
		l.Append(unit("SET a 1"))
		require.NoError(t, l.Sync(context.Background()))
		files.SetFaults(func(op lossy.Op) error {
			if op.Kind == kind {
				return full
			}
			return nil
		})
		rw, err := l.BeginRewrite(true)
		require.NoError(t, err)
		wait := l.Append(unit("SET b 2"))
		l.Flush()
		w.await(t, func() bool { return w.durable >= wait })
		require.ErrorIs(t, rw.Run(snapshotOf("never")), full, kind)
		require.NoError(t, l.Err())
		files.SetFaults(nil)
		l.Append(unit("SET c 3"))
		require.NoError(t, l.Close())
		in, _, err := load(t, placeOn(files), LoadOptions{})
		require.NoError(t, err)
		require.Equal(t, []string{"REDIS start", "SELECT 0", "SET a 1", "SELECT 0", "SET b 2", "SET c 3"}, in.got)
	}
}

// TestRewriteHeals: after a failure no unit counts before a new base contains all data in memory.
func TestRewriteHeals(t *testing.T) {
	files := lossy.New()
	w := newWatch()
	l, _, _ := open(t, placeOn(files), w.options(Always))
	l.Append(unit("SET a 1"))
	require.NoError(t, l.Sync(context.Background()))
	full := errors.New("no space left")
	noSpace := func(op lossy.Op) error {
		if op.Kind == lossy.Write {
			return full
		}
		return nil
	}
	files.SetFaults(noSpace)
	lost := l.Append(unit("SET b 2"))
	l.Flush()
	w.await(t, func() bool { return len(w.failed) == 1 })

	rw, err := l.BeginRewrite(true)
	require.NoError(t, err)
	l.Append(unit("SET early 1"))
	require.ErrorIs(t, rw.Run(snapshotOf("a b")), full, "still full")
	require.ErrorIs(t, l.Err(), full)
	require.Zero(t, l.Append(unit("SET dropped 1")))

	files.SetFaults(nil)
	rw, err = l.BeginRewrite(true)
	require.NoError(t, err)
	require.Zero(t, l.Append(unit("SET c 3")), "does not count yet")
	crashed := files.Crash(lossy.LoseNothing, nil)
	in, _, err := load(t, placeOn(crashed), LoadOptions{})
	require.NoError(t, err)
	require.Equal(t, []string{"REDIS start", "SELECT 0", "SET a 1"}, in.got, "before the new base is there, the rest is not")
	require.NoError(t, rw.Run(snapshotOf("a b")))
	require.NoError(t, l.Err())
	require.True(t, l.Active())
	require.GreaterOrEqual(t, l.Durable(), lost)
	wait := l.Append(unit("SET d 4"))
	require.Positive(t, wait)
	l.Flush()
	w.await(t, func() bool { return w.durable >= wait })

	in, _, err = load(t, placeOn(files.Crash(lossy.LoseAll, nil)), LoadOptions{})
	require.NoError(t, err)
	require.Equal(t, []string{"REDIS a b", "SELECT 0", "SET c 3", "SET d 4"}, in.got)
	require.Len(t, w.failed, 1)
	// The log can fail again, and reports it.
	files.SetFaults(noSpace)
	l.Append(unit("SET e 5"))
	l.Flush()
	w.await(t, func() bool { return len(w.failed) == 2 })
	files.SetFaults(nil)
	require.ErrorIs(t, l.Close(), full)
}

// TestLateFailureOfAnAbortedRewrite: a write of a rewrite fails, and the writer reports that only when the
// rewrite is aborted and the next has begun. The next rewrite loses nothing, and succeeds.
func TestLateFailureOfAnAbortedRewrite(t *testing.T) {
	files, w := lossy.New(), newWatch()
	failing, goOn := make(chan struct{}), make(chan struct{})
	o := w.options(Always)
	o.Warn = func(error) { // between the failed write and its report
		close(failing)
		<-goOn
	}
	l, _, _ := open(t, placeOn(files), o)
	full := errors.New("no space left")
	faulty := func(kinds ...lossy.Kind) {
		files.SetFaults(func(op lossy.Op) error {
			if slices.Contains(kinds, op.Kind) {
				return full
			}
			return nil
		})
	}
	faulty(lossy.Write)
	l.Append(unit("SET b 2"))
	l.Flush()
	w.await(t, func() bool { return len(w.failed) == 1 })

	faulty(lossy.Write, lossy.Truncate)
	rw, err := l.BeginRewrite(true)
	require.NoError(t, err)
	l.Append(unit("SET early 1"))
	<-failing
	require.ErrorIs(t, rw.Run(snapshotOf("b early")), full)
	faulty()
	rw, err = l.BeginRewrite(true)
	require.NoError(t, err)
	l.Append(unit("SET c 3"))
	close(goOn)
	require.NoError(t, rw.Run(snapshotOf("b early")))
	require.NoError(t, l.Err())
	l.Append(unit("SET d 4"))
	require.NoError(t, l.Close())
	in, _, err := load(t, placeOn(files), LoadOptions{})
	require.NoError(t, err)
	require.Equal(t, []string{"REDIS b early", "SELECT 0", "SET c 3", "SET d 4"}, in.got)
	require.Len(t, w.failed, 1)
}

// TestReplace turns a log on when the store has data and an earlier log has left files.
func TestReplace(t *testing.T) {
	files := lossy.New()
	l, _, _ := open(t, placeOn(files), newWatch().options(EverySec))
	l.Append(unit("SET old 1"))
	require.NoError(t, l.Close())

	d, err := OpenDir(placeOn(files))
	require.NoError(t, err)
	l, err = d.Replace(newWatch().options(Always))
	require.NoError(t, err)
	require.False(t, l.Active())
	require.Zero(t, l.Append(unit("SET early 1")), "no base holds it")
	rw, err := l.BeginRewrite(true)
	require.NoError(t, err)
	l.Append(unit("SET b 2"))
	require.NoError(t, rw.Run(snapshotOf("early")))
	require.True(t, l.Active())
	l.Append(unit("SET c 3"))
	require.NoError(t, l.Close())
	in, got, err := load(t, placeOn(files), LoadOptions{})
	require.NoError(t, err)
	require.Equal(t, []string{"REDIS early", "SELECT 0", "SET b 2", "SET c 3"}, in.got)
	require.Equal(t, 2, got.Files)
}

// TestReplaceCalledOff: an aborted Replace leaves the earlier log unchanged.
func TestReplaceCalledOff(t *testing.T) {
	files := lossy.New()
	d, err := OpenDir(placeOn(files))
	require.NoError(t, err)
	w := newWatch()
	l, err := d.Replace(w.options(Always))
	require.NoError(t, err)
	for range 2 {
		rw, err := l.BeginRewrite(true)
		require.NoError(t, err)
		l.Append(unit("SET b 2"))
		require.ErrorIs(t, rw.Run(func(io.Writer) error { return io.ErrClosedPipe }), io.ErrClosedPipe)
	}
	require.NoError(t, l.Close())
	_, got, err := load(t, placeOn(files), LoadOptions{})
	require.NoError(t, err)
	require.False(t, got.Exists)
	names, err := files.List("log")
	require.NoError(t, err)
	require.Equal(t, []string{"a.aof.lock"}, names)
	require.Empty(t, w.warned)
}

// TestTooSlowToReplace: a log that is not in effect cannot make clients wait, so it gives up before the
// memory is full.
func TestTooSlowToReplace(t *testing.T) {
	files := lossy.New()
	d, err := OpenDir(placeOn(files))
	require.NoError(t, err)
	o := newWatch().options(Always)
	o.MaxPending = 100
	l, err := d.Replace(o)
	require.NoError(t, err)
	gate := make(chan struct{})
	files.SetFaults(func(op lossy.Op) error {
		if op.Kind == lossy.Create {
			<-gate
		}
		return nil
	})
	rw, err := l.BeginRewrite(true)
	require.NoError(t, err)
	for range 10 {
		require.Zero(t, l.Append(unit("SET b 2")))
	}
	close(gate)
	require.ErrorIs(t, rw.Run(snapshotOf("x")), errTooSlow)
	require.NoError(t, l.Close())
}
