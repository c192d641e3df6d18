//go:build oracle

package replication

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/server"
	"lockserver/tests/testkit"
)

// TestMasterIsAClient: a replica lists its link to the master among the clients, and closes it on request. It
// shows and counts the commands that come on it (D144).
func TestMasterIsAClient(t *testing.T) {
	for _, kind := range []string{"lockserver", "redis"} {
		t.Run(kind, func(t *testing.T) {
			master := start(t, server.Options{EventLoops: true})
			replica := start(t, server.Options{EventLoops: true})
			if kind == "redis" {
				replica = startRedis(t, testkit.Oracle(t))
			}
			require.Empty(t, replica.Do("CLIENT", "LIST", "TYPE", "master").Str)
			require.Equal(t, "0", replica.do("CLIENT KILL TYPE master"))
			link := between(t, master.addr)
			replica.follow(link.addr())
			inStep(t, master, replica)
			require.Equal(t, "+OK", master.do("SET k v"))
			inStep(t, master, replica)
			line := replica.Do("CLIENT", "LIST", "TYPE", "master").Str
			require.Equal(t, 1, strings.Count(line, "\n"))
			for _, part := range []string{" addr=" + link.addr() + " ", " flags=M ", " cmd=set ", " user=(superuser) ", " resp=2 ", " laddr=127.0.0.1:"} {
				require.Contains(t, line, part)
			}
			require.Equal(t, 2, strings.Count(replica.Do("CLIENT", "LIST").Str, "\n"))
			id := regexp.MustCompile(`^id=(\d+) `).FindStringSubmatch(line)[1]
			require.Contains(t, replica.Do("CLIENT", "LIST", "ID", id).Str, " flags=M ")

			require.True(t, strings.HasPrefix(replica.info("cmdstat_set"), "calls=1,"), replica.info("cmdstat_set"))
			monitor := reach(t, replica.addr)
			require.Equal(t, "+OK", monitor.do("MONITOR"))
			require.Equal(t, "+OK", master.do("SET seen v"))
			require.Regexp(t, `^\+\d+\.\d{6} \[0 `+regexp.QuoteMeta(link.addr())+`\] "(?i:SET)" "seen" "v"$`, monitor.Receive().String())
			monitor.Close()

			for i, words := range []string{"TYPE master", "ADDR " + link.addr(), "TYPE master SKIPME yes"} {
				require.Equal(t, "1", replica.do("CLIENT KILL "+words))
				eventually(t, "it goes on", func() bool { return master.number("sync_partial_ok") == int64(i+1) })
				inStep(t, master, replica)
			}
			require.Equal(t, "0", replica.do("CLIENT KILL TYPE replica"))
			require.Equal(t, "+OK", replica.do("REPLICAOF NO ONE"))
			require.Empty(t, replica.Do("CLIENT", "LIST", "TYPE", "master").Str)
			require.Equal(t, int64(1), master.number("sync_full"))
		})
	}
}
