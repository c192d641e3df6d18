package server

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/config"
	"lockserver/tests/testkit"
)

// Under appendfsync always nothing is sent that is not on disk: no reply to a write, no reply that shows it
// to another client, no message about it.
func TestRepliesWaitForTheDisk(t *testing.T) {
	t.Parallel()
	onEveryLog(t, func(t *testing.T, w *logWorld) {
		writer, reader, listener := w.client(t), w.client(t), w.client(t)
		listener.Do("SUBSCRIBE", "news")
		require.Equal(t, "+OK", writer.Do("SET", "k", "old").String())
		w.disk.hold()
		writer.Send("SET", "k", "new")
		w.awaitHeld(t)
		nothingComes(t, writer)
		w.awaitPending(t, 1)
		reader.Send("GET", "k")
		nothingComes(t, reader)
		w.awaitPending(t, 2)
		writer.Send("PUBLISH", "news", "it is new")
		w.awaitPending(t, 3)
		nothingComes(t, writer, reader, listener)
		w.disk.release()
		require.Equal(t, "+OK", writer.Receive().String())
		require.Equal(t, "1", writer.Receive().String())
		require.Equal(t, "new", reader.Receive().Str)
		require.Equal(t, `it is new`, listener.Receive().Elems[2].Str)
		require.Equal(t, "new", reader.Do("GET", "k").Str)
	})
}

// The ticker knows whether replies wait: it sleeps between slices then.
func TestTickerKnowsThatRepliesWait(t *testing.T) {
	t.Parallel()
	onEveryLog(t, func(t *testing.T, w *logWorld) {
		c := w.client(t)
		c.Do("SET", "k", "1")
		require.False(t, w.srv.executor.Ticker.RepliesWait())
		w.disk.hold()
		c.Send("SET", "k", "2")
		w.awaitPending(t, 1)
		require.True(t, w.srv.executor.Ticker.RepliesWait())
		w.disk.release()
		require.Equal(t, "+OK", c.Receive().String())
		require.False(t, w.srv.executor.Ticker.RepliesWait())
	})
}

// A client goes on sending while its replies wait, and gets them in order. When too many replies wait, it has
// to wait.
func TestPipelineGoesOnWhileTheDiskIsSlow(t *testing.T) {
	t.Parallel()
	onEveryLog(t, func(t *testing.T, w *logWorld) {
		c := w.client(t)
		w.disk.hold()
		const n = 500
		for i := range n {
			c.Send("INCR", "n")
			if i%50 == 0 {
				c.Send("ECHO", strings.Repeat("x", 10_000))
			}
		}
		eventually(t, func() bool {
			w.srv.executor.Mu.Lock()
			defer w.srv.executor.Mu.Unlock()
			return string(w.srv.executor.Store.DB(0).Peek([]byte("n")).Bytes()) == strconv.Itoa(n)
		}, "all of it should run before the first sync")
		large := strings.Repeat("y", mostUnsent+1)
		c.Send("ECHO", large)
		c.Send("SET", "behind", "1")
		nothingComes(t, c)
		w.srv.executor.Mu.Lock()
		require.False(t, w.srv.executor.Store.DB(0).Peek([]byte("behind")).OK(), "a session with so much unsent output runs no further")
		w.srv.executor.Mu.Unlock()
		w.disk.release()
		for i := range n {
			require.Equal(t, int64(i+1), c.Receive().Int)
			if i%50 == 0 {
				require.Len(t, c.Receive().Str, 10_000)
			}
		}
		require.Len(t, c.Receive().Str, mostUnsent+1)
		require.Equal(t, "+OK", c.Receive().String())
	})
}

// A lock that goes to a waiter is its own only once that is on disk. If the waiter goes before it gets the
// reply, the next one gets the lock.
func TestGrantsWaitForTheDisk(t *testing.T) {
	t.Parallel()
	onEveryLog(t, func(t *testing.T, w *logWorld) {
		holder, second, third, timed := w.client(t), w.client(t), w.client(t), w.client(t)
		require.Positive(t, holder.Do("LOCK", "l", "first", "PX", "600000").Int)
		second.Send("LOCK", "l", "second", "PX", "600000", "WAIT", "0")
		awaitParked(t, w.srv, 1)
		third.Send("LOCK", "l", "third", "PX", "600000", "WAIT", "0")
		awaitParked(t, w.srv, 2)
		timed.Do("SET", "other", "x")
		w.disk.hold()
		holder.Send("UNLOCK", "l", "first")
		eventually(t, func() bool { return w.srv.parked() == 1 }, "the second is granted it")
		nothingComes(t, holder, second)
		w.awaitPending(t, 2)
		require.Equal(t, 1, w.srv.parked())
		nothingComes(t, holder, second)
		second.Close()
		awaitParked(t, w.srv, 0) // the third was granted it
		w.disk.release()
		require.Equal(t, int64(1), holder.Receive().Int)
		require.Positive(t, third.Receive().Int)
		require.Equal(t, "third", lockOwner(holder, "l"))
	})
}

// lockOwner returns the owner of a lock.
func lockOwner(c *testkit.Client, key string) string {
	for _, field := range c.Do("HKEYS", key).Elems {
		if field.Str[0] != '$' {
			return field.Str
		}
	}
	return ""
}

// A connection that is to be closed behind its reply is closed when that has left, and not before.
func TestQuitWaitsForTheDisk(t *testing.T) {
	t.Parallel()
	onEveryLog(t, func(t *testing.T, w *logWorld) {
		c := w.client(t)
		w.disk.hold()
		c.Send("SET", "k", "v")
		c.Send("QUIT")
		c.Send("SET", "k", "behind")
		w.awaitPending(t, 1)
		nothingComes(t, c)
		w.disk.release()
		require.Equal(t, "+OK", c.Receive().String())
		require.Equal(t, "+OK", c.Receive().String())
		awaitClosed(t, c.Conn())
		require.Equal(t, "v", w.client(t).Do("GET", "k").Str)
	})
}

// When the disk fails, the waiting clients never get their replies. Reads go on, writes are refused, and
// waiters get no lock that could not be kept. A rewrite of the log ends that.
func TestTheDiskFails(t *testing.T) {
	t.Parallel()
	onEveryLog(t, func(t *testing.T, w *logWorld) {
		c, reader, waiter := w.client(t), w.client(t), w.client(t)
		require.Equal(t, "+OK", c.Do("SET", "kept", "1").String())
		require.Positive(t, reader.Do("LOCK", "l", "me", "PX", "600000").Int)
		waiter.Send("LOCK", "l", "you", "PX", "600000", "WAIT", "0")
		awaitParked(t, w.srv, 1)
		w.disk.hold()
		c.Send("SET", "lost", "1")
		w.awaitPending(t, 1)
		w.awaitHeld(t)
		w.disk.set(func(d *testDisk) { d.failing, d.holding = true, false })
		awaitClosed(t, c.Conn())

		refused := "-MISCONF Errors writing to the AOF file: No space left on this test"
		eventually(t, func() bool { return reader.Do("SET", "k", "v").String() == refused }, "writes are refused")
		require.Equal(t, refused, reader.Do("UNLOCK", "l", "me").String())
		require.Equal(t, refused, reader.Do("PING").String())
		require.Equal(t, "1", reader.Do("GET", "kept").Str)
		require.Equal(t, "err", infoField(t, reader, "aof_last_write_status"))
		w.srv.executor.Do(func() { w.srv.executor.Store.DB(0).Delete([]byte("l")) }) // as if its lease were over
		require.Equal(t, 1, w.srv.parked())
		nothingComes(t, waiter)
		require.Equal(t, "+Background append only file rewriting started", reader.Do("BGREWRITEAOF").String())
		eventually(t, func() bool { return infoField(t, reader, "aof_last_bgrewrite_status") == "err" }, "the disk is full still")

		w.disk.set(func(d *testDisk) { d.failing = false })
		require.Equal(t, "+Background append only file rewriting started", reader.Do("BGREWRITEAOF").String())
		require.Positive(t, waiter.Receive().Int, "it is its turn as soon as the log is whole")
		require.Equal(t, "+OK", reader.Do("SET", "k", "v").String())
		require.Equal(t, "ok", infoField(t, reader, "aof_last_write_status"))
		w.disk.hold()
		reader.Send("SET", "k", "w")
		w.awaitPending(t, 1)
		nothingComes(t, reader)
		w.disk.release()
		require.Equal(t, "+OK", reader.Receive().String())
		want := testkit.ReadDataset(reader)
		require.NoError(t, w.srv.Close())
		again := start(t, Options{Directives: logged(w.dir, "always").Directives()})
		require.Empty(t, want.Diff(testkit.ReadDataset(client(t, again)), 0))
		require.Equal(t, "you", lockOwner(client(t, again), "l"))
	})
}

// With everysec no client waits for a sync, and a failure refuses writes all the same.
func TestEverySecDoesNotWait(t *testing.T) {
	t.Parallel()
	d := newTestDisk()
	srv := startOn(t, d, Options{Directives: logged(t.TempDir(), "everysec").Directives()})
	c := client(t, srv)
	d.hold()
	require.Equal(t, "+OK", c.Do("SET", "k", "v").String())
	require.Equal(t, "v", c.Do("GET", "k").Str)
	require.Equal(t, "[0 0]", c.Do("WAITAOF", "1", "0", "30").String())
	c.Send("WAITAOF", "1", "0", "0")
	awaitParked(t, srv, 1)
	d.release()
	require.Equal(t, "[1 0]", c.Receive().String())
	require.Equal(t, "[1 0]", c.Do("WAITAOF", "1", "0", "0").String())
	require.Equal(t, "[1 0]", c.Do("WAITAOF", "0", "1", "5").String())
	require.Equal(t, "[1 0]", client(t, srv).Do("WAITAOF", "1", "0", "0").String(), "who wrote nothing waits for nothing")
	d.set(func(d *testDisk) { d.failing = true })
	other := client(t, srv)
	c.Send("SET", "k", "v")
	awaitClosed(t, c.Conn())
	eventually(t, func() bool { return infoField(t, other, "aof_last_write_status") == "err" }, "it breaks")
	require.Contains(t, other.Do("SET", "k", "v").String(), "-MISCONF Errors writing")
	require.Equal(t, "-EXECABORT", strings.Fields(execSet(other))[0])
	require.NoError(t, srv.Close())
}

// execSet tries to write in a transaction.
func execSet(c *testkit.Client) string {
	c.Do("MULTI")
	c.Do("SET", "a", "b")
	return c.Do("EXEC").String()
}

// Replies that wait count as output that the client has not taken.
func TestPendingOutputIsBounded(t *testing.T) {
	t.Parallel()
	d := newTestDisk()
	cfg := logged(t.TempDir(), "always")
	cfg.ClientOutputBufferLimit.Normal = config.OutputLimit{HardBytes: 100_000}
	srv := startOn(t, d, Options{Directives: cfg.Directives()})
	c := client(t, srv)
	d.hold()
	c.Send("SET", "k", "v")
	for range 30 {
		_, _ = c.Conn().Write([]byte("ECHO " + strings.Repeat("x", 10_000) + "\r\n")) // it may be closed by now
	}
	awaitClosed(t, c.Conn())
	eventually(t, func() bool { return srv.connected() == 0 }, "it is closed")
}
