//go:build netns

package vanish

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"lockserver/tests/testkit"
)

// smallDisk returns a file system of a given size in megabytes, and a function to enlarge it.
func smallDisk(t *testing.T, megabytes int) (dir string, resize func(megabytes int)) {
	t.Helper()
	dir = t.TempDir()
	require.NoError(t, unix.Mount("small", dir, "tmpfs", 0, fmt.Sprintf("size=%dm", megabytes)))
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	return dir, func(megabytes int) {
		require.NoError(t, unix.Mount("small", dir, "tmpfs", unix.MS_REMOUNT, fmt.Sprintf("size=%dm", megabytes)))
	}
}

// write sets a key to the next number and a megabyte, if the group accepts it.
func (g *group) write(n int, filler string) {
	g.t.Helper()
	g.eventually("a write is taken", func() bool {
		for m := range members {
			if g.ask(m, "SET", "big", fmt.Sprint(n, filler)).Str == "OK" {
				return true
			}
		}
		return false
	})
}

// TestAMemberWithAFullDisk: the log of a member cannot grow, first that of a follower, then that of the
// leader. The group goes on, and the member says what to do. When there is space it gets all data, without a
// restart.
func TestAMemberWithAFullDisk(t *testing.T) {
	t.Parallel()
	for name, leads := range map[string]bool{"it follows": false, "it leads": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			diskIsFull(t, leads)
		})
	}
}

func diskIsFull(t *testing.T, leads bool) {
	dirs := tempDirs(t)
	const full = 2
	var resize func(int)
	dirs[full], resize = smallDisk(t, 80) // the log grows by 4 MB at a time
	g := newGroup(t, dirs)
	leader, to := g.leader(0, 1, 2), "a"
	if leads {
		to = "c"
	}
	for leads != (leader == full) {
		g.ask(leader, "RAFT", "TRANSFER", to)
		leader = g.leader(0, 1, 2)
	}
	filler := strings.Repeat("x", 1<<20)
	written := 0
	for ; !strings.Contains(g.of[full].Log(), "cannot write to its log"); written++ {
		require.Less(t, written, 300, "its disk is never full")
		g.write(written, filler)
	}
	require.Contains(t, g.of[full].Log(), "Free space on the disk")
	for range 20 {
		g.write(written, filler)
		written++
	}
	require.NotEqual(t, full, g.leader(0, 1), "a member that cannot write does not lead")
	resize(1000)
	g.eventually("all have the same", func() bool {
		first := g.ask(0, "DEBUG", "DIGEST").Str
		return len(first) == 40 && first == g.ask(1, "DEBUG", "DIGEST").Str && first == g.ask(full, "DEBUG", "DIGEST").Str
	})
	// A former leader rebuilds its engine, which may first find that it cannot store its vote.
	require.Regexp(t, "can write to its (log|directory) again", g.of[full].Log())
	t.Logf("%d megabytes were written", written)
}

// TestSnapshotOnAFullDisk: without space, RAFT SNAPSHOT replies an error, and leaves no file. With space it
// works.
func TestSnapshotOnAFullDisk(t *testing.T) {
	t.Parallel()
	dirs := tempDirs(t)
	const full = 2
	dirs[full], _ = smallDisk(t, 100) // the log grows by 4 MB at a time
	g := newGroup(t, dirs)
	g.leader(0, 1, 2)
	noise := make([]byte, 4<<20) // incompressible
	_, _ = rand.NewChaCha8([32]byte{}).Read(noise)
	g.write(0, string(noise))
	g.eventually("it has that", func() bool {
		first := g.ask(full, "DEBUG", "DIGEST").Str
		return len(first) == 40 && first == g.ask(0, "DEBUG", "DIGEST").Str
	})
	fill := filepath.Join(dirs[full], "fill")
	f, err := os.Create(fill)
	require.NoError(t, err)
	for err == nil {
		_, err = f.Write(noise[:64<<10])
	}
	require.ErrorIs(t, err, unix.ENOSPC)
	require.NoError(t, f.Close())
	snapshots := func() []string {
		all, err := filepath.Glob(filepath.Join(dirs[full], "raft", "disk", "snapshots", "*"))
		require.NoError(t, err)
		return all
	}
	require.Contains(t, g.ask(full, "RAFT", "SNAPSHOT").Str, "no snapshot was made")
	require.Empty(t, snapshots())
	require.Contains(t, g.ask(full, "RAFT", "INFO").Str, "raft_snapshots_failed:1")
	require.Contains(t, g.ask(full, "RAFT", "BACKUP").Str, "no snapshot was made")
	require.Empty(t, snapshots())
	require.NoError(t, os.Remove(fill))
	require.Equal(t, "OK", g.ask(full, "RAFT", "SNAPSHOT").Str)
	require.Len(t, snapshots(), 1)
}

// TestAnIDThatIsUsedTwice: a server has the configuration of a member, on another host, and no data. It never
// serves a client and says why, and the group is not affected.
func TestAnIDThatIsUsedTwice(t *testing.T) {
	t.Parallel()
	g := newGroup(t, tempDirs(t), "--raft-election-ms", "5000") // long, so that a busy machine starts no election
	leader := g.leader(0, 1, 2)
	g.write(1, "")
	term := g.ask(leader, "RAFT", "INFO").Str
	g.start(outside, 2, t.TempDir())
	defer func() { require.Contains(t, g.of[outside].Log(), "the id is used twice") }()
	g.eventually("it runs", func() bool { return g.ask(outside, "PING").Str != "" || strings.Contains(g.of[outside].Log(), "raft") })
	for end := time.Now().Add(8 * time.Second); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		require.NotEqual(t, "OK", g.ask(outside, "SET", "big", "theirs").Str)
		require.Equal(t, "1", g.ask(leader, "GET", "big").Str)
	}
	require.Equal(t, field(term, "raft_term"), field(g.ask(leader, "RAFT", "INFO").Str, "raft_term"), "nobody has called for an election")
}

// field returns a field of RAFT INFO.
func field(text, name string) string {
	_, rest, _ := strings.Cut(text, name+":")
	value, _, _ := strings.Cut(rest, "\r")
	return value
}

// failing makes each write to a file fail of a process, or no longer.
func failing(t *testing.T, p *testkit.Process, on bool) {
	t.Helper()
	var limit unix.Rlimit
	require.NoError(t, unix.Prlimit(p.Pid(), unix.RLIMIT_FSIZE, nil, &limit))
	limit.Cur = limit.Max
	if on {
		limit.Cur = 0
	}
	require.NoError(t, unix.Prlimit(p.Pid(), unix.RLIMIT_FSIZE, &limit, nil))
}

// TestChangeThatCannotBeWritten: the disk of the leader fails when it is to remove a member. Later it leads
// again, removes the other member, which it cannot reach, and acknowledges a write. The first one is still a
// member, so it has the write.
func TestChangeThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	g := newGroup(t, tempDirs(t))
	const old, kept, removed = 0, 1, 2
	lead := func() {
		g.eventually("the first member leads", func() bool {
			leader := g.leader(old, kept, removed)
			if leader != old {
				g.ask(leader, "RAFT", "TRANSFER", "a")
			}
			return leader == old
		})
	}
	g.eventually("the change is not written", func() bool {
		lead()
		g.eventually("all follow", func() bool { return strings.Count(g.ask(old, "RAFT", "MEMBERS").String(), `"voter" 1`) == members })
		failing(t, g.of[old], true)
		v := g.refusal(old, "RAFT", "REMOVE", "b")
		failing(t, g.of[old], false)
		t.Log(v)
		return strings.Contains(v, "file too large")
	})
	lead()
	g.cut(old, removed, true)
	g.cut(removed, old, true)
	g.eventually("a member is removed", func() bool { return g.ask(old, "RAFT", "REMOVE", "c").Str == "OK" })
	g.eventually("a write is acknowledged", func() bool { return g.ask(old, "SET", "x", "acknowledged").Str == "OK" })
	require.Contains(t, g.ask(old, "RAFT", "MEMBERS").String(), `"id" "b"`, "the group has two members")
	g.eventually("the other member has the write", func() bool {
		digest := g.ask(old, "DEBUG", "DIGEST").Str
		return len(digest) == 40 && g.ask(kept, "DEBUG", "DIGEST").Str == digest
	})
	g.of[old].Kill()
	g.mend()
	require.NoError(t, g.of[old].Launch())
	require.Equal(t, "acknowledged", g.ask(g.leader(old, kept), "GET", "x").Str)
}

// refusal returns the error with which a member refuses a command, or "".
func (g *group) refusal(member int, words ...string) string {
	nc, err := net.Dial("unix", g.sockets[member])
	if err != nil {
		return ""
	}
	defer func() { _ = nc.Close() }()
	v, _ := caller{nc, bufio.NewReader(nc), time.Minute}.call(words...)
	if !v.IsError() {
		return ""
	}
	return v.Str
}
