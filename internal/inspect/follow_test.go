package inspect

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/internal/checkhistory"
	"lockserver/server"
	"lockserver/tests/testkit"
)

// lineSink passes the lines on, as they are.
type lineSink chan checkhistory.Line

func (l lineSink) Write(p []byte) (int, error) {
	return len(p), checkhistory.Read(bytes.NewReader(p), func(line *checkhistory.Line) { l <- *line })
}

// begin starts a server at the address of an earlier server.
func begin(t *testing.T, o server.Options) *server.Server {
	t.Helper()
	var srv *server.Server
	require.Eventually(t, func() (ok bool) {
		var err error
		srv, err = server.New(o)
		require.NoError(t, err)
		if err = srv.Start(); err != nil { // the address is not free yet
			_ = srv.Close()
		}
		return err == nil
	}, 30*time.Second, 10*time.Millisecond)
	return srv
}

// TestFollowGoesOnAfterARestart: the server restarts, and counts its events from 1 again. The follower gets
// every event, after a line that says which events may be missing.
func TestFollowGoesOnAfterARestart(t *testing.T) {
	t.Parallel()
	for _, before := range []int{1, 5} { // fewer and more events than afterwards
		t.Run(fmt.Sprint(before), func(t *testing.T) {
			t.Parallel()
			clock := server.NewManualClock(time.UnixMilli(1_750_000_000_000))
			addr := "127.0.0.1:" + testkit.FreePort(t)
			srv := begin(t, server.Options{Clock: clock, Addr: addr})
			c := client(t, srv)
			ctx, stop := context.WithCancel(t.Context())
			lines, ended, lost := make(lineSink, 1000), make(chan error, 1), make(chan error, 1000)
			s := connect(t, srv, "", "")
			go func() {
				ended <- s.PrintHistory(ctx, lines, Events{Count: 100, Lost: func(err error) { lost <- err }}, true, true)
			}()
			require.Equal(t, checkhistory.Began, next(t, lines).Event)
			clock.Advance(time.Second)
			for range before {
				c.Do("LOCK", "k", "a", "PX", "600000")
				require.Equal(t, "granted", next(t, lines).Event)
			}
			require.NoError(t, srv.Close())
			require.Error(t, next(t, lost))
			clock.Advance(time.Minute)
			srv = begin(t, server.Options{Clock: clock, Addr: addr})
			c = client(t, srv)
			for _, owner := range []string{"b", "c", "d"} {
				c.Do("LOCK", "k-"+owner, owner, "PX", "600000")
			}
			again := next(t, lines)
			require.Equal(t, checkhistory.Line{Event: checkhistory.Began, Reason: "start", TimeMS: 1_750_000_061_000, MissingFromMS: 1_750_000_001_000}, again)
			require.Contains(t, eventText(&again), "events are known from here on (start); some since ")
			for _, owner := range []string{"b", "c", "d"} {
				require.Equal(t, owner, next(t, lines).Owner)
			}
			stop()
			require.NoError(t, next(t, ended))
			require.Empty(t, lines)
			require.NoError(t, srv.Close())
		})
	}
}

// TestFollowGoesOnWhenTheConnectionBreaks: the same server has its events in order, and nothing is missing.
func TestFollowGoesOnWhenTheConnectionBreaks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx, stop := context.WithCancel(t.Context())
	lines, ended, lost := make(lineWriter, 1000), make(chan error, 1), make(chan error, 1000)
	go func() {
		ended <- w.seen.PrintHistory(ctx, lines, Events{Count: 100, Lost: func(err error) { lost <- err }}, false, true)
	}()
	require.Contains(t, next(t, lines), "from here on")
	w.Do("LOCK", "k", "a", "PX", "60000")
	require.Contains(t, next(t, lines), "granted")
	for _, fields := range strings.Fields(w.Do("CLIENT", "LIST").Str) {
		if id, is := strings.CutPrefix(fields, "id="); is && id != w.Do("CLIENT", "ID").String() {
			w.Do("CLIENT", "KILL", "ID", id, "SKIPME", "yes")
		}
	}
	require.Error(t, next(t, lost))
	w.Do("UNLOCK", "k", "a")
	require.Contains(t, next(t, lines), "released")
	stop()
	require.NoError(t, next(t, ended))
	require.Empty(t, lines)
}

// TestFollowEndsWhenItIsRefused: the follower ends if the server refuses the user. If no server answers, the
// follower goes on until a signal comes.
func TestFollowEndsWhenItIsRefused(t *testing.T) {
	t.Parallel()
	clock := server.NewManualClock(time.UnixMilli(1_750_000_000_000))
	srv := begin(t, server.Options{Clock: clock})
	s := connect(t, srv, "", "")
	ctx, stop := context.WithCancel(t.Context())
	lines, ended, lost := make(lineWriter, 1000), make(chan error, 1), make(chan error, 1000)
	go func() {
		ended <- s.PrintHistory(ctx, lines, Events{Count: 100, Lost: func(err error) { lost <- err }}, false, true)
	}()
	require.Contains(t, next(t, lines), "from here on")
	addr := srv.Addr().String()
	require.NoError(t, srv.Close())
	require.Error(t, next(t, lost))
	again := begin(t, server.Options{Clock: clock, Addr: addr, RequirePass: "secret"})
	require.ErrorContains(t, next(t, ended), "NOAUTH")
	require.NoError(t, again.Close())
	stop()

	l, err := net.Listen("tcp", "127.0.0.1:0") // no server answers there
	require.NoError(t, err)
	addr = l.Addr().String()
	require.NoError(t, l.Close())
	srv = begin(t, server.Options{Clock: clock})
	s = connect(t, srv, "", "")
	s.options.Addr = addr
	ctx, stop = context.WithCancel(t.Context())
	go func() {
		ended <- s.PrintHistory(ctx, lines, Events{Count: 100, Lost: func(err error) { lost <- err }}, false, true)
	}()
	require.Contains(t, next(t, lines), "from here on")
	require.NoError(t, srv.Close())
	require.Error(t, next(t, lost))
	stop()
	require.NoError(t, next(t, ended))
}
