package raft

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"

	hraft "github.com/hashicorp/raft"
	"github.com/stretchr/testify/require"

	"lockserver/internal/resp"
	"lockserver/server"
	"lockserver/server/raft/engine"
	"lockserver/tests/testkit"
)

// fields is a reply of names and values.
func fields(v resp.Value) map[string]resp.Value {
	all := map[string]resp.Value{}
	for i := 0; i+1 < len(v.Elems); i += 2 {
		all[v.Elems[i].Str] = v.Elems[i+1]
	}
	return all
}

// TestBackupInPieces: RAFT READ returns a backup piece by piece, in order and once. The backup is an RDB file
// with the data of the member at the start. It goes on when later snapshots replace the one that it reads.
func TestBackupInPieces(t *testing.T) {
	t.Parallel()
	g := newGroup(t, 3, nil)
	noise := make([]byte, 3<<20)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(noise)
	require.Equal(t, "OK", g.do("SET", "big", string(noise)).Str)
	require.Positive(t, g.do("LOCK", "door", "alice", "PX", "600000", "ONCE").Int)
	g.same()
	for _, m := range g.all {
		is := fields(m.ask("RAFT", "BACKUP"))
		require.Positive(t, is["index"].Int, is)
		require.Positive(t, is["time-ms"].Int)
		require.Positive(t, is["token"].Int)
		require.Equal(t, m.field("raft_group_id"), is["group"].Str)
		require.Contains(t, is["members"].Str, "b=b:7001/b:6380")
		id := is["id"].Str
		require.Contains(t, m.ask("RAFT", "READ", id, "1").Str, "from its beginning to its end")
		require.Contains(t, m.ask("RAFT", "READ", id, "x").Str, "not an integer")
		require.Contains(t, m.ask("RAFT", "READ", "none", "0").Str, "no backup has this id")
		var data bytes.Buffer
		for {
			piece := m.ask("RAFT", "READ", id, strconv.Itoa(data.Len()))
			require.False(t, piece.IsError(), piece.Str)
			if piece.Str == "" {
				break
			}
			data.WriteString(piece.Str)
			require.Equal(t, "OK", g.do("SET", "later", strconv.Itoa(data.Len())).Str)
			require.Equal(t, "OK", m.ask("RAFT", "SNAPSHOT").Str)
		}
		require.EqualValues(t, is["bytes"].Int, data.Len())
		require.Contains(t, m.ask("RAFT", "READ", id, strconv.Itoa(data.Len())).Str, "no backup has this id", "it is closed")
		loadsAs(t, data.Bytes(), noise)
		g.do("DEL", "later")
		g.same()
	}
	m := g.leader()
	for range 4 {
		require.NotEmpty(t, fields(m.ask("RAFT", "BACKUP"))["id"].Str)
	}
	require.Contains(t, m.ask("RAFT", "BACKUP").Str, "too many backups")
}

// loadsAs starts a single server with a backup. The server must have the first keys and the lock, and no
// later key.
func loadsAs(t *testing.T, backup, noise []byte) {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "dump.rdb"), backup, 0o600))
	srv, err := server.New(server.Options{Directives: map[string]string{"bind": "", "dir": dir, "dbfilename": "dump.rdb", "save": ""}})
	require.NoError(t, err)
	t.Cleanup(func() { _ = srv.Close() })
	require.NoError(t, srv.Start())
	conn, err := srv.Dial()
	require.NoError(t, err)
	c := testkit.NewClient(t, conn)
	t.Cleanup(c.Close)
	require.True(t, c.Do("GET", "big").Str == string(noise))
	require.Contains(t, c.Do("LOCK.INFO", "door").String(), "alice")
	require.True(t, c.Do("GET", "later").IsNull())
}

// TestMembersTell: each member shows the state of all members. A member that is gone is unreachable, with its
// last state, and lags behind the writes. When it is back it has all of them.
func TestMembersTell(t *testing.T) {
	t.Parallel()
	g := newGroup(t, 3, nil)
	leader := g.leader()
	require.Equal(t, "OK", g.do("SET", "x", "1").Str)
	g.same()
	gone := g.others(leader)[0]
	of := func(m *member, id string) map[string]resp.Value {
		for _, row := range m.ask("RAFT", "MEMBERS").Elems {
			if is := fields(row); is["id"].Str == id {
				return is
			}
		}
		return nil
	}
	for _, m := range g.all {
		for _, other := range g.all {
			is := of(m, other.peer.ID)
			require.EqualValues(t, 1, is["reachable"].Int, is)
			require.Empty(t, is["unreachable"].Str)
			eventually(t, "it has all", func() bool {
				is = of(m, other.peer.ID)
				return is["lag"].Int == 0 && is["lag-ms"].Int == 0 && is["applied-index"].Int > 0
			})
			role := "follower"
			if other == leader {
				role = "leader"
			}
			require.Equal(t, role, is["role"].Str)
			require.Positive(t, is["since-ms"].Int)
			require.Positive(t, is["clock-ms"].Int)
		}
	}
	gone.stop()
	for range 20 {
		require.Equal(t, "OK", g.do("SET", "x", "2").Str)
	}
	for _, m := range g.others(gone) {
		eventually(t, "it is known to be gone", func() bool {
			is := of(m, gone.peer.ID)
			return is["reachable"].Int == 0 && is["role"].Str == "unreachable" && is["lag"].Int >= 20 && is["lag-ms"].Int > 0 && is["last-contact-ms"].Int > 0
		})
		require.Contains(t, of(m, gone.peer.ID)["unreachable"].Str, "cut")
	}
	gone.start()
	eventually(t, "it is back", func() bool {
		is := of(leader, gone.peer.ID)
		return is["reachable"].Int == 1 && is["lag"].Int == 0 && is["role"].Str == "follower"
	})
}

// fullDisk is a store of snapshots on a disk that may be full.
type fullDisk struct {
	hraft.SnapshotStore
	is atomic.Bool
}

// Create implements hraft.SnapshotStore.
func (f *fullDisk) Create(v hraft.SnapshotVersion, index, term uint64, c hraft.Configuration, at uint64, over hraft.Transport) (hraft.SnapshotSink, error) {
	if f.is.Load() {
		return nil, syscall.ENOSPC
	}
	return f.SnapshotStore.Create(v, index, term, c, at, over)
}

// TestFailedSnapshot: a failed snapshot is counted apart, and its error is shown until a snapshot succeeds.
// Until then a backup is refused with this error, also if there is an older snapshot.
func TestFailedSnapshot(t *testing.T) {
	t.Parallel()
	full := make(map[string]*fullDisk)
	g := newGroup(t, 3, func(eo *engine.Options, _ *server.Options) {
		full[eo.ID] = &fullDisk{SnapshotStore: eo.Snapshots}
		eo.Snapshots = full[eo.ID]
	})
	require.Equal(t, "OK", g.do("SET", "x", "1").Str)
	g.same()
	m := g.others(g.leader())[0]
	require.Equal(t, "OK", m.ask("RAFT", "SNAPSHOT").Str)
	require.Equal(t, 1, m.number("raft_snapshots"))
	index := m.number("raft_last_snapshot_index")
	require.Positive(t, index)
	require.Positive(t, m.number("raft_last_snapshot_bytes"))
	full[m.peer.ID].is.Store(true)
	require.Equal(t, "OK", g.do("SET", "x", "2").Str)
	g.same()
	require.Contains(t, m.ask("RAFT", "BACKUP").Str, syscall.ENOSPC.Error())
	require.Contains(t, m.field("raft_last_snapshot_error"), syscall.ENOSPC.Error())
	require.Equal(t, 1, m.number("raft_snapshots"))
	require.Equal(t, 1, m.number("raft_snapshots_failed"))
	require.Equal(t, index, m.number("raft_last_snapshot_index"), "the newest is the old one")
	full[m.peer.ID].is.Store(false)
	require.Positive(t, fields(m.ask("RAFT", "BACKUP"))["index"].Int)
	require.Empty(t, m.field("raft_last_snapshot_error"))
	require.Greater(t, m.number("raft_last_snapshot_index"), index)
}
