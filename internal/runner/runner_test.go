package runner

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/internal/call"
	"lockserver/internal/inspect"
	"lockserver/internal/resp"
	"lockserver/lockservertest"
)

func TestOptions(t *testing.T) {
	ok := func() *Options { return &Options{Key: "k", Command: []string{"true"}} }
	o := ok()
	require.NoError(t, o.Check())
	require.Equal(t, []time.Duration{30 * time.Second, 10 * time.Second, 0, 3 * time.Second},
		[]time.Duration{o.Lease, o.Grace, o.Keep, o.margin()})
	o = ok()
	o.Lease, o.Tick = 3*time.Second, time.Hour
	require.NoError(t, o.Check())
	require.Equal(t, []time.Duration{time.Second, 2 * time.Hour, 300 * time.Millisecond}, []time.Duration{o.Grace, o.Keep, o.margin()})
	for want, change := range map[string]func(*Options){
		"--key":                     func(o *Options) { o.Key = "" },
		"command":                   func(o *Options) { o.Command = nil },
		"--limit":                   func(o *Options) { o.Limit = -1 },
		"--lease":                   func(o *Options) { o.Lease = time.Millisecond },
		"--grace":                   func(o *Options) { o.Grace = 20 * time.Second },
		"--wait":                    func(o *Options) { o.Wait = -1 },
		"--tick":                    func(o *Options) { o.Tick = time.Millisecond },
		"--keep needs --tick":       func(o *Options) { o.Keep = time.Hour },
		"the tick could run twice":  func(o *Options) { o.Tick, o.Keep = time.Hour, time.Minute },
		"a duration is 8760h0m0s a": func(o *Options) { o.Wait = 2 * maxDuration },
	} {
		o := ok()
		change(o)
		require.ErrorContains(t, o.Check(), want)
	}
}

// TestCommands of a lock and of a semaphore.
func TestCommands(t *testing.T) {
	lock := claim{key: "k", owner: "me", lease: 30 * time.Second}
	require.Equal(t, []string{"LOCK", "k", "me", "PX", "30000", "ONCE"}, lock.acquire(0))
	require.Equal(t, []string{"LOCK", "k", "me", "PX", "30000", "ONCE"}, lock.acquire(time.Microsecond), "0 waits without limit")
	require.Equal(t, []string{"LOCK", "k", "me", "PX", "30000", "WAIT", "5000", "ONCE"}, lock.acquire(5*time.Second))
	require.Equal(t, []string{"RENEW", "k", "me", "PX", "30000", "TOKEN", "7"}, lock.renew(7))
	require.Equal(t, []string{"UNLOCK", "k", "me", "TOKEN", "7"}, lock.release(7))
	require.Equal(t, []string{"UNLOCK", "k", "me"}, lock.release(0))
	permit := claim{key: "k", owner: "me", limit: 3, lease: time.Second}
	require.Equal(t, []string{"SEM.ACQUIRE", "k", "me", "LIMIT", "3", "PX", "1000", "WAIT", "5", "ONCE"}, permit.acquire(5*time.Millisecond))
	require.Equal(t, []string{"SEM.RENEW", "k", "me", "PX", "1000", "TOKEN", "7"}, permit.renew(7))
	require.Equal(t, []string{"SEM.RELEASE", "k", "me", "TOKEN", "7"}, permit.release(7))
}

// TestDeadline: the command is dead a margin before the lease can end. The lease begins when the server gets
// the request, not before the request was sent.
func TestDeadline(t *testing.T) {
	r := &run{Options: &Options{Lease: 30 * time.Second}}
	require.Equal(t, int64(1000+27*time.Second), r.deadline(1000))
	h := &hold{run: r, deadline: int64(27 * time.Second)}
	h.Grace = 10 * time.Second
	require.Equal(t, int64(22*time.Second), h.softer())
}

// TestWatch: the actions of a supervisor at each time, without processes.
func TestWatch(t *testing.T) {
	w := watch{runner: -1} // no process: no signal is sent to a group that does not exist
	require.Greater(t, w.look(5), int64(1e15), "nothing is due before the first line")
	require.NoError(t, w.hear("until 100 80"))
	require.EqualValues(t, 100, w.look(90), "the group is not known yet")
	require.NoError(t, w.hear("group 2147483647"))
	require.EqualValues(t, 80, w.look(50))
	require.EqualValues(t, 100, w.look(80), "SIGTERM was sent")
	require.NoError(t, w.hear("until 200 180"))
	require.EqualValues(t, 180, w.look(100), "a renewal moves both")
	require.NoError(t, w.hear("until 190 0"))
	require.EqualValues(t, 190, w.look(185), "the runner has sent SIGTERM itself")
	require.False(t, w.over)
	w.look(190)
	require.True(t, w.over)
	require.Error(t, w.hear("until soon"))
}

// TestSessionFollows: a group's next leader is found, and the lock is renewed there.
func TestSessionFollows(t *testing.T) {
	srv := lockservertest.RunCluster(t)
	s := &session{addrs: []string{srv.Addr}, owner: "me", lost: func(int64, string) {}}
	c := claim{key: "k", owner: "me", lease: time.Minute}
	v, err := s.do(t.Context(), c.acquire(0)...)
	require.NoError(t, err)
	token := v.Int
	require.Positive(t, token)
	require.NotEqual(t, srv.Addr, srv.Failover())
	require.Eventually(t, func() bool {
		v, err = s.do(t.Context(), c.renew(token)...)
		return err == nil
	}, time.Minute, time.Millisecond)
	require.EqualValues(t, 1, v.Int)
	s.hangUp(context.Canceled)
}

// TestSessionAsksForTheLeader of a group for clients of Sentinels: a member answers READONLY to a write.
func TestSessionAsksForTheLeader(t *testing.T) {
	srv := lockservertest.Run(t)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	go func() {
		nc, err := ln.Accept()
		if err != nil {
			return
		}
		_ = ln.Close() // it is asked once
		in, info := bufio.NewReader(nc), "raft_role:follower\r\nraft_leader_address:"+srv.Addr+"\r\n"
		for asked, err := resp.ReadValue(in); err == nil; asked, err = resp.ReadValue(in) {
			reply := "+OK"
			switch asked.Elems[0].Str {
			case "LOCK":
				reply = "-READONLY You can't write against a read only replica."
			case "RAFT":
				reply = fmt.Sprintf("$%d\r\n%s", len(info), info)
			}
			_, _ = nc.Write([]byte(reply + "\r\n"))
		}
	}()
	s := &session{addrs: []string{ln.Addr().String()}, owner: "me", lost: func(int64, string) {}}
	v, err := s.do(t.Context(), (&claim{key: "k", owner: "me", lease: time.Minute}).acquire(0)...)
	require.NoError(t, err)
	require.Positive(t, v.Int)
	s.hangUp(context.Canceled)
}

// TestSessionHearsOfALoss at once, and tells what is away from what is refused.
func TestSessionHearsOfALoss(t *testing.T) {
	srv := lockservertest.Run(t)
	lost := make(chan int64, 1)
	s := &session{addrs: []string{srv.Addr}, owner: "me", lost: func(token int64, _ string) { lost <- token }}
	c := claim{key: "k", owner: "me", lease: time.Minute}
	v, err := s.do(t.Context(), c.acquire(0)...)
	require.NoError(t, err)
	srv.Do("LOCK.FORCE", "k")
	select {
	case token := <-lost:
		require.Equal(t, v.Int, token)
	case <-time.After(time.Minute):
		require.Fail(t, "no push")
	}
	_, err = s.do(t.Context(), "NONSENSE")
	require.ErrorAs(t, err, new(call.Error))
	require.False(t, isAway(err))
	s.hangUp(context.Canceled)
	_, err = s.do(t.Context(), "PING")
	require.True(t, isAway(err))
	_, err = s.do(t.Context(), "PING")
	require.NoError(t, err, "by another connection")
	s.hangUp(context.Canceled)
	srv.Do("CONFIG", "SET", "requirepass", "secret")
	s = &session{addrs: []string{srv.Addr}, server: inspect.Target{Password: "wrong"}}
	_, err = s.do(t.Context(), "PING")
	require.ErrorContains(t, err, "WRONGPASS")
	require.False(t, isAway(err))
	s.server.Password = "secret"
	_, err = s.do(t.Context(), "PING")
	require.NoError(t, err)
	s.hangUp(context.Canceled)
}
