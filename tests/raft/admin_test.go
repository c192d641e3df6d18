package raft

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/admin"
)

// TestMemberSeenFromOutside: the admin port of a member shows the state of its group in each figure that is
// described. Without a leader it says that the member is not ready.
func TestMemberSeenFromOutside(t *testing.T) {
	t.Parallel()
	g := newGroup(t, 3, nil)
	leader := g.leader()
	get := func(m *member, path string) (status int, text string) {
		port, err := admin.Open([]admin.Source{m.srv}, admin.Options{Addr: "127.0.0.1:0", Log: slog.New(slog.DiscardHandler)})
		require.NoError(t, err)
		defer port.Close()
		answer, err := http.Get("http://" + port.Addr().String() + path)
		require.NoError(t, err)
		defer func() { _ = answer.Body.Close() }()
		body, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		return answer.StatusCode, string(body)
	}
	require.Equal(t, "OK", g.do("SET", "x", "1").Str)
	g.same()
	for i := range 2 {
		eventually(t, "the leader knows how far the others are away", func() bool {
			is := leader.field(fmt.Sprint("raft_member", i))
			return is != "" && !strings.Contains(is, "=-1")
		})
	}
	for _, m := range g.all {
		_, text := get(m, "/metrics")
		for _, d := range admin.Metrics() {
			if !strings.HasPrefix(d.Name, "lockserver_raft_") || strings.Contains(d.Name, "round_trip") && m != leader {
				continue
			}
			name := d.Name
			if d.Type == "histogram" {
				name += "_count"
			}
			require.Contains(t, text, "\n"+name+"{group=\"lockserver\"")
		}
		require.Contains(t, text, "\nlockserver_raft_has_leader{group=\"lockserver\"} 1\n")
		require.Contains(t, text, "\nlockserver_raft_members{group=\"lockserver\"} 3\n")
		status, why := get(m, "/readyz")
		require.Equal(t, http.StatusOK, status, why)
	}
	_, text := get(leader, "/metrics")
	require.Contains(t, text, "\nlockserver_raft_serves{group=\"lockserver\"} 1\n")

	for _, m := range g.others(leader) {
		m.stop()
	}
	eventually(t, "there is no leader", func() bool {
		_, text := get(leader, "/metrics")
		return strings.Contains(text, "\nlockserver_raft_has_leader{group=\"lockserver\"} 0\n") && strings.Contains(text, "\nlockserver_raft_serves{group=\"lockserver\"} 0\n")
	})
	status, why := get(leader, "/readyz")
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Contains(t, why, "leader")
}
