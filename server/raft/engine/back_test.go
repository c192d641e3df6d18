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

// trio is a group of three in memory; one of them leads.
type trio struct {
	engines    []*Engine
	stores     []*hraft.InmemStore
	transports []*hraft.InmemTransport
	leader     int
}

var three = []raft.Peer{{ID: "a", Raft: "a:1", Client: "a:2"}, {ID: "b", Raft: "b:1", Client: "b:2"}, {ID: "c", Raft: "c:1", Client: "c:2"}}

// newTrio makes one, within a bubble of virtual time.
func newTrio(t *testing.T, m raft.Machine) *trio {
	g := &trio{leader: -1}
	for _, p := range three {
		_, transport := hraft.NewInmemTransport(Address(p))
		g.transports = append(g.transports, transport)
	}
	for from := range three {
		for to := range three {
			g.connect(from, to)
		}
	}
	among := &directory{}
	for i, p := range three {
		store := hraft.NewInmemStore()
		e := among.newIn(Options{ID: p.ID, Peers: three, ElectionMS: 500, Log: slog.New(slog.DiscardHandler), Logs: store, Stable: store,
			Snapshots: hraft.NewInmemSnapshotStore(), Transport: func() (hraft.Transport, error) { return inMemory{g.transports[i]}, nil }})
		require.NoError(t, e.Open(m))
		g.engines, g.stores = append(g.engines, e), append(g.stores, store)
	}
	for g.leader < 0 {
		time.Sleep(time.Millisecond)
		for i, e := range g.engines {
			if e.Leads() {
				g.leader = i
			}
		}
	}
	require.NoError(t, g.engines[g.leader].Barrier())
	return g
}

func (g *trio) connect(from, to int) {
	g.transports[from].Connect(Address(three[to]), g.transports[to])
}

// reaches waits until a member has an entry, and returns how long that took.
func (g *trio) reaches(t *testing.T, member int, index uint64) time.Duration {
	begun := time.Now()
	for g.engines[member].Status().LastIndex < index {
		time.Sleep(time.Millisecond)
		require.Less(t, time.Since(begun), time.Minute, "it never has entry %d", index)
	}
	return time.Since(begun)
}

// free is a machine that does nothing.
func free() stuck {
	f := stuck{make(chan struct{}, 1), make(chan struct{})}
	close(f.let)
	return f
}

// TestBackAtOnce: a member that was away for long has what it missed within two times of an election, and an
// engine ends while one is away.
func TestBackAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newTrio(t, free())
		leader, engines := g.leader, g.engines
		away := (leader + 1) % len(engines)
		for _, seconds := range []int{8, 25, 70} {
			g.transports[leader].Disconnect(Address(three[away]))
			for range 10 * seconds {
				require.NoError(t, engines[leader].Barrier())
				time.Sleep(100 * time.Millisecond)
			}
			want := engines[leader].Status().LastIndex
			require.Less(t, engines[away].Status().LastIndex, want)
			g.connect(leader, away)
			require.Less(t, g.reaches(t, away, want), time.Second, "back after %d seconds", seconds)
		}
		g.transports[leader].Disconnect(Address(three[away]))
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

// TestLeaderSendsItsSnapshot: of an entry that only a snapshot has left a leader knows nothing, so that it
// sends the snapshot.
func TestLeaderSendsItsSnapshot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newTrio(t, free())
		for i, e := range g.engines {
			kept := hraft.NewInmemSnapshotStore()
			a := &storage{LogStore: hraft.NewInmemStore(), SnapshotStore: kept}
			sink, err := kept.Create(1, 7, 2, hraft.Configuration{}, 1, g.transports[i])
			require.NoError(t, err)
			require.NoError(t, sink.Close())
			a.raft.Store(e.running.raft)
			if err = a.GetLog(7, new(hraft.Log)); i == g.leader {
				require.ErrorIs(t, err, hraft.ErrLogNotFound)
			} else {
				require.NoError(t, err)
			}
		}
		for _, e := range g.engines {
			require.NoError(t, e.Close())
		}
	})
}
