package inspect

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/internal/checkhistory"
	"lockserver/server"
)

// TestPast: how a lock was held at times in the past, and the history as text and as lines.
func TestPast(t *testing.T) {
	t.Parallel()
	begin := time.UnixMilli(1_750_000_000_000)
	clock := server.NewManualClock(begin)
	srv, err := server.New(server.Options{Clock: clock})
	require.NoError(t, err)
	require.NoError(t, srv.Start())
	t.Cleanup(func() { _ = srv.Close() })
	w := world{srv, connect(t, srv, "", ""), client(t, srv)}
	at := func(ms int) time.Time { return begin.Add(time.Duration(ms) * time.Millisecond) }

	w.Do("LOCK", "order:1", "alice", "PX", "60000")
	clock.Advance(100 * time.Millisecond)
	w.wait(t, "order:1", "bob", "0")
	clock.Advance(400 * time.Millisecond)
	w.Do("UNLOCK", "order:1", "alice")
	clock.Advance(500 * time.Millisecond)

	then, err := w.seen.WhyAt("order:1", at(300))
	require.NoError(t, err)
	require.Len(t, then.Holders, 1)
	require.Len(t, then.Waiters, 1)
	require.Equal(t, "alice", then.Holders[0].Owner)
	require.Equal(t, "released", then.Holders[0].End)
	require.Equal(t, at(500).UnixMilli(), then.Holders[0].ToMS)
	require.Equal(t, "bob", then.Waiters[0].Owner)
	require.Equal(t, "granted", then.Waiters[0].End)
	var out bytes.Buffer
	then.Print(&out)
	require.Regexp(t, `held by   alice, token \d+, since .* \(300ms\), until .*: released, client \d+ at `, out.String())
	require.Contains(t, out.String(), "1. bob, since ")
	out.Reset()
	require.NoError(t, then.PrintJSON(&out))
	require.Contains(t, out.String(), `"owner": "alice"`)

	then, err = w.seen.WhyAt("order:1", at(700))
	require.NoError(t, err)
	require.Equal(t, "bob", then.Holders[0].Owner)
	require.Zero(t, then.Holders[0].ToMS)
	require.Empty(t, then.Waiters)
	then, err = w.seen.WhyAt("order:1", at(-500))
	require.NoError(t, err)
	require.Empty(t, then.Holders)
	out.Reset()
	then.Print(&out)
	require.Contains(t, out.String(), "the server knows what happened since")

	out.Reset()
	require.NoError(t, w.seen.PrintHistory(t.Context(), &out, Events{Key: "order:1", Count: 10}, false, false))
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	require.Len(t, lines, 5)
	require.Contains(t, lines[0], "events are known from here on (start)")
	require.Contains(t, lines[3], "released        order:1  alice  token")
	require.Contains(t, lines[3], "held 500ms")
	require.Contains(t, lines[4], "waited 400ms")
	out.Reset()
	require.NoError(t, w.seen.PrintHistory(t.Context(), &out, Events{Owner: "bob", Since: at(200), Until: at(900), Count: 10}, true, false))
	var c checkhistory.Checker
	require.NoError(t, checkhistory.Read(&out, c.Add))
	require.Equal(t, 1, c.Report().Events)

	w.Do("CONFIG", "SET", "lock-history-bytes", "0")
	_, err = w.seen.WhyAt("order:1", at(300))
	require.ErrorContains(t, err, "keeps no history")
	require.ErrorContains(t, w.seen.PrintHistory(t.Context(), &out, Events{Count: 1}, false, false), "keeps no history")
}

// lineWriter passes each line on.
type lineWriter chan string

func (l lineWriter) Write(p []byte) (int, error) {
	l <- strings.TrimSpace(string(p))
	return len(p), nil
}

// next waits for the next value of a channel.
func next[T any](t *testing.T, from <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-from:
	case <-time.After(30 * time.Second):
		require.FailNow(t, "nothing comes")
	}
	return v
}

// TestFollow: each new event comes exactly once, until the context ends.
func TestFollow(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Do("LOCK", "k", "a", "PX", "60000")
	ctx, stop := context.WithCancel(t.Context())
	lines, ended := make(lineWriter, 1000), make(chan error, 1)
	go func() { ended <- w.seen.PrintHistory(ctx, lines, Events{Key: "k", Count: 100}, false, true) }()
	require.Contains(t, next(t, lines), "from here on")
	require.Contains(t, next(t, lines), "granted")
	for i := range 5 {
		w.Do("LOCK", "other", "a")
		w.Do("RENEW", "k", "a", "PX", fmt.Sprint(60000+i))
	}
	for range 5 {
		require.Contains(t, next(t, lines), "renewed-by-hand k  a")
	}
	stop()
	require.NoError(t, next(t, ended))
	require.Empty(t, lines)
}

// TestFollowToTheEnd: all events before the end of the context are written, however many there are.
func TestFollowToTheEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx, stop := context.WithCancel(t.Context())
	lines, ended := make(lineWriter, 3*eventsPiece), make(chan error, 1)
	go func() { ended <- w.seen.PrintHistory(ctx, lines, Events{Count: 100}, false, true) }()
	require.Contains(t, next(t, lines), "from here on")
	for i := range eventsPiece + 10 {
		w.Do("LOCK", "k", "a", "PX", fmt.Sprint(60000+i))
		w.Do("UNLOCK", "k", "a")
	}
	stop()
	require.NoError(t, next(t, ended))
	require.Len(t, lines, 2*(eventsPiece+10))
}

// TestFollowWithAGap: if events were dropped before they were read, a line says so. Otherwise two grants
// without the release between them would look like a fault.
func TestFollowWithAGap(t *testing.T) {
	t.Parallel()
	begin := time.UnixMilli(1_750_000_000_000)
	clock := server.NewManualClock(begin)
	srv, err := server.New(server.Options{Clock: clock})
	require.NoError(t, err)
	require.NoError(t, srv.Start())
	t.Cleanup(func() { _ = srv.Close() })
	w := world{srv, connect(t, srv, "", ""), client(t, srv)}
	w.Do("CONFIG", "SET", "lock-history-bytes", "64kb")
	w.Do("LOCK", "k", "a", "PX", "60000")
	h, err := w.seen.history(&Events{Count: 100}, -1)
	require.NoError(t, err)
	w.Do("UNLOCK", "k", "a")
	for i := range 3000 {
		clock.Advance(time.Millisecond)
		w.Do("LOCK", fmt.Sprint("other:", i), "a", "PX", "60000")
	}
	w.Do("LOCK", "k", "b", "PX", "60000")
	ctx, stop := context.WithCancel(t.Context())
	stop()
	var seen []checkhistory.Line
	require.NoError(t, w.seen.follow(ctx, &Events{Count: 100}, w.seen.process(), &h, func(l *checkhistory.Line) error {
		seen = append(seen, *l)
		return nil
	}))
	require.Equal(t, checkhistory.Began, seen[0].Event)
	require.Equal(t, "full", seen[0].Reason)
	require.Equal(t, "k", seen[len(seen)-1].Key)
	var c checkhistory.Checker
	for _, l := range append(h.Lines, seen...) {
		c.Add(&l)
	}
	require.True(t, c.Report().OK())
}

func TestParseMoment(t *testing.T) {
	now := time.Date(2026, 11, 27, 15, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"14:03:22": time.Date(2026, 11, 27, 14, 3, 22, 0, time.UTC), "14:03": time.Date(2026, 11, 27, 14, 3, 0, 0, time.UTC),
		"10m": now.Add(-10 * time.Minute), "2026-11-26 01:02:03": time.Date(2026, 11, 26, 1, 2, 3, 0, time.UTC),
		"2026-11-26T01:02:03Z": time.Date(2026, 11, 26, 1, 2, 3, 0, time.UTC), "1795226239770": time.UnixMilli(1795226239770),
		"14:03:22.5": time.Date(2026, 11, 27, 14, 3, 22, 500_000_000, time.UTC),
	} {
		got, err := ParseMoment(text, now)
		require.NoError(t, err, text)
		require.True(t, want.Equal(got), "%s: %s", text, got)
	}
	for _, text := range []string{"", "noon", "25:00", "5"} {
		_, err := ParseMoment(text, now)
		require.Error(t, err, text)
	}
}

// TestTopOfSemaphores: for a semaphore with waiters the list shows how many permits are taken.
func TestTopOfSemaphores(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Do("SEM.ACQUIRE", "pool", "a", "LIMIT", "3", "PERMITS", "2", "PX", "60000")
	c := client(t, w.srv)
	c.Send("SEM.ACQUIRE", "pool", "b", "PERMITS", "2", "PX", "60000", "WAIT", "0")
	require.Eventually(t, func() bool { return w.waiting(t) == 1 }, 30*time.Second, time.Millisecond)
	var out bytes.Buffer
	require.NoError(t, w.seen.TopOnce(t.Context(), &out, 100*time.Millisecond))
	require.Regexp(t, `pool .* 2/3 +1 `, out.String())
}
