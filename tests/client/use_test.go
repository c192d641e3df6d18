package client_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/client"
	"lockserver/tests/testkit"
)

// logged is a logger with what it was given, a line each.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// logger is the setting that has a client log here.
func (l *logged) logger() client.Setting {
	return client.Logger(slog.New(slog.NewTextHandler(l, nil)))
}

// lines are those that have a word.
func (l *logged) lines(word string) (found []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.text.String()) {
		if strings.Contains(line, word) {
			found = append(found, line)
		}
	}
	return found
}

// forget acquires a lock and permits, and forgets both.
func forget(t *testing.T, c *client.Client) (lines [2]int) {
	_, _, line, _ := runtime.Caller(0)
	_, err := c.Lock(ctx, "k") // 1
	require.NoError(t, err)
	_, err = c.Semaphore("s", 1).Acquire(ctx) // 3
	require.NoError(t, err)
	return [2]int{line + 1, line + 3}
}

// TestForgottenHold: a lock that the program has forgotten stays held. The log has the place of its
// acquisition, once, and the age of the oldest hold rises.
func TestForgottenHold(t *testing.T) {
	_, n := start(t, time.Minute)
	var log logged
	c := n.client(t, log.logger())
	lines := forget(t, c)
	released, err := c.Lock(ctx, "released")
	require.NoError(t, err)
	require.NoError(t, released.Unlock(ctx))
	kept, err := c.Lock(ctx, "kept")
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		runtime.GC()
		return len(log.lines("was not released")) == 2
	}, time.Minute, time.Millisecond)
	for i, key := range []string{"k", "s"} {
		found := log.lines("key=" + key)
		require.Len(t, found, 1)
		require.Contains(t, found[0], fmt.Sprintf("use_test.go:%d", lines[i]))
		require.Contains(t, found[0], "level=WARN")
	}
	_, err = c.TryLock(ctx, "k")
	require.ErrorIs(t, err, client.ErrNotAcquired, "it stays held")
	s := c.Stats()
	require.Equal(t, 3, s.Held)
	require.Eventually(t, func() bool { return c.Stats().Oldest > s.Oldest }, time.Minute, time.Millisecond)
	require.NoError(t, kept.Unlock(ctx))
	runtime.GC()
	require.Empty(t, append(log.lines("key=released"), log.lines("key=kept")...))
}

// TestStats: what is held and what waits is counted, with the age of the oldest hold.
func TestStats(t *testing.T) {
	inBubble(t, func(t *testing.T, n *network, c *client.Client, op *testkit.Client) {
		require.Zero(t, c.Stats())
		l, err := c.MLock(ctx, []string{"a", "b"})
		require.NoError(t, err)
		time.Sleep(time.Hour)
		p, err := c.Semaphore("s", 2).Acquire(ctx, client.Permits(2))
		require.NoError(t, err)
		came := lockLater(ctx, c, "a")
		synctest.Wait()
		require.Equal(t, client.Stats{Held: 2, Waiting: 1, Oldest: time.Hour}, c.Stats())
		require.NoError(t, l.Unlock(ctx))
		next := <-came
		require.NoError(t, next.err)
		time.Sleep(time.Second)
		require.Equal(t, client.Stats{Held: 2, Oldest: time.Second}, c.Stats())
		op.Do("LOCK.FORCE", "a")
		ends(t, next.Lock)
		require.NoError(t, p.Release(ctx))
		synctest.Wait()
		require.Zero(t, c.Stats())
	})
}

// TestSaysWhatIsWrong: losses and disconnections are logged. Errors name the key, and the holder and its
// lease where they are known.
func TestSaysWhatIsWrong(t *testing.T) {
	inBubble(t, func(t *testing.T, n *network, other *client.Client, op *testkit.Client) {
		var log logged
		before := slog.Default()
		slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
		defer slog.SetDefault(before)
		c := n.client(t)
		held, err := c.Lock(ctx, "till", client.Lease(10*time.Minute))
		require.NoError(t, err)
		_, err = c.TryLock(ctx, "till")
		require.ErrorIs(t, err, client.ErrNotAcquired)
		for _, word := range []string{`"till"`, held.Owner(), "of this program", "lease of 10m0s", "use_test.go:"} {
			require.ErrorContains(t, err, word)
		}
		_, err = other.Lock(ctx, "till", client.Wait(time.Second))
		require.EqualError(t, err, `"till": another owner holds the lock`)
		op.Do("LOCK.FORCE", "till")
		lost := lossOf(t, ends(t, held))
		require.Equal(t, []any{held.Owner(), 10 * time.Minute}, []any{lost.Owner, lost.Lease})
		require.ErrorContains(t, lost, held.Owner()+", lease of 10m0s")
		synctest.Wait()
		require.Len(t, log.lines("a lock is lost"), 1)
		for _, word := range []string{"level=WARN", "key=till", "owner=" + held.Owner(), "reason=forced"} {
			require.Contains(t, log.lines("a lock is lost")[0], word)
		}
		again, err := c.Lock(ctx, "till")
		require.NoError(t, err)
		require.NoError(t, again.Unlock(ctx))
		require.ErrorContains(t, again.Unlock(ctx), `"till"`)
		require.Empty(t, log.lines("connection"), "to have connected is nothing to be said")
		n.breakSome(1)
		time.Sleep(time.Second)
		require.NotEmpty(t, log.lines("has ended"))
		require.Contains(t, log.lines("has ended")[0], "level=WARN")
		require.NotEmpty(t, log.lines("there again"))
		quiet := n.client(t, client.Logger(nil))
		l, err := quiet.Lock(ctx, "quiet")
		require.NoError(t, err)
		op.Do("LOCK.FORCE", "quiet")
		ends(t, l)
		synctest.Wait()
		require.Empty(t, log.lines("quiet"))
	})
}
