//go:build oracle

package replication

import (
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/tests/fleet"
)

// TestReplicaThatHangs: writes are refused while the only replica has been silent for min-replicas-max-lag.
// When it answers again they go on, over the same link.
func TestReplicaThatHangs(t *testing.T) {
	run := buildPrograms(t)
	for _, kind := range kinds {
		for _, program := range []string{run.redis, run.lockserver} {
			t.Run(map[string]string{run.redis: "redis", run.lockserver: "lockserver"}[program]+" behind "+kind, func(t *testing.T) {
				t.Parallel()
				master := startOf(t, kind, t.TempDir(), map[string]string{"save": "", "min-replicas-to-write": "1", "min-replicas-max-lag": "4"})
				host, port, err := net.SplitHostPort(master.addr)
				require.NoError(t, err)
				p := fleet.NewProcess(t, program, "save \"\"\nenable-debug-command yes\nreplicaof "+host+" "+port+"\n")
				p.Start()
				accepted := func() bool { return master.do("SET k v") == "+OK" }
				eventually(t, "it is good", accepted)
				for range 2 {
					p.Pause()
					paused := time.Now()
					eventually(t, "writes are refused", func() bool {
						return master.do("SET k v") == "-NOREPLICAS Not enough good replicas to write."
					})
					require.Greater(t, time.Since(paused), time.Second, "it has the lag, less what it was silent for before")
					require.Equal(t, []string{`"v"`, "1", "0"}, []string{master.do("GET k"), master.info("connected_slaves"), master.info("min_slaves_good_slaves")})
					require.Contains(t, master.do("EVAL return(redis.call('DEL',KEYS[1])) 1 k"), "NOREPLICAS")
					p.GoOn()
					eventually(t, "writes go on", accepted)
				}
				inStep(t, master, reach(t, p.Addr()))
				require.Equal(t, []int64{1, 0}, []int64{master.number("sync_full"), master.number("sync_partial_ok")})
			})
		}
	}
}
