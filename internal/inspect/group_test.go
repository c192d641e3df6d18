package inspect

import (
	"context"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/redcon"
)

// TestLearnerIsNotReady: a member that loses its vote while the members are asked is not ready. The list
// shows it as a voter, and its own role is still "follower".
func TestLearnerIsNotReady(t *testing.T) {
	var mu sync.Mutex
	listed := 0
	var addrs []string
	serve := func(id, role string) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		t.Cleanup(func() { _ = l.Close() })
		addrs = append(addrs, l.Addr().String())
		go func() {
			_ = redcon.Serve(l, func(c redcon.Conn, cmd redcon.Command) {
				mu.Lock()
				defer mu.Unlock()
				switch string(cmd.Args[0]) {
				case "HELLO":
					c.WriteRaw([]byte("%1\r\n+proto\r\n:3\r\n"))
				case "INFO":
					c.WriteBulkString(fmt.Sprintf("raft_id:%s\r\nraft_role:%s\r\nraft_applied_index:7\r\nraft_commit_index:7\r\nraft_history_offset:70\r\n", id, role))
				case "RAFT":
					if string(cmd.Args[1]) == "INFO" {
						c.WriteBulkString("raft_group:g\r\nraft_leader_id:a\r\nraft_leader_address:" + addrs[0] + "\r\n")
						return
					}
					listed++
					c.WriteArray(len(addrs))
					for i, addr := range addrs {
						voter := 1
						if i == 1 && listed > 1 && listed < 4 { // it lost its disk, and the leader finds that out after the first list
							voter = 0
						}
						role := "follower"
						if i == 0 {
							role = "leader"
						}
						c.WriteRaw(fmt.Appendf(nil, "%%6\r\n+applied-index\r\n:7\r\n+id\r\n+%s\r\n+client-address\r\n+%s\r\n+role\r\n+%s\r\n+reachable\r\n:1\r\n+voter\r\n:%d\r\n", string(rune('a'+i)), addr, role, voter))
					}
				}
			}, nil, nil)
		}()
	}
	serve("a", "leader")
	serve("b", "follower")
	serve("c", "follower")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	g, err := AwaitGroup(ctx, Target{}, addrs)
	require.NoError(t, err)
	require.Len(t, g.Members, 3)
	mu.Lock()
	defer mu.Unlock()
	require.GreaterOrEqual(t, listed, 5, "it was a learner in the second list and the third one")
}
