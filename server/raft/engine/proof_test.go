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

// withholding is a transport on which nothing is heard of the others for a while.
type withholding struct {
	inMemory
	from, until <-chan struct{}
}

func (w withholding) AppendEntries(id hraft.ServerID, to hraft.ServerAddress, q *hraft.AppendEntriesRequest, a *hraft.AppendEntriesResponse) error {
	select {
	case <-w.from:
		<-w.until
	default:
	}
	return w.inMemory.AppendEntries(id, to, q, a)
}

// TestProofOutlivesAMember: who waits for the answer of a member that is taken out of the group, the only
// other one, is answered by those who are left.
func TestProofOutlivesAMember(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		peers := []raft.Peer{{ID: "a", Raft: "a:1", Client: "a:2"}, {ID: "b", Raft: "b:1", Client: "b:2"}}
		withheld, over := make(chan struct{}), make(chan struct{})
		var transports []*hraft.InmemTransport
		for _, p := range peers {
			_, transport := hraft.NewInmemTransport(Address(p))
			transports = append(transports, transport)
		}
		transports[0].Connect(Address(peers[1]), transports[1])
		transports[1].Connect(Address(peers[0]), transports[0])
		free := stuck{make(chan struct{}, 1), make(chan struct{})}
		close(free.let)
		var engines []*Engine
		among := &directory{}
		for i, p := range peers {
			store := hraft.NewInmemStore()
			e := among.newIn(Options{ID: p.ID, Peers: peers, ElectionMS: 500, Log: slog.New(slog.DiscardHandler), Logs: store, Stable: store,
				Snapshots: hraft.NewInmemSnapshotStore(), Transport: func() (hraft.Transport, error) { return withholding{inMemory{transports[i]}, withheld, over}, nil }})
			require.NoError(t, e.Open(free))
			engines = append(engines, e)
		}
		leader, other := engines[0], peers[1].ID
		for !engines[0].Leads() && !engines[1].Leads() {
			time.Sleep(time.Millisecond)
		}
		if engines[1].Leads() {
			leader, other = engines[1], peers[0].ID
		}
		require.NoError(t, leader.Barrier())
		time.Sleep(100 * time.Millisecond) // until it has heard that it leads
		require.NoError(t, leader.Prove()())

		close(withheld)
		proven := make(chan error, 1)
		go func() { proven <- leader.Prove()() }()
		synctest.Wait()
		require.Empty(t, proven)
		require.NoError(t, leader.Remove(other))
		time.Sleep(time.Second)
		close(over)
		require.Len(t, proven, 1)
		require.NoError(t, <-proven)
		for _, e := range engines {
			require.NoError(t, e.Close())
		}
	})
}
