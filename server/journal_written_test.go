package server

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/tests/testkit"
)

// onEveryWrittenLog runs a test under the policies that do not wait for a sync, on each transport.
func onEveryWrittenLog(t *testing.T, test func(t *testing.T, w *logWorld)) {
	for _, fsync := range []string{"everysec", "no"} {
		t.Run(fsync, func(t *testing.T) { onLogsWith(t, fsync, test) })
	}
}

func (d *testDisk) holdWrites() { d.set(func(d *testDisk) { d.writing = true }) }

// Under each policy, bytes are sent only when the system has the write behind them. That counts for the
// reply to a write, for a reply that shows the write to another client, and for a message. It also counts
// for replies that are too long to wait for the end of a round.
func TestRepliesWaitForTheWrite(t *testing.T) {
	t.Parallel()
	onEveryWrittenLog(t, func(t *testing.T, w *logWorld) {
		writer, reader, listener := w.client(t), w.client(t), w.client(t)
		listener.Do("SUBSCRIBE", "news")
		large := strings.Repeat("x", 600_000)
		writer.Do("SET", "large", large)
		w.disk.holdWrites()
		_, err := writer.Conn().Write([]byte("SET k new\r\nGET large\r\nPUBLISH news fresh\r\n"))
		require.NoError(t, err)
		w.awaitHeld(t)
		reader.Send("GET", "k")
		nothingComes(t, writer, reader, listener)
		w.disk.release()
		require.Equal(t, "+OK", writer.Receive().String())
		require.Len(t, writer.Receive().Str, len(large))
		require.Equal(t, "1", writer.Receive().String())
		require.Equal(t, "new", reader.Receive().Str)
		require.Equal(t, "fresh", listener.Receive().Elems[2].Str)
	})
}

// A lock that goes to a waiter is its own only once the system has that.
func TestGrantsWaitForTheWrite(t *testing.T) {
	t.Parallel()
	onEveryWrittenLog(t, func(t *testing.T, w *logWorld) {
		holder, second := w.client(t), w.client(t)
		require.Positive(t, holder.Do("LOCK", "l", "first", "PX", "600000").Int)
		second.Send("LOCK", "l", "second", "PX", "600000", "WAIT", "0")
		awaitParked(t, w.srv, 1)
		w.disk.holdWrites()
		holder.Send("UNLOCK", "l", "first")
		w.awaitHeld(t)
		nothingComes(t, holder, second)
		w.disk.release()
		require.Equal(t, int64(1), holder.Receive().Int)
		require.Positive(t, second.Receive().Int)
	})
}

// The writes of an event loop's round go to the file together. Without loops the log writes whenever it has
// bytes, which happens often on a busy machine.
func TestARoundIsWrittenOnce(t *testing.T) {
	t.Parallel()
	onEveryWrittenLog(t, func(t *testing.T, w *logWorld) {
		if !w.rounds {
			return
		}
		c := w.client(t)
		c.Do("SET", "k", "v")
		var before int
		w.disk.set(func(d *testDisk) { before = d.writes })
		var sets [][]string
		for range 100 {
			sets = append(sets, []string{"SET", "k", "v"})
		}
		for _, v := range c.Pipeline(sets) {
			require.Equal(t, "+OK", v.String())
		}
		w.disk.set(func(d *testDisk) { require.LessOrEqual(t, d.writes-before, 10) })
	})
}

// A write that fails is never acknowledged, whatever the policy: who waits for the answer is disconnected.
func TestAWriteFails(t *testing.T) {
	t.Parallel()
	onEveryWrittenLog(t, func(t *testing.T, w *logWorld) {
		writer, reader, other := w.client(t), w.client(t), w.client(t)
		require.Equal(t, "+OK", writer.Do("SET", "k", "old").String())
		w.disk.holdWrites()
		writer.Send("SET", "k", "lost")
		w.awaitHeld(t)
		reader.Send("GET", "k")
		nothingComes(t, writer, reader)
		w.disk.set(func(d *testDisk) { d.failing, d.writing = true, false })
		awaitClosed(t, writer.Conn())
		eventually(t, func() bool { return infoField(t, other, "aof_last_write_status") == "err" }, "the log is broken")
		require.Contains(t, other.Do("SET", "k", "v").String(), "-MISCONF Errors writing to the AOF file: ")
		w.disk.set(func(d *testDisk) { d.failing = false })
		require.Equal(t, "+Background append only file rewriting started", other.Do("BGREWRITEAOF").String())
		eventually(t, func() bool { return other.Do("SET", "k", "kept").String() == "+OK" }, "the log is whole again")
		require.NoError(t, w.srv.Close())
		again := start(t, Options{Directives: logged(w.dir, "no").Directives()})
		require.Equal(t, "kept", client(t, again).Do("GET", "k").Str)
	})
}

// While the log's file changes replies wait, event loops do not; everything is there afterwards, in order.
func TestRepliesWaitWhileTheFileChanges(t *testing.T) {
	t.Parallel()
	onEveryWrittenLog(t, func(t *testing.T, w *logWorld) {
		c, other := w.client(t), w.client(t)
		rounds := testkit.Steps(20, 50)
		for i := range rounds {
			require.Equal(t, int64(4*i+1), c.Do("INCR", "n").Int)
			if i%10 == 0 {
				w.disk.hold() // the sync of the old file, before the new one is listed
				require.Equal(t, "+Background append only file rewriting started", other.Do("BGREWRITEAOF").String())
				c.Send("INCR", "n")
				other.Send("INCR", "n")
				if i == 0 {
					nothingComes(t, c, other)
				}
				w.disk.release()
			} else {
				c.Send("INCR", "n")
				other.Send("INCR", "n")
			}
			sum := c.Receive().Int + other.Receive().Int
			require.Equal(t, int64(8*i+5), sum)
			require.Equal(t, int64(4*i+4), c.Do("INCR", "n").Int)
			eventually(t, func() bool { return infoField(t, other, "aof_rewrite_in_progress") == "0" }, "the rewrite ends")
		}
		want := testkit.ReadDataset(c)
		require.NoError(t, w.srv.Close())
		again := client(t, start(t, Options{Directives: logged(w.dir, "no").Directives()}))
		require.Equal(t, strconv.Itoa(4*rounds), again.Do("GET", "n").Str)
		require.Empty(t, want.Diff(testkit.ReadDataset(again), 0))
	})
}
