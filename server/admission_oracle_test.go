//go:build oracle

package server

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/tests/testkit"
)

var updateFlag = flag.Bool("update", false, "write the replies of Redis into testdata")

// TestAdmissionOfRedis plays the table of admission_test.go on a Redis.
func TestAdmissionOfRedis(t *testing.T) {
	// A key that Redis loads is 2 KB, so that it looks at its clients behind each.
	redis := testkit.StartRedis(t, "--save", "3600 100000", "--rdbcompression", "no", "--loading-process-events-interval-bytes", "1024",
		"--enable-debug-command", "yes")
	at := &admissionSite{t: t, dial: redis.Dial, dir: redis.Dir}
	var loader *testkit.Client
	at.load = func() {
		require.Equal(t, "+OK", at.do("CONFIG SET key-load-delay 300"))
		require.Equal(t, "+OK", at.do("DEBUG POPULATE 200000 fill 2000"))
		loader = testkit.Dial(t, at.dial)
		loader.Send("DEBUG", "RELOAD")
		await(t, func() bool { return strings.HasPrefix(at.do("TYPE k"), "-LOADING") })
	}
	at.loaded = func() {
		require.Equal(t, "+OK", at.do("CONFIG SET key-load-delay 0"))
		require.Equal(t, "+OK", loader.Receive().String())
		loader.Close()
		require.Equal(t, "+OK", at.do("FLUSHALL"))
		require.Equal(t, "+OK", at.do("XGROUP CREATE y g $ MKSTREAM"))
	}
	keepOrCompare(t, "admission.golden", admissionGolden, at.play(stances))
}

// TestAdmissionOfARedisCluster plays the table on a server of a Redis Cluster. In some stances a replica
// takes over from this server.
func TestAdmissionOfARedisCluster(t *testing.T) {
	var nodes [2]*testkit.Redis
	var roots [2]*testkit.Client
	var ids, ports [2]string
	for i := range nodes {
		ports[i] = strconv.Itoa(testkit.ClusterPort(t))
		nodes[i] = testkit.StartRedis(t, "--cluster-enabled", "yes", "--port", ports[i], "--bind", "127.0.0.1", "--repl-diskless-sync-delay", "0")
		roots[i] = testkit.Dial(t, nodes[i].Dial)
		ids[i] = roots[i].Do("CLUSTER", "MYID").Str
	}
	require.Equal(t, "+OK", roots[0].Do("CLUSTER", "ADDSLOTSRANGE", "0", "16383").String())
	require.Equal(t, "+OK", roots[0].Do("CLUSTER", "MEET", "127.0.0.1", ports[1]).String())
	await(t, func() bool { return roots[1].Do("CLUSTER", "REPLICATE", ids[0]).String() == "+OK" })
	// lead makes a node the master of the other node.
	lead := func(i int) {
		if roots[i].Do("ROLE").Elems[0].Str != "master" {
			require.Equal(t, "+OK", roots[i].Do("CLUSTER", "FAILOVER", "TAKEOVER").String())
		}
		await(t, func() bool {
			return strings.Contains(roots[1-i].Do("INFO", "replication").Str, "master_link_status:up") &&
				strings.Contains(roots[0].Do("CLUSTER", "INFO").Str, "cluster_state:ok") && strings.Contains(roots[1-i].Do("GET", "k").String(), "MOVED")
		})
	}
	lead(0)
	at := &admissionSite{t: t, dial: nodes[0].Dial, move: func() { lead(1) }, moveBack: func() { lead(0) }}
	keepOrCompare(t, "admission_cluster.golden", admissionClusterGolden, at.play(clusterStances))
}

// await waits until a condition holds.
func await(t *testing.T, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !holds(); time.Sleep(time.Millisecond) {
		require.True(t, time.Now().Before(end))
	}
}

// keepOrCompare writes a file of testdata if -update says so, and compares with it otherwise.
func keepOrCompare(t *testing.T, file, golden string, got []admissionCell) {
	t.Helper()
	if *updateFlag {
		require.NoError(t, os.WriteFile(filepath.Join("testdata", file), []byte(encodeAdmission(got)), 0o644))
		return
	}
	compareAdmission(t, golden, got)
}

// encodeAdmission writes cells as a text. Its first part has the different replies, one a line. Behind an
// empty line there is a line for each stance and each row of replies: the forms, and the numbers of the
// replies to each command.
func encodeAdmission(cells []admissionCell) string {
	var replies, lines []string
	forms := make(map[string][]string) // by the rest of their line
	for i := 0; i < len(cells); {
		c, row := cells[i], []string(nil)
		for ; i < len(cells) && cells[i].stance == c.stance && cells[i].form == c.form; i++ {
			at := slices.Index(replies, cells[i].reply)
			if at < 0 {
				at = len(replies)
				replies = append(replies, cells[i].reply)
			}
			row = append(row, fmt.Sprintf("%s: %d", cells[i].command, at+1))
		}
		line := c.stance + " | " + strings.Join(row, ", ")
		if forms[line] == nil {
			lines = append(lines, line)
		}
		forms[line] = append(forms[line], c.form)
	}
	var b strings.Builder
	b.WriteString(strings.Join(replies, "\n") + "\n\n")
	for _, line := range lines {
		b.WriteString(line + " | " + strings.Join(forms[line], "; ") + "\n")
	}
	return b.String()
}
