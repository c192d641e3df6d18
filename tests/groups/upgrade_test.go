//go:build raft && unix

package groups

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/tests/fleet"
)

// TestUpgradeInTurn (D145): each member of each shard is ended and started again, one after the other, as for
// an upgrade. Between two steps an operator waits until the member is ready. No acknowledged write is lost,
// and clients are redirected twice at most. At the end each slot is served once.
func TestUpgradeInTurn(t *testing.T) {
	c := prepare(t, shard{"s1", "0-8191", 3}, shard{"s2", "8192-16383", 3}).start()
	owners := map[int]*fleet.Group{1: c.groups[0], 9000: c.groups[1]}
	c.awaitOwners(owners)
	running, end := context.WithCancel(t.Context())
	var busy sync.WaitGroup
	t.Cleanup(busy.Wait)
	t.Cleanup(end)
	var users []*user
	for slot, owner := range owners {
		u := &user{of: c, key: key(t, slot), within: patience, at: owner.AwaitLeader().Addr()}
		users = append(users, u)
		busy.Go(func() { u.live(running) })
	}
	for _, g := range c.groups {
		for _, p := range g.Members {
			code, err := p.Terminate()
			require.NoError(t, err)
			require.Zero(t, code)
			p.Launch()
			out, err := tool(t, "status", "--wait-ready", "120s", "--addr", p.Addr())
			require.NoError(t, err, out)
			for _, u := range users {
				u.served(t)
			}
		}
	}
	end()
	busy.Wait()
	for _, u := range users {
		require.Empty(t, u.seen().fault)
		require.LessOrEqual(t, u.seen().most, mostRedirections, u.key)
	}
	out, err := tool(t, "status", "--cluster", "--addr", c.groups[0].Members[0].Addr())
	require.NoError(t, err, out)
}
