package server

import (
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/server/transport"
	"lockserver/tests/conversation"
	"lockserver/tests/testkit"
)

// A client that reads none of its pushes is disconnected when they are too much, and its grants pass on.
func TestNotifySlowReader(t *testing.T) {
	t.Parallel()
	const locks, limit = 60, 2000
	clock := NewManualClock(time.UnixMilli(1_750_000_000_000))
	srv := start(t, Options{Clock: clock, Directives: map[string]string{"client-output-buffer-limit": fmt.Sprintf("pubsub %d 0 0", limit)}})
	addr := &net.UnixAddr{Net: "unix"}
	slow, refused := srv.executor.open(nowhere{}, transport.Peer{Local: addr, Remote: addr})
	require.NotNil(t, slow, refused)
	var out batch
	slow.Feed(appendCommand(nil, "HELLO", "3"), &out, nil)
	slow.Feed(appendCommand(nil, "LOCK.ATTACH", "PREFIX", "slow reader"), &out, nil)
	holder, next := client(t, srv), client(t, srv)
	next.Hello(3)
	for i := range locks {
		key := fmt.Sprint("k", i)
		require.Positive(t, holder.Do("LOCK", key, "holder").Int)
		slow.Feed(appendCommand(nil, "LOCK", key, fmt.Sprint("slow reader", i), "WAIT", "0", "NOTIFY"), &out, nil)
		require.Equal(t, "+QUEUED", next.Do("LOCK", key, "next", "WAIT", "0", "NOTIFY").String())
	}
	goneAfter := -1
	for i := range locks {
		require.EqualValues(t, 1, holder.Do("UNLOCK", fmt.Sprint("k", i), "holder").Int)
		bytes, gone := 0, false
		srv.executor.look(func() { bytes, gone = slow.inbox.Bytes(), slow.Terminated })
		require.LessOrEqual(t, bytes, limit)
		if gone && goneAfter < 0 {
			goneAfter = i
		}
	}
	require.Greater(t, goneAfter, 10)
	require.Less(t, goneAfter, locks-10)
	require.Equal(t, "+OK", holder.Do("CONFIG", "SET", "client-output-buffer-limit", "pubsub 0 0 0").String()) // the next one reads
	clock.Advance(10 * time.Second)
	got := map[string]string{}
	for range locks {
		push := next.Receive()
		require.Equal(t, `"lock-granted"`, push.Elems[0].String(), push.String())
		got[push.Elems[1].Str] = push.Elems[2].String()
	}
	require.Len(t, got, locks)
	for key, token := range got {
		require.EqualValues(t, 1, next.Do("LOCK.CONFIRM", key, "next", token).Int)
	}
	clock.Advance(time.Minute)
	require.EqualValues(t, locks, holder.Do("DBSIZE").Int)
	require.EqualValues(t, locks, infoNumber(t, holder, "lock_unconfirmed_grants"))
	require.Zero(t, infoNumber(t, holder, "lock_grants_to_confirm"))
	require.Zero(t, slow.Queued.Count)
}

// A server that becomes a replica ends all waits: the queue is not a part of the data.
func TestNotifyFailover(t *testing.T) {
	t.Parallel()
	clock := NewManualClock(time.UnixMilli(1_750_000_000_000))
	srv := start(t, Options{Clock: clock, Directives: map[string]string{}})
	converse(t, srv, clock, srv.Dial, `
		A HELLO 3 -> `+conversation.Welcome+`
		C LOCK k c PX 100000000 -> token
		C LOCK l c PX 100000000 -> token
		A LOCK k a WAIT 60000 NOTIFY -> +QUEUED
		A LOCK l a WAIT 60000 NOTIFY -> +QUEUED
		C UNLOCK l c -> 1
		A <- granted l 1 a
		C REPLICAOF 127.0.0.1 1 -> +OK
		A <- >["lock-refused" "k" "failover" "a"]
		parked 0
		+20s
		A HEXISTS l a -> 1
		C REPLICAOF NO ONE -> +OK
		+1m
		A HEXISTS k c -> 1
		A EXISTS l -> 0
		A LOCK k a WAIT 0 NOTIFY -> +QUEUED`)
}

// Test mode: the clock of the tests fires all of it, and TEST.RESET leaves nothing of it.
func TestNotifyTestMode(t *testing.T) {
	t.Parallel()
	srv := start(t, Options{EventLoops: true, Seed: 5, Directives: map[string]string{"test-mode": "yes"}})
	c, other := testkit.Dial(t, overPort(srv)), testkit.Dial(t, overPort(srv))
	c.Hello(3)
	for range 2 {
		says(t, c, [][2]string{{"TEST.CLOCK FREEZE 4000000000000", "4000000000000"}, {"LOCK k c", "4000000000000000"}, {"LOCK k a WAIT 0 NOTIFY", "+QUEUED"},
			{"LOCK k b WAIT 10000 NOTIFY", "+QUEUED"}, {"LOCK k d WAIT 10001 NOTIFY", "+QUEUED"}, {"UNLOCK k c", "1"}})
		require.Equal(t, `>["lock-granted" "k" 4000000000000001 "a"]`, c.Receive().String())
		require.Equal(t, "4000000010000", other.Do("TEST.CLOCK", "ADVANCE", "10000").String())
		var got []string
		for range 3 {
			got = append(got, c.Receive().String())
		}
		require.ElementsMatch(t, []string{`>["lock-refused" "k" "unconfirmed" "a"]`, `>["lock-refused" "k" "timeout" "b"]`,
			`>["lock-granted" "k" 4000000010000000 "d"]`}, got)
		require.Equal(t, "+QUEUED", c.Do("LOCK", "k", "e", "WAIT", "10", "NOTIFY").String())
		says(t, c, [][2]string{{"TEST.RESET", "+OK"}, {"PING", "+PONG"}})
		require.Zero(t, infoNumber(t, other, "lock_waiters")+infoNumber(t, other, "lock_grants_to_confirm"))
	}
}

// LOCK.INFO and LOCK.WAITERS show waits that block no client, and what is to be confirmed until when.
func TestNotifyIsShown(t *testing.T) {
	t.Parallel()
	clock := NewManualClock(time.UnixMilli(1_750_000_000_000))
	srv := start(t, Options{Clock: clock, Directives: map[string]string{}})
	holder, a := client(t, srv), client(t, srv)
	a.Hello(3)
	holder.Do("LOCK", "k", "c")
	for _, owner := range []string{"a", "b"} {
		require.Equal(t, "+QUEUED", a.Do("LOCK", "k", owner, "WAIT", "60000", "NOTIFY").String())
	}
	require.EqualValues(t, 2, infoNumber(t, holder, "lock_waiters_notify"))
	require.Zero(t, infoNumber(t, holder, "blocked_clients"))
	waiter := `"waiting-since":1750000000000 "deadline":1750000060000 "notify":#t`
	waiters := a.Do("LOCK.WAITERS").String()
	require.Equal(t, 2, strings.Count(waiters, waiter), waiters)
	holder.Do("UNLOCK", "k", "c")
	require.Contains(t, a.Receive().String(), "lock-granted")
	require.EqualValues(t, 1, infoNumber(t, holder, "lock_grants_to_confirm"))
	info := a.Do("LOCK.INFO", "k").String()
	require.Contains(t, info, `"confirm-by":1750000010000`)
	require.Contains(t, info, waiter)
	before := srv.connected()
	a.Close()
	eventually(t, func() bool { return srv.connected() < before }, "the client is gone")
	shown := client(t, srv)
	shown.Hello(3)
	require.Contains(t, shown.Do("LOCK.WAITERS").String(), `"owner":"b" "client":nil "waiting-since"`)
	require.EqualValues(t, 1, holder.Do("RENEW", "k", "a").Int)
	require.NotContains(t, shown.Do("LOCK.INFO", "k").String(), "confirm-by")
}
