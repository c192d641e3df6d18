//go:build oracle

package replication

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/tests/fleet"
	"lockserver/tests/testkit"
)

// TestReplicaThatEvicts: with replica-ignore-maxmemory no, a replica evicts like a master: because of writes
// of its own clients, and because of data of its master (D172). Otherwise it never evicts.
func TestReplicaThatEvicts(t *testing.T) {
	for name, program := range map[string]string{"lockserver": testkit.Lockserver(t), "redis": string(testkit.Oracle(t))} {
		t.Run(name, func(t *testing.T) {
			m := fleet.NewProcess(t, testkit.Lockserver(t), killConf+"save \"\"\n")
			r := fleet.NewProcess(t, program, killConf+"save \"\"\nreplica-read-only no\nreplicaof 127.0.0.1 "+m.Port+"\n")
			m.Start()
			r.Start()
			master, replica := reach(t, m.Addr()), reach(t, r.Addr())
			plain(master)
			inStep(t, master, replica)
			value := strings.Repeat("x", 1000)
			fill := func(n *node, prefix string) (last string) {
				for i := range 1000 {
					last = n.do(fmt.Sprintf("SET %s:%d %s", prefix, i, value))
				}
				return last
			}
			require.Equal(t, "+OK", replica.do("CONFIG SET maxmemory-policy allkeys-random"))
			require.Equal(t, "+OK", replica.do(fmt.Sprintf("CONFIG SET maxmemory %d", replica.number("used_memory")+300_000)))
			require.Equal(t, "+OK", fill(replica, "own"))
			require.Zero(t, replica.number("evicted_keys"))

			require.Equal(t, "+OK", replica.do("CONFIG SET replica-ignore-maxmemory no"))
			require.Equal(t, "+OK", fill(replica, "own"))
			evicted := replica.number("evicted_keys")
			require.Positive(t, evicted)
			require.Equal(t, "+OK", fill(master, "masters"))
			eventually(t, "room was made for what the master sends", func() bool { return replica.number("evicted_keys") > evicted+200 })

			require.Equal(t, "+OK", replica.do("CONFIG SET maxmemory-policy noeviction"))
			require.Equal(t, "+OK", replica.do("CONFIG SET maxmemory 1000"))
			require.Equal(t, "-OOM command not allowed when used memory > 'maxmemory'.", replica.do("SET own 1"))
			require.Equal(t, "+OK", replica.do("CONFIG SET slave-ignore-maxmemory yes"))
			require.Equal(t, "+OK", replica.do("SET own 1"))
		})
	}
}
