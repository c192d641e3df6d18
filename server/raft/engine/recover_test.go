package engine

import (
	"bytes"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	hraft "github.com/hashicorp/raft"
	"github.com/stretchr/testify/require"

	"lockserver/server/raft"
)

// memberOf makes the directory of a member with entries in its log, as of a group of three. It returns the
// server's directory.
func memberOf(t *testing.T, entries int) (dir string) {
	dir = t.TempDir()
	o := Options{ID: "a", Log: slog.New(slog.DiscardHandler)}
	require.NoError(t, KeepIn(filepath.Join(dir, "raft"), "g", &o))
	defer func() { require.NoError(t, o.Release()) }()
	require.NoError(t, o.Identity.learn("oldgroup"))
	var all hraft.Configuration
	for _, id := range []string{"a", "b", "c"} {
		p := raft.Peer{ID: id, Raft: id + ":7000", Client: id + ":6379", Incarnation: o.Identity.incarnation}
		all.Servers = append(all.Servers, hraft.Server{ID: hraft.ServerID(id), Address: configured(p, "oldgroup")})
	}
	require.NoError(t, o.Logs.StoreLog(&hraft.Log{Index: 1, Term: 1, Type: hraft.LogConfiguration, Data: hraft.EncodeConfiguration(all)}))
	for i := 2; i <= entries; i++ {
		require.NoError(t, o.Logs.StoreLog(&hraft.Log{Index: uint64(i), Term: 2, Type: hraft.LogNoop}))
	}
	require.NoError(t, o.Stable.SetUint64(keyTerm, 5))
	o.committed.write(uint64(entries-1), time.UnixMilli(1_700_000_000_000))
	return dir
}

// TestRecover: a survivor is the only member of a group with another id, at the end of its log, and its term
// is above all before. A dry run changes nothing.
func TestRecover(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	dir := memberOf(t, 10)
	for range 2 {
		r, err := Recover(dir, log, true)
		require.NoError(t, err)
		require.Equal(t, "oldgroup", r.OldGroup)
		require.Len(t, r.Before, 3)
		require.EqualValues(t, 10, r.Last)
		require.EqualValues(t, 9, r.Committed)
		require.Equal(t, time.UnixMilli(1_700_000_000_000), r.CommittedAt)
	}
	r, err := Recover(dir, log, false)
	require.NoError(t, err)
	o := Options{ID: "a", Log: log}
	require.NoError(t, KeepIn(filepath.Join(dir, "raft"), "g", &o))
	defer func() { require.NoError(t, o.Release()) }()
	require.Equal(t, r.Group, o.Identity.Group())
	var l hraft.Log
	require.NoError(t, o.Logs.GetLog(11, &l))
	only := hraft.DecodeConfiguration(l.Data).Servers
	require.Len(t, only, 1)
	require.Equal(t, r.Group, groupOf(only))
	require.EqualValues(t, 6, l.Term)
	term, err := o.Stable.GetUint64(keyTerm)
	require.NoError(t, err)
	require.EqualValues(t, 6, term)
}

// TestRecoverOfNothing: a directory that has no member's data, or is in use, is refused and stays as it is.
func TestRecoverOfNothing(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	_, err := Recover(t.TempDir(), log, false)
	require.ErrorContains(t, err, "is no directory of a member")
	dir := t.TempDir()
	o := Options{ID: "a", Log: log}
	require.NoError(t, KeepIn(filepath.Join(dir, "raft"), "g", &o))
	_, err = Recover(dir, log, false)
	require.ErrorContains(t, err, "is in use: stop the server")
	require.NoError(t, o.Release())
	_, err = Recover(dir, log, false)
	require.ErrorContains(t, err, "nothing to recover")
}

// TestCheckOfADirectory: a member's directory is sound, and stays as it is. A changed byte of the log is
// found, wherever it is; behind the last entry it is cut off.
func TestCheckOfADirectory(t *testing.T) {
	dir := filepath.Join(memberOf(t, 10), "raft")
	files, err := filepath.Glob(filepath.Join(dir, diskDir, logDir, "*.log"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	before, err := os.ReadFile(files[0])
	require.NoError(t, err)
	var out bytes.Buffer
	require.NoError(t, Check(dir, &out))
	require.Contains(t, out.String(), "log: entries 1 to 10 in 1 files, up to term 2")
	require.Contains(t, out.String(), "member b: b:7000, clients at b:6379, a voter")
	require.Contains(t, out.String(), "committed up to 9 at least")
	after, err := os.ReadFile(files[0])
	require.NoError(t, err)
	require.True(t, bytes.Equal(before, after))

	end := (len(bytes.TrimRight(before, "\x00")) + 7) / 8 * 8
	for at := 0; at < end; at += 7 {
		bad := bytes.Clone(before)
		bad[at] ^= 0xff
		require.NoError(t, os.WriteFile(files[0], bad, 0o600))
		require.Error(t, Check(dir, io.Discard), at)
	}
	copy(before[end+64:], "a write that was not finished")
	require.NoError(t, os.WriteFile(files[0], before, 0o600))
	out.Reset()
	require.NoError(t, Check(dir, &out))
	require.Contains(t, out.String(), "is a write that was not finished, which a start cuts off")
}
