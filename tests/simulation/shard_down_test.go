//go:build simulation

package simulation

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestSimulationOfDownShard: all members of a shard crash, and the other shards do not reach each other. For
// ten seconds each of them answers each command for its own slots, and sends clients of the others where it
// did before. After half a minute an alarm names the shards that are silent.
func TestSimulationOfDownShard(t *testing.T) {
	for seed := range uint64(8) {
		c := newCity(seed, t.TempDir())
		if c.kind == wrongly { // not each slot has an owner
			continue
		}
		bubble(t, func(t *testing.T) {
			c.shards.network.changed = make(chan struct{})
			c.begun = time.Now()
			defer func() {
				for _, w := range c.quarters {
					require.NoError(t, w.end())
				}
			}()
			for _, m := range c.all() {
				require.NoError(t, m.start())
			}
			require.NoError(t, c.await("the city is there", c.served))
			was := map[string]string{}
			ask := func(m *member, key string) string {
				v := m.ask("INCR", key)
				if strings.HasPrefix(v.Str, "MOVED") {
					return v.Str
				}
				return fmt.Sprintf("%c", v.Kind)
			}
			each := func(do func(name, answer string)) {
				for _, g := range c.groups[1:] {
					for _, key := range append(keysOf([]family{registerFamily(), counterFamily()}), givenKey) {
						do(g.shard.name+" "+key, ask(g.leader(), key))
					}
				}
			}
			each(func(name, answer string) { was[name] = answer })
			require.Contains(t, fmt.Sprint(was), "MOVED", "keys of other shards are asked for, too")
			for _, m := range c.groups[0].all {
				m.crash()
			}
			for _, a := range c.all() {
				for _, b := range c.all() {
					if a.group != b.group {
						c.shards.network.set(link{a.at(), b.at()}, lost, 0)
					}
				}
			}
			for range 40 {
				time.Sleep(250 * time.Millisecond)
				each(func(name, answer string) { require.Equal(t, was[name], answer, "seed %d: %s", seed, name) })
			}
			alarm := func(g *group) string { return g.leader().fields()["raft_alarm"] }
			require.NotContains(t, alarm(c.groups[1]), "map of it")
			time.Sleep(30 * time.Second)
			require.Contains(t, alarm(c.groups[1]), "the shard 's1' has not answered, and the map of it may be old")
		})
	}
}
