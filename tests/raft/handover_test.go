package raft

import (
	"net"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/internal/testkit"
	"lockserver/server"
	"lockserver/server/raft/engine"
	"lockserver/server/topology"
)

// seenAs makes clients see a group in a form.
func seenAs(form topology.Form) func(*engine.Options, *server.Options) {
	return func(eo *engine.Options, so *server.Options) {
		id := topology.NodeID(eo.ID)
		so.Group = topology.New(topology.Options{Form: form, Self: func(net.Addr) string { return id }})
	}
}

// TestLeaderSendsOn: who waits at a member for what only the leader does loses the connection when another leads:
// who vouches for owners, and who listens. Others keep theirs, and so does who asks a Sentinel where the master is.
func TestLeaderSendsOn(t *testing.T) {
	for name, form := range map[string]topology.Form{"cluster": topology.Cluster, "sentinel": topology.Sentinel} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGroup(t, 3, seenAs(form))
			leader := g.leader()
			say := func(words ...string) *testkit.Client {
				c := leader.dial()
				t.Cleanup(c.Close)
				c.Timeout = 10 * time.Second
				c.Hello(3)
				v, err := c.Call(words...)
				require.NoError(t, err)
				require.NotEqualValues(t, '-', v.Kind, v)
				return c
			}
			leave := []*testkit.Client{say("LOCK.ATTACH", "me"), say("SUBSCRIBE", "news"), say("SSUBSCRIBE", "news")}
			stay := []*testkit.Client{say("PING")}
			asks := []*testkit.Client{say("SUBSCRIBE", topology.SwitchChannel), say("PSUBSCRIBE", "*")}
			require.Equal(t, "+OK", leader.ask("RAFT", "TRANSFER").String())
			if form == topology.Sentinel {
				for _, c := range asks {
					v, err := c.Next()
					require.NoError(t, err)
					require.Contains(t, v.String(), topology.SwitchChannel)
				}
				stay = append(stay, asks...)
			} else {
				leave = append(leave, asks...)
			}
			for _, c := range leave {
				v, err := c.Next()
				require.Error(t, err, v)
				require.NotErrorIs(t, err, os.ErrDeadlineExceeded, "it is not closed")
			}
			for _, c := range stay {
				require.Equal(t, "+PONG", c.Do("PING").String())
			}
		})
	}
}
