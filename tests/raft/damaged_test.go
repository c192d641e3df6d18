package raft

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/server"
	"lockserver/server/raft/engine"
)

// onDisks is a group of members with directories.
type onDisks struct {
	*group
	dirs    map[string]string
	release map[string]func() error
	acked   int
}

func newOnDisks(t *testing.T, change ...func(*engine.Options)) *onDisks {
	d := &onDisks{dirs: map[string]string{}, release: map[string]func() error{}}
	top := t.TempDir()
	d.group = newGroup(t, 3, func(eo *engine.Options, so *server.Options) {
		eo.Log, eo.MoveDamaged = so.Log, true
		d.dirs[eo.ID] = filepath.Join(top, eo.ID)
		require.NoError(t, engine.KeepIn(d.dirs[eo.ID], "disks", eo))
		d.release[eo.ID] = eo.Release
		for _, f := range change {
			f(eo)
		}
	})
	t.Cleanup(func() {
		for _, m := range d.all {
			d.end(m)
		}
	})
	return d
}

// end ends a member, which releases its directory.
func (d *onDisks) end(m *member) {
	m.stop()
	if release := d.release[m.peer.ID]; release != nil {
		delete(d.release, m.peer.ID)
		require.NoError(d.t, release())
	}
}

// write returns after the given number of acknowledged writes.
func (d *onDisks) write(n int) {
	d.t.Helper()
	for range n {
		require.Equal(d.t, "OK", d.do("SET", fmt.Sprint("key", d.acked), fmt.Sprint("value", d.acked)).Str)
		d.acked++
	}
}

// has requires that a member has all acknowledged writes.
func (d *onDisks) has() {
	d.t.Helper()
	for i := range d.acked {
		require.Equal(d.t, fmt.Sprint("value", i), d.do("GET", fmt.Sprint("key", i)).Str)
	}
}

// logs returns the files of a member's log.
func (d *onDisks) logs(m *member) []string {
	all, err := filepath.Glob(filepath.Join(d.dirs[m.peer.ID], "disk", "log", "*.log"))
	require.NoError(d.t, err)
	require.NotEmpty(d.t, all)
	return all
}

// TestFlippedEntry: one bit of a value is flipped in the log of one member. The member does not serve the
// wrong value, and has no vote until it has received all data from the leader. All members report the damage.
func TestFlippedEntry(t *testing.T) {
	t.Parallel()
	d := newOnDisks(t)
	d.write(20)
	require.Equal(t, "OK", d.do("SET", "pay", "order-4711").Str)
	d.same()
	c := d.others(d.leader())[0]
	d.end(c)
	path := d.logs(c)[0]
	is, err := os.ReadFile(path)
	require.NoError(t, err)
	at := bytes.Index(is, []byte("order-4711"))
	require.Positive(t, at)
	is[at+9] ^= 1
	require.NoError(t, os.WriteFile(path, is, 0o600))
	before := d.leader().field("raft_incarnation")
	c.start()
	eventually(t, "it has everything again, and a vote", func() bool {
		d.leader().ask("RAFT", "TRANSFER", c.peer.ID)
		return c.field("raft_role") == "leader"
	})
	require.NotEqual(t, before, c.field("raft_incarnation"))
	require.Equal(t, "order-4711", d.do("GET", "pay").Str)
	d.has()
	d.same()
	for _, m := range d.all {
		eventually(t, "each member says which file, which place and why", func() bool {
			alarm := m.field("raft_alarm")
			return strings.Contains(alarm, filepath.Base(path)) && strings.Contains(alarm, "damaged at the offset ") && strings.Contains(alarm, "checksum")
		})
	}
	require.Contains(t, c.ask("RAFT", "MEMBERS").String(), filepath.Base(path))
	kept, err := filepath.Glob(filepath.Join(d.dirs[c.peer.ID], "damaged-*", "disk", "log", filepath.Base(path)))
	require.NoError(t, err)
	require.Len(t, kept, 1, "nothing is deleted")
	require.NoError(t, os.RemoveAll(filepath.Dir(filepath.Dir(filepath.Dir(kept[0])))))
	eventually(t, "the alarm ends when the files are removed", func() bool { return !strings.Contains(c.field("raft_alarm"), "damaged") })
}

// TestLostLogBesideASnapshot: two members acknowledge writes while the third member is away. One of the two
// loses its log, but not its snapshot. It does not vote for the third member, which does not have these
// writes.
func TestLostLogBesideASnapshot(t *testing.T) {
	t.Parallel()
	d := newOnDisks(t)
	d.write(20)
	for _, m := range d.all {
		require.Equal(t, "OK", m.ask("RAFT", "SNAPSHOT").Str)
	}
	a := d.leader()
	b, c := d.others(a)[0], d.others(a)[1]
	d.end(c)
	d.write(20)
	d.end(a)
	d.end(b)
	for _, path := range d.logs(b) {
		require.NoError(t, os.Remove(path))
	}
	b.start()
	c.start()
	eventually(t, "it says that its disk is damaged", func() bool { return strings.Contains(b.field("raft_alarm"), "was damaged") })
	for range 20 { // elections of the third one, which may not get its vote
		before := c.number("raft_term")
		require.NotEqual(t, "leader", c.field("raft_role"))
		require.NotEqual(t, "leader", b.field("raft_role"))
		require.Equal(t, before, c.number("raft_term"))
		require.NotEqual(t, "OK", c.ask("SET", "unknown", "value").Str)
	}
	a.start()
	d.has()
	d.same()
}

// TestDamagedWhileRunning: an entry of the leader's log is damaged while the leader runs, and another member
// needs this entry. The leader does not send it: it stops and says why, and the others go on. At its next
// start it moves the damaged files away, and becomes a voter again.
func TestDamagedWhileRunning(t *testing.T) {
	t.Parallel()
	d, a, c, path := newDamagedWhileRunning(t)
	for tries := 1; a.field("raft_role") != "stopped"; tries++ { // a call to c that had read the entry before was still on its way
		require.Less(t, tries, 10)
		d.same()
		d, a, c, path = newDamagedWhileRunning(t)
	}
	eventually(t, "it says why", func() bool {
		alarm := a.field("raft_alarm")
		return strings.Contains(alarm, filepath.Base(path)) && strings.Contains(alarm, "the checksum of the entry ")
	})
	eventually(t, "the others go on", func() bool { return d.leader() != a })
	require.Equal(t, "order-4711", d.do("GET", "pay").Str)
	eventually(t, "the third one has everything", func() bool {
		return c.ask("DEBUG", "DIGEST").Str == d.leader().ask("DEBUG", "DIGEST").Str
	})
	d.end(a)
	a.start()
	eventually(t, "it has everything again, and a vote", func() bool {
		d.leader().ask("RAFT", "TRANSFER", a.peer.ID)
		return a.field("raft_role") == "leader"
	})
	require.Contains(t, a.field("raft_alarm"), filepath.Base(path))
	require.Equal(t, "order-4711", d.do("GET", "pay").Str)
	d.has()
	d.same()
}

// TestSnapshotDamagedWhileRunning: the snapshot of the leader is damaged, and a member that was away needs
// it. The leader stops and names the file. The others go on, together with the member that was away.
func TestSnapshotDamagedWhileRunning(t *testing.T) {
	t.Parallel()
	d := newOnDisks(t, func(eo *engine.Options) { eo.Trailing = 1 })
	d.write(30)
	d.same()
	a := d.leader()
	c := d.others(a)[0]
	d.end(c)
	d.write(30)
	require.Equal(t, "OK", a.askWithin(patience, "RAFT", "SNAPSHOT").Str)
	all, err := filepath.Glob(filepath.Join(d.dirs[a.peer.ID], "disk", "snapshots", "*", "state.bin"))
	require.NoError(t, err)
	require.NotEmpty(t, all)
	for _, path := range all {
		is, err := os.ReadFile(path)
		require.NoError(t, err)
		is[len(is)/2] ^= 1
		require.NoError(t, os.WriteFile(path, is, 0o600))
	}
	c.start()
	eventually(t, "it stops, unless another member has come to lead", func() bool {
		return a.field("raft_role") == "stopped" || c.field("raft_last_index") == a.field("raft_last_index")
	})
	if a.field("raft_role") == "stopped" {
		require.Contains(t, a.field("raft_alarm"), "state.bin: damaged: its checksum is wrong")
		d.end(a)
		a.start()
	}
	eventually(t, "the third one has everything", func() bool {
		return c.ask("DEBUG", "DIGEST").Str == d.leader().ask("DEBUG", "DIGEST").Str
	})
	d.has()
	d.same()
}

// newDamagedWhileRunning starts a group, and damages an entry in a file of its leader a while c is down. It
// returns when a has stopped or c, which has started again, has everything.
func newDamagedWhileRunning(t *testing.T) (d *onDisks, a, c *member, path string) {
	d = newOnDisks(t)
	d.write(10)
	d.same()
	a = d.leader()
	c = d.others(a)[0]
	d.end(c)
	require.Equal(t, "OK", d.do("SET", "pay", "order-4711").Str)
	d.write(700) // the newest 512 entries are in memory
	path = d.logs(a)[0]
	is, err := os.ReadFile(path)
	require.NoError(t, err)
	at := bytes.Index(is, []byte("order-4711"))
	require.Positive(t, at)
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = f.WriteAt([]byte{is[at+9] ^ 1}, int64(at+9))
	require.NoError(t, err)
	require.NoError(t, f.Close())
	c.start()
	eventually(t, "the leader stops, or had sent the entry before", func() bool {
		return a.field("raft_role") == "stopped" || c.field("raft_last_index") == a.field("raft_last_index") && c.ask("DEBUG", "DIGEST").Str == a.ask("DEBUG", "DIGEST").Str
	})
	return d, a, c, path
}
