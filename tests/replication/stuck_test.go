//go:build oracle

package replication

import (
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/server"
)

// TestLoadLongerThanTheTimeout: a replica that reports that it lives while it loads is not taken for dead,
// although the load takes longer than repl-timeout.
func TestLoadLongerThanTheTimeout(t *testing.T) {
	for _, diskless := range []string{"yes", "no"} {
		for _, kind := range kinds {
			t.Run(fmt.Sprintf("diskless=%s/%s", diskless, kind), func(t *testing.T) {
				t.Parallel()
				master := start(t, server.Options{EventLoops: true, Directives: map[string]string{"repl-diskless-sync": diskless}})
				for i := range 500 {
					require.Equal(t, "+OK", master.Do("SET", fmt.Sprint("key:", i), strings.Repeat("v", 5000)).String())
				}
				directives := map[string]string{"save": ""}
				if kind == "redis" {
					directives["loading-process-events-interval-bytes"] = "1024" // how often it reports that it lives
				}
				replica := startOf(t, kind, t.TempDir(), directives)
				require.Equal(t, "+OK", master.do("CONFIG SET repl-timeout 5 rdbcompression no"))
				require.Equal(t, "+OK", replica.do("CONFIG SET key-load-delay 20000"))
				begun := time.Now()
				replica.follow(master.addr)
				inStep(t, master, replica)
				require.Greater(t, time.Since(begun), 7*time.Second)
				require.Equal(t, int64(1), master.number("sync_full"))
			})
		}
	}
}

// TestStuckReplica: a replica that does not read its snapshot does not keep others from theirs. With a
// snapshot file they need not wait for it. With a snapshot sent while it is made, all wait until repl-timeout
// ends it, as in Redis.
func TestStuckReplica(t *testing.T) {
	for _, diskless := range []string{"no", "yes"} {
		for _, kind := range kinds {
			t.Run(fmt.Sprintf("diskless=%s/%s", diskless, kind), func(t *testing.T) {
				t.Parallel()
				master := startOf(t, kind, t.TempDir(), map[string]string{"save": "", "rdbcompression": "no", "repl-diskless-sync": diskless,
					"repl-diskless-sync-delay": "100", "repl-diskless-sync-max-replicas": "3", "client-output-buffer-limit": "replica 0 0 0"})
				require.Equal(t, "+OK", master.do("CONFIG SET repl-diskless-sync-delay 100")) // waits until there are three replicas
				require.Equal(t, "+OK", master.do("DEBUG POPULATE 20000 key 2000"))
				if diskless == "yes" {
					require.Equal(t, "+OK", master.do("CONFIG SET repl-timeout 8"))
				}
				stuck, err := net.Dial("tcp", master.addr)
				require.NoError(t, err)
				defer func() { _ = stuck.Close() }()
				require.NoError(t, stuck.(*net.TCPConn).SetReadBuffer(4096))
				_, err = stuck.Write([]byte("REPLCONF capa eof capa psync2\r\n"))
				require.NoError(t, err)
				_, err = io.ReadFull(stuck, make([]byte, len("+OK\r\n")))
				require.NoError(t, err)
				_, err = stuck.Write([]byte("PSYNC ? -1\r\n"))
				require.NoError(t, err)
				eventually(t, "it is one of the replicas", func() bool { return master.number("connected_slaves") == 1 })
				replicas := []*node{start(t, server.Options{EventLoops: true}), start(t, server.Options{})}
				for _, r := range replicas {
					r.follow(master.addr)
				}
				require.Equal(t, "+OK", master.do("SET behind it"))
				for _, r := range replicas {
					inStep(t, master, r)
				}
				all := map[string]int64{"no": 3, "yes": 2}
				require.Equal(t, all[diskless], master.number("connected_slaves"))
				require.Equal(t, int64(3), master.number("sync_full"))
			})
		}
	}
}
