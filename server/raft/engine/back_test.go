package engine

import (
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	hraft "github.com/hashicorp/raft"
	"github.com/stretchr/testify/require"

	"lockserver/server/raft"
)

// TestBackAtOnce: a member that was away for long has what it missed within two times of an election, and an
// engine ends while one is away.
func TestBackAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		peers := []raft.Peer{{ID: "a", Raft: "a:1", Client: "a:2"}, {ID: "b", Raft: "b:1", Client: "b:2"}, {ID: "c", Raft: "c:1", Client: "c:2"}}
		var transports []*hraft.InmemTransport
		for _, p := range peers {
			_, transport := hraft.NewInmemTransport(Address(p))
			transports = append(transports, transport)
		}
		connect := func(from, to int) { transports[from].Connect(Address(peers[to]), transports[to]) }
		for from := range peers {
			for to := range peers {
				connect(from, to)
			}
		}
		free := stuck{make(chan struct{}, 1), make(chan struct{})}
		close(free.let)
		var engines []*Engine
		for i, p := range peers {
			store := hraft.NewInmemStore()
			e := New(Options{ID: p.ID, Peers: peers, ElectionMS: 500, Log: slog.New(slog.DiscardHandler), Logs: store, Stable: store,
				Snapshots: hraft.NewInmemSnapshotStore(), Transport: func() (hraft.Transport, error) { return transports[i], nil }})
			require.NoError(t, e.Open(free))
			engines = append(engines, e)
		}
		leader := -1
		for leader < 0 {
			time.Sleep(time.Millisecond)
			for i, e := range engines {
				if e.Leads() {
					leader = i
				}
			}
		}
		require.NoError(t, engines[leader].Barrier())
		away := (leader + 1) % len(peers)
		for _, seconds := range []int{8, 25, 70} {
			transports[leader].Disconnect(Address(peers[away]))
			for range 10 * seconds {
				require.NoError(t, engines[leader].Barrier())
				time.Sleep(100 * time.Millisecond)
			}
			want := engines[leader].Status().LastIndex
			require.Less(t, engines[away].Status().LastIndex, want)
			connect(leader, away)
			back := time.Now()
			for engines[away].Status().LastIndex < want {
				time.Sleep(time.Millisecond)
			}
			require.Less(t, time.Since(back), time.Second, "back after %d seconds", seconds)
		}
		transports[leader].Disconnect(Address(peers[away]))
		require.NoError(t, engines[leader].Barrier())
		time.Sleep(time.Second)
		begun := time.Now()
		require.NoError(t, engines[leader].Close())
		require.Less(t, time.Since(begun), time.Second)
		for i, e := range engines {
			if i != leader {
				require.NoError(t, e.Close())
			}
		}
	})
}
