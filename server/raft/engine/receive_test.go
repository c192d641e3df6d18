package engine

import (
	"io"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	hraft "github.com/hashicorp/raft"
	"github.com/stretchr/testify/require"

	"lockserver/server/raft"
)

// history is a machine that remembers what it was given.
type history struct {
	mu      sync.Mutex
	applied []string
}

func (h *history) Apply(_ uint64, entry []byte, _ bool) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.applied = append(h.applied, string(entry))
	return nil
}
func (h *history) Cut() (raft.Cut, error)    { return nil, io.EOF }
func (h *history) Restore(io.Reader) error   { return nil }
func (h *history) Leads(bool)                {}
func (h *history) Anew()                     {}
func (h *history) Changed()                  {}
func (h *history) Judge(raft.Verdict)        {}
func (h *history) Condition() raft.Condition { return raft.Condition{} }

// Position implements raft.Machine.
func (h *history) Position() (raft.Position, error) { return raft.Position{}, raft.ErrNoPosition }

// formedBefore is the first entry of a group that a version without identities has formed.
func formedBefore(members []raft.Peer) *hraft.Log {
	var all hraft.Configuration
	for _, p := range members {
		all.Servers = append(all.Servers, hraft.Server{ID: hraft.ServerID(p.ID), Address: Address(p)})
	}
	return &hraft.Log{Index: 1, Term: 1, Type: hraft.LogConfiguration, Data: hraft.EncodeConfiguration(all)}
}

// TestCommittedIsWhatIsShown: a member has an entry of a leader that has gone. The next leader says that
// more is committed, and has not sent yet what stands there instead: nothing of it is done.
func TestCommittedIsWhatIsShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		us, other, third := raft.Peer{ID: "a", Raft: "a:1", Client: "a:2"}, raft.Peer{ID: "b", Raft: "b:1", Client: "b:2"}, raft.Peer{ID: "c", Raft: "c:1", Client: "c:2"}
		store, is := hraft.NewInmemStore(), &history{}
		_, ours := hraft.NewInmemTransport(Address(us))
		_, theirs := hraft.NewInmemTransport(Address(other))
		theirs.Connect(Address(us), ours)
		all := []raft.Peer{us, other, third}
		require.NoError(t, store.StoreLog(formedBefore(all)))
		e := New(Options{ID: us.ID, Peers: all, ElectionMS: 500, Log: slog.New(slog.DiscardHandler), Logs: store, Stable: store,
			Snapshots: hraft.NewInmemSnapshotStore(), Transport: func() (hraft.Transport, error) { return ours, nil }})
		require.NoError(t, e.Open(is))
		send := func(term, previous, previousTerm, committed uint64, entries ...*hraft.Log) {
			q := &hraft.AppendEntriesRequest{RPCHeader: hraft.RPCHeader{ProtocolVersion: hraft.ProtocolVersionMax, ID: []byte(other.ID), Addr: []byte(Address(other))},
				Term: term, PrevLogEntry: previous, PrevLogTerm: previousTerm, LeaderCommitIndex: committed, Entries: entries}
			var a hraft.AppendEntriesResponse
			require.NoError(t, theirs.AppendEntries(hraft.ServerID(us.ID), Address(us), q, &a))
			require.True(t, a.Success)
			synctest.Wait()
		}
		entry := func(index, term uint64, data string) *hraft.Log {
			return &hraft.Log{Index: index, Term: term, Type: hraft.LogCommand, Data: []byte(data)}
		}
		send(2, 1, 1, 1, entry(2, 2, "both"), entry(3, 2, "left by a leader that has gone"))
		require.Empty(t, is.applied)
		send(3, 2, 2, 4)
		require.Equal(t, []string{"both"}, is.applied)
		send(3, 1, 1, 4, entry(2, 2, "both"))
		require.Equal(t, []string{"both"}, is.applied)
		send(3, 2, 2, 4, entry(3, 3, "instead"), entry(4, 3, "more"), entry(5, 3, "not committed"))
		require.Equal(t, []string{"both", "instead", "more"}, is.applied)
		send(3, 5, 3, 5)
		require.Equal(t, []string{"both", "instead", "more", "not committed"}, is.applied)
		time.Sleep(time.Millisecond)
		require.NoError(t, e.Close())
	})
}
