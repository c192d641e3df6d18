package server

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/tests/testkit"
)

// slowReader is a client that waits for many locks by one connection, and is to hear of the outcomes by
// another one. That is attached to its owners, or in version 2 of the protocol subscribed to their channels.
// It reads nothing.
type slowReader struct {
	t       *testing.T
	srv     *instance
	version int
	asker   *testkit.Client
	deaf    *testkit.Client
	id      int64 // of the deaf connection
	holder  *testkit.Client
	next    *testkit.Client // waits for the same locks, and reads
	asked   int             // locks so far
	most    int             // bytes of output that the server kept for the deaf connection
}

const (
	slowLimit = 256 << 10 // of client-output-buffer-limit
	slowName  = 16 << 10  // bytes of an owner's name, and about those of a push
	slowRound = 16        // locks
	// slowMost is how many locks it takes at most: what the system keeps for a connection is less.
	slowMost = 4096
)

// TestNotifySlowReaders: a client stops reading. It is disconnected when its output reaches its limit. The
// server keeps no more for it than that and what is on the way. Each of its grants passes on.
func TestNotifySlowReaders(t *testing.T) {
	t.Parallel()
	for _, version := range []int{2, 3} {
		t.Run(fmt.Sprint("version ", version), func(t *testing.T) {
			clock := NewManualClock(time.UnixMilli(1_750_000_000_000))
			o := Options{Clock: clock, Directives: map[string]string{"client-output-buffer-limit": fmt.Sprintf("pubsub %d 0 0", slowLimit)}}
			onEveryTransport(t, o, func(t *testing.T, srv *instance, dial func() (net.Conn, error)) {
				slowReaderOf(t, srv, dial, version).stopReading(clock)
			})
		})
	}
}

func slowReaderOf(t *testing.T, srv *instance, dial func() (net.Conn, error), version int) *slowReader {
	s := &slowReader{t: t, srv: srv, version: version, asker: testkit.Dial(t, dial), deaf: testkit.Dial(t, dial),
		holder: client(t, srv), next: client(t, srv)}
	s.next.Hello(3)
	s.deaf.Hello(version)
	s.id = s.deaf.Do("CLIENT", "ID").Int
	if version == 2 {
		s.deaf.Do("PSUBSCRIBE", "__lock__:slow reader*")
	} else {
		s.deaf.Do("LOCK.ATTACH", "PREFIX", "slow reader")
	}
	return s
}

// output is how much output the server keeps for the deaf connection; false: it has gone.
func (s *slowReader) output() (bytes int, connected bool) {
	s.srv.executor.look(func() {
		if of := s.srv.executor.clients[s.id]; of != nil {
			bytes, connected = of.outputBytes(), true
		}
	})
	return bytes, connected
}

func (s *slowReader) connected() bool {
	_, yes := s.output()
	return yes
}

// round makes the client wait for some locks, and another one behind it, and grants them.
func (s *slowReader) round() {
	var keys []string
	for range slowRound {
		key := "k" + strconv.Itoa(s.asked)
		require.Positive(s.t, s.holder.Do("LOCK", key, "holder").Int)
		owner := "slow reader" + key + strings.Repeat(".", slowName)
		require.Equal(s.t, "+QUEUED", s.asker.Do("LOCK", key, owner, "WAIT", "0", "NOTIFY").String())
		keys = append(keys, key)
		s.asked++
		require.Equal(s.t, "+QUEUED", s.next.Do("LOCK", key, "next", "WAIT", "0", "NOTIFY").String())
	}
	for _, key := range keys {
		require.EqualValues(s.t, 1, s.holder.Do("UNLOCK", key, "holder").Int)
		bytes, _ := s.output()
		s.most = max(s.most, bytes)
	}
}

func (s *slowReader) stopReading(clock *ManualClock) {
	t := s.t
	for s.connected() {
		require.Less(t, s.asked, slowMost, "it is still connected")
		s.round()
	}
	require.LessOrEqual(t, s.most, mostUnsent+slowLimit+slowRound*(slowName+1024))
	require.EqualValues(t, 1, infoNumber(t, s.holder, "client_output_buffer_limit_disconnections"))
	awaitClosedBehindOutput(t, s.deaf)

	require.Equal(t, "+OK", s.holder.Do("CONFIG", "SET", "client-output-buffer-limit", "pubsub 0 0 0").String()) // the next one reads
	require.EqualValues(t, s.asked, infoNumber(t, s.holder, "lock_grants_to_confirm"))
	clock.Advance(10*time.Second - time.Millisecond)
	require.EqualValues(t, s.asked, infoNumber(t, s.holder, "lock_grants_to_confirm"), "they are not passed on early")
	clock.Advance(time.Millisecond)
	require.EqualValues(t, s.asked, infoNumber(t, s.holder, "lock_unconfirmed_grants"))
	got := map[string]string{}
	for range s.asked {
		push := s.next.Receive()
		require.Equal(t, "lock-granted", push.Elems[0].Str, push.String())
		got[push.Elems[1].Str] = push.Elems[2].String()
	}
	require.Len(t, got, s.asked)
	for key, token := range got {
		require.EqualValues(t, 1, s.next.Do("LOCK.CONFIRM", key, "next", token).Int)
	}
	require.Zero(t, infoNumber(t, s.holder, "lock_grants_to_confirm"))
	clock.Advance(time.Minute)
	require.EqualValues(t, s.asked, s.holder.Do("DBSIZE").Int, "the next one holds all of them")
	require.Zero(t, s.srv.parked())
}

// awaitClosedBehindOutput reads what has arrived until the end of the connection.
func awaitClosedBehindOutput(t *testing.T, c *testkit.Client) {
	t.Helper()
	for {
		if _, err := c.Next(); err != nil {
			require.NotErrorIs(t, err, os.ErrDeadlineExceeded)
			return
		}
	}
}
