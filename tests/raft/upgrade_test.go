//go:build raft && upgrade && unix

package raft

import (
	"cmp"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/testkit"
	"lockserver/tests/fleet"
)

// TestUpgradeAndBack: a group of an older version is upgraded one member after the other while clients write,
// and goes back in the same way, as docs/HA.md says. Nothing that was acknowledged is lost, no token falls,
// and no member stops. LOCKSERVER_OLD is the older program, which make upgrade builds.
func TestUpgradeAndBack(t *testing.T) {
	older, newer := os.Getenv("LOCKSERVER_OLD"), testkit.Lockserver(t)
	require.NotEmpty(t, older, "LOCKSERVER_OLD: run 'make upgrade'")
	g := fleet.Form(t, "", older, older, older)
	leader := g.AwaitLeader()
	t.Logf("from %s", cmp.Or(leader.Field("lockserver_release"), leader.Field("lockserver_version")))
	require.Equal(t, "OK", leader.Try("SECKILL.CREATE", "shoe", "STOCK", "1000").Str)
	token := leader.Try("LOCK", "door", "alice", "PX", "3600000", "ONCE").Int
	require.Positive(t, token)
	var w writers
	w.begin(t, 3, g)
	sold := int64(0)
	roll := func(program string) {
		for _, p := range g.Members {
			w.more(t)
			code, err := p.Terminate()
			require.NoError(t, err)
			require.Zero(t, code)
			p.Install(program)
			p.Start()
			out, ok := ran(t, "status", "--addr", p.Addr(), "--wait-ready", "60s")
			require.True(t, ok, out)
			for _, m := range g.Members {
				require.Contains(t, []string{"leader", "follower"}, m.Field("raft_role"))
			}
			leader := g.AwaitLeader()
			require.Equal(t, token, leader.Try("LOCK", "door", "alice", "PX", "3600000", "ONCE").Int, "the holder gets its token again")
			another := leader.Try("LOCK", "gate", "bob", "PX", "3600000").Int
			require.Greater(t, another, token)
			require.EqualValues(t, 1, leader.Try("UNLOCK", "gate", "bob").Int)
			sold++
			require.Zero(t, leader.Try("SECKILL", "shoe", fmt.Sprint("user", sold), fmt.Sprint("order", sold)).Int)
		}
	}
	roll(newer)
	roll(older)
	w.end(t)
	last := g.AwaitLeader()
	g.Same(last)
	require.Contains(t, last.Try("SECKILL.INFO", "shoe").String(), fmt.Sprintf(`"sold" %d `, sold))
}
