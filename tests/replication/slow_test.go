//go:build oracle

package replication

import (
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// unread makes a connection that reads nothing a replica.
func unread(t *testing.T, master *node) net.Conn {
	t.Helper()
	already := master.info("connected_slaves")
	conn, err := net.Dial("tcp", master.addr)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	_, err = conn.Write([]byte("PSYNC ? -1\r\n"))
	require.NoError(t, err)
	eventually(t, "its snapshot is on its way", func() bool { return strings.Contains(master.info("slave"+already), "state=online") })
	return conn
}

// flood writes more than unread connections can buffer.
func flood(t *testing.T, master *node) {
	t.Helper()
	value := strings.Repeat("v", 1<<20)
	for i := range 16 {
		require.Equal(t, "+OK", master.Do("SET", fmt.Sprint("flood:", i%3), value).String())
	}
}

// TestSoftLimitOfReplicas: a replica that is far behind for longer than client-output-buffer-limit allows is
// closed, and counted, but not before. A replica that reads again in time stays.
func TestSoftLimitOfReplicas(t *testing.T) {
	for _, kind := range kinds {
		for _, seconds := range []int{0, 3} {
			t.Run(fmt.Sprintf("%s/%d", kind, seconds), func(t *testing.T) {
				t.Parallel()
				master := startOf(t, kind, t.TempDir(), map[string]string{"save": "", "client-output-buffer-limit": fmt.Sprintf("replica 0 1mb %d", seconds)})
				unread(t, master)
				begun := time.Now()
				flood(t, master)
				eventually(t, "it is closed", func() bool { return master.info("connected_slaves") == "0" })
				require.Greater(t, time.Since(begun), time.Duration(seconds)*time.Second)
				require.Equal(t, "1", master.info("client_output_buffer_limit_disconnections"))
			})
		}
		t.Run(kind+"/one goes on", func(t *testing.T) {
			t.Parallel()
			master := startOf(t, kind, t.TempDir(), map[string]string{"save": "", "client-output-buffer-limit": "replica 0 1mb 10"})
			stuck, slow := unread(t, master), unread(t, master)
			flood(t, master)
			go func() { _, _ = io.Copy(io.Discard, slow) }()
			eventually(t, "the other is closed", func() bool { return master.info("connected_slaves") == "1" })
			require.Equal(t, "1", master.info("client_output_buffer_limit_disconnections"))
			require.NoError(t, stuck.SetReadDeadline(time.Now().Add(patience)))
			_, err := io.Copy(io.Discard, stuck)
			require.NotErrorIs(t, err, os.ErrDeadlineExceeded, "the one that read nothing")
			require.Equal(t, "+OK", master.do("SET k v"))
			require.Equal(t, "1", master.info("connected_slaves"))
		})
	}
}
