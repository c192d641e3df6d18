//go:build oracle

package replication

import (
	"net"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/server"
)

// TestForcedFailover: a replica that does not catch up in time becomes the master all the same. The old
// master gives up the data that the replica lacks.
func TestForcedFailover(t *testing.T) {
	eachMaster(t, func(t *testing.T, master *node) {
		replica := start(t, server.Options{EventLoops: true})
		link := between(t, master.addr)
		replica.follow(link.addr())
		inStep(t, master, replica)
		link.piece.Store(1) // so slow that almost nothing arrives
		value := strings.Repeat("v", 1<<20)
		for range 20 {
			require.False(t, master.Do("RPUSH", "list", value).IsError())
		}
		host, port, err := net.SplitHostPort(replica.addr)
		require.NoError(t, err)
		require.Equal(t, "+OK", master.do("FAILOVER TO "+host+" "+port+" FORCE TIMEOUT 300"))
		eventually(t, "they have changed places", func() bool { return replica.info("role") == "master" && master.info("role") == "slave" })
		require.NotEqual(t, "20", replica.do("LLEN list"))
		inStep(t, replica, master)
		require.Equal(t, int64(1), replica.number("sync_full"))
	})
}

// TestUserOfTheMaster: a replica logs in as masteruser. Its link is down while that user has no right to
// replicate.
func TestUserOfTheMaster(t *testing.T) {
	eachMaster(t, func(t *testing.T, master *node) {
		plain(master)
		require.Equal(t, "+OK", master.do("ACL SETUSER copier on >secret +psync +replconf +ping"))
		require.Equal(t, "+OK", master.do("ACL SETUSER other on >secret +ping"))
		require.Equal(t, "+OK", master.do("CONFIG SET requirepass closed"))
		replica := start(t, server.Options{Directives: map[string]string{"masteruser": "other", "masterauth": "secret"}})
		replica.follow(master.addr)
		eventually(t, "it has tried", func() bool { return replica.info("master_link_down_since_seconds") != "-1" })
		require.Equal(t, "down", replica.info("master_link_status"))
		require.Equal(t, "+OK", replica.do("CONFIG SET masteruser copier"))
		inStep(t, master, replica)
	})
}
