package engine

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	hraft "github.com/hashicorp/raft"
	"github.com/stretchr/testify/require"

	"lockserver/server/raft"
)

// entryOf is a member that has an entry of a group.
func entryOf(t *testing.T, id, group string) *Identity {
	y := newIdentity(t, id, slog.New(slog.DiscardHandler))
	require.NoError(t, y.logs.StoreLog(&hraft.Log{Index: 1, Term: 1}))
	if group != "" {
		require.NoError(t, y.learn(group))
	}
	return y
}

// at is the address of a member in the configuration of a group.
func (y *Identity) at(group string) hraft.ServerAddress {
	return configured(raft.Peer{Raft: y.id + ":1", Client: y.id + ":2", Incarnation: y.incarnation}, group)
}

// TestMeet: members of one group meet. One of another group, or with another disk than the caller knows, is
// refused, as caller and as callee.
func TestMeet(t *testing.T) {
	a, b, other := entryOf(t, "a", "ours"), entryOf(t, "b", "ours"), entryOf(t, "c", "theirs")
	require.NoError(t, Meet(a, b, b.at("ours")))
	require.NoError(t, Meet(b, a, a.at("ours")))
	require.ErrorContains(t, Meet(a, other, other.at("ours")), "another group, with the id ours")
	require.ErrorContains(t, Meet(other, a, a.at("theirs")), "another group, with the id theirs")
	require.NotEmpty(t, a.refusals())
	require.NotEmpty(t, other.refusals())
	before := b.at("ours")
	again := entryOf(t, "b", "ours")
	require.ErrorContains(t, Meet(a, again, before), "knows this member by the disk "+b.incarnation)
	require.ErrorContains(t, a.heard(before, "ours "+again.incarnation), "the group knows it by "+b.incarnation)
	require.Error(t, a.heard(before, "ours"))
}

// TestEmptyMember: a member with an empty disk is called by its incarnation, and takes the id of the first
// group that calls it. It keeps both.
func TestEmptyMember(t *testing.T) {
	a, other := entryOf(t, "a", "ours"), entryOf(t, "x", "theirs")
	fresh := newIdentity(t, "b", slog.New(slog.DiscardHandler))
	require.ErrorIs(t, Meet(a, fresh, entryOf(t, "b", "ours").at("ours")), errEmptyHere)
	require.ErrorIs(t, Meet(a, fresh, "b:1/b:2"), errEmptyHere)
	require.ErrorIs(t, Meet(entryOf(t, "a", ""), fresh, "b:1/b:2"), errNoIdentity)
	require.Empty(t, fresh.Group())
	require.NoError(t, Meet(a, fresh, fresh.at("ours")))
	require.Equal(t, "ours", fresh.Group())
	require.ErrorContains(t, Meet(other, fresh, fresh.at("theirs")), "another group")
	o := Options{ID: "b", Log: fresh.log, Logs: fresh.logs, Stable: fresh.stable, Snapshots: fresh.snapshots}
	require.NoError(t, o.Identify())
	require.Equal(t, "ours", o.Identity.Group())
	require.Equal(t, fresh.incarnation, o.Identity.incarnation)
}

// TestOlderMembers: a member of a group that an older version has formed meets others of it, with identities
// and without.
func TestOlderMembers(t *testing.T) {
	older := func(id string) *Identity {
		store := hraft.NewInmemStore()
		require.NoError(t, store.StoreLog(&hraft.Log{Index: 1, Term: 1}))
		o := Options{ID: id, Log: slog.New(slog.DiscardHandler), Logs: store, Stable: store, Snapshots: hraft.NewInmemSnapshotStore()}
		require.NoError(t, o.Identify())
		return o.Identity
	}
	a, b := older("a"), older("b")
	require.NoError(t, Meet(a, b, "b:1/b:2"))
	require.NoError(t, a.learn("ours"))
	require.NoError(t, Meet(a, b, b.at("ours")), "it has not heard of the id yet")
	require.NoError(t, Meet(b, a, "a:1/a:2"))
	require.Empty(t, b.Group(), "the log says it, not a caller")
	require.Error(t, Meet(b, entryOf(t, "c", "ours"), "c:1/c:2"), "no older version has formed this group")
}

// TestGroupOf: the id of a group is taken from a configuration that must be committed.
func TestGroupOf(t *testing.T) {
	with, without := hraft.Server{Address: "a:1/a:2/i/g"}, hraft.Server{Address: "b:1/b:2"}
	require.Equal(t, "", groupOf(nil))
	require.Equal(t, "g", groupOf([]hraft.Server{with}))
	require.Equal(t, "", groupOf([]hraft.Server{with, without, without}))
	require.Equal(t, "g", groupOf([]hraft.Server{with, with, without}))
	require.Equal(t, raft.Peer{ID: "a", Raft: "a:1", Client: "a:2", Incarnation: "i"}, peerOf("a", with.Address))
	require.Equal(t, hraft.ServerAddress("a:1/a:2"), Bare(with.Address))
}

// TestRefusalsAreBounded: refused callers fill neither the memory nor the log.
func TestRefusalsAreBounded(t *testing.T) {
	var log bytes.Buffer
	y := newIdentity(t, "a", slog.New(slog.NewTextHandler(&log, nil)))
	for range 1000 {
		y.refuse("x", "", errors.New("the same"))
	}
	require.Equal(t, 1, strings.Count(log.String(), "the same"))
	for range 1000 {
		y.refuse(newID(), "", errors.New("another"))
	}
	require.LessOrEqual(t, len(y.refused), mostRefusals)
	before := y.refusals()
	for range 1000 {
		y.turnedAway(newID(), errors.New("a scan"))
	}
	require.Len(t, y.refusals(), len(before)-1, "unnamed callers take the place of each other")
	require.LessOrEqual(t, len(y.refused), mostRefusals)
}

// TestHelloIsRead: what a server says of itself is read as it was said.
func TestHelloIsRead(t *testing.T) {
	h := Hello{Peer: raft.Peer{ID: "a b", Raft: "h:1", Client: "[::1]:2", Incarnation: "i"}, Group: "g", Charter: "-", Empty: true, Version: "1+2",
		Founders: []raft.Peer{{ID: "a", Raft: "h:1", Client: "h:2"}, {ID: "b", Raft: "h:3", Client: "h:4"}}}
	is, err := decodeHello(h.encode())
	require.NoError(t, err)
	require.Equal(t, h, is)
	for _, bad := range []string{"", "OK", "id=a", "%zz"} {
		_, err := decodeHello(bad)
		require.ErrorIs(t, err, errNoMember, bad)
	}
	require.True(t, h.expects([]raft.Peer{{ID: "b", Raft: "h:3"}}))
	require.False(t, h.expects([]raft.Peer{{ID: "b", Raft: "h:9"}, {ID: "c", Raft: "h:3"}}))
}

// failingSnapshots is a store of snapshots on a full disk.
type failingSnapshots struct{ hraft.SnapshotStore }

func (f failingSnapshots) Create(v hraft.SnapshotVersion, index, term uint64, c hraft.Configuration, at uint64, over hraft.Transport) (hraft.SnapshotSink, error) {
	s, err := f.SnapshotStore.Create(v, index, term, c, at, over)
	return failingSink{s}, err
}

type failingSink struct{ hraft.SnapshotSink }

func (failingSink) Close() error  { return errors.New("no space left on device") }
func (failingSink) Cancel() error { return errors.New("no space left on device") }

// TestUnfinishedSnapshots: nothing is left of a snapshot that could not be written, whether that is found
// out at its end, or the process ended.
func TestUnfinishedSnapshots(t *testing.T) {
	dir := t.TempDir()
	log := slog.New(slog.DiscardHandler)
	left := func() []string {
		all, err := filepath.Glob(filepath.Join(dir, "snapshots", "*"))
		require.NoError(t, err)
		return all
	}
	s, err := openSnapshots(dir, log)
	require.NoError(t, err)
	kept := s.(*tidied)
	kept.SnapshotStore = failingSnapshots{kept.SnapshotStore}
	_, over := hraft.NewInmemTransport("a")
	for _, end := range []func(hraft.SnapshotSink) error{hraft.SnapshotSink.Close, hraft.SnapshotSink.Cancel} {
		sink, err := s.Create(1, 7, 2, hraft.Configuration{}, 1, over)
		require.NoError(t, err)
		require.Len(t, left(), 1)
		require.Error(t, end(sink))
		require.Empty(t, left())
	}
	require.NoError(t, os.Mkdir(filepath.Join(dir, "snapshots", "2-7-1.tmp"), 0o700))
	_, err = openSnapshots(dir, log)
	require.NoError(t, err)
	require.Empty(t, left())
}
