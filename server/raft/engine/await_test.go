package engine

import (
	"fmt"
	"io"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	hraft "github.com/hashicorp/raft"
	"github.com/stretchr/testify/require"

	"lockserver/server/raft"
)

// stuck is a machine that takes the first entry, and does not come back from it before the test lets it.
type stuck struct{ taken, let chan struct{} }

func (s stuck) Apply(uint64, []byte, bool) error {
	select {
	case s.taken <- struct{}{}:
	default:
	}
	<-s.let
	return nil
}
func (stuck) Cut() (raft.Cut, error)    { return nil, io.EOF }
func (stuck) Restore(io.Reader) error   { return nil }
func (stuck) Leads(bool)                {}
func (stuck) Anew()                     {}
func (stuck) Changed()                  {}
func (stuck) Judge(raft.Verdict)        {}
func (stuck) Condition() raft.Condition { return raft.Condition{} }

func (stuck) Position() (raft.Position, error) { return raft.Position{}, raft.ErrNoPosition }

// alone is the engine of a group of one.
func alone() *Engine {
	p := raft.Peer{ID: "a", Raft: "a:1", Client: "a:2"}
	store := hraft.NewInmemStore()
	return new(directory).newIn(Options{ID: "a", Peers: []raft.Peer{p}, ElectionMS: 500, Log: slog.New(slog.DiscardHandler), Logs: store, Stable: store,
		Snapshots: hraft.NewInmemSnapshotStore(), Transport: func() (hraft.Transport, error) {
			_, t := hraft.NewInmemTransport(Address(p))
			return t, nil
		}})
}

// TestClosedEngineLeavesNothing: a caller that waits for an answer of a closed engine gets an error, and no
// goroutine is left: the bubble would report it.
func TestClosedEngineLeavesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for range 20 { // the library forgets some of the entries, or none
			e, m := alone(), stuck{make(chan struct{}, 1), make(chan struct{})}
			require.NoError(t, e.Open(m))
			for !e.Leads() {
				time.Sleep(time.Millisecond)
			}
			waits := []func() error{e.Propose([]byte("x"))}
			<-m.taken
			for i := range 20 {
				waits = append(waits, e.Propose(fmt.Append(nil, i)))
				synctest.Wait() // each is committed for itself
			}
			waits = append(waits, e.Prove())
			answers := make(chan error, len(waits)+1)
			for _, wait := range waits {
				go func() { answers <- wait() }()
			}
			go func() { answers <- e.Barrier() }()
			closed := make(chan error)
			go func() { closed <- e.Close() }()
			synctest.Wait()
			close(m.let)
			require.NoError(t, <-closed)
			synctest.Wait()
			require.Len(t, answers, cap(answers))
			require.Error(t, e.Propose(nil)())
		}
	})
}

// TestEveryAnswerEnds: await knows the futures of every kind that the library gives us.
func TestEveryAnswerEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, m := alone(), stuck{make(chan struct{}, 1), make(chan struct{})}
		close(m.let)
		require.NoError(t, e.Open(m))
		r, err := e.now()
		require.NoError(t, err)
		var waits []func() error
		for _, f := range []hraft.Future{r.raft.Apply(nil, 0), r.raft.Barrier(0), r.raft.VerifyLeader(), r.raft.Snapshot(),
			r.raft.AddVoter("b", "b", 0, 0), r.raft.RemoveServer("b", 0, 0), r.raft.LeadershipTransfer()} {
			waits = append(waits, r.await(f))
		}
		require.NoError(t, e.Close())
		for _, wait := range waits {
			require.Error(t, wait())
		}
		require.ErrorIs(t, r.await(r.raft.Barrier(0))(), hraft.ErrRaftShutdown)
	})
}
