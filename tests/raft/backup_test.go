//go:build raft && unix

package raft

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/resp"
	"lockserver/tests/fleet"
	"lockserver/tests/testkit"
)

// tool runs the program with a command that ends on its own.
func tool(t *testing.T, words ...string) (out string, err error) {
	t.Helper()
	text, err := exec.Command(testkit.Lockserver(t), words...).CombinedOutput()
	return string(text), err
}

// mustTool is tool for a command that must succeed.
func mustTool(t *testing.T, words ...string) string {
	t.Helper()
	out, err := tool(t, words...)
	require.NoError(t, err, out)
	return out
}

// printed returns the value of a line that a tool has printed.
func printed(out, name string) string {
	for line := range strings.Lines(out) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// row is what a process knows of a member.
func row(p *fleet.Process, id string) map[string]resp.Value {
	for _, e := range p.Try("RAFT", "MEMBERS").Elems {
		is := map[string]resp.Value{}
		for i := 0; i+1 < len(e.Elems); i += 2 {
			is[e.Elems[i].Str] = e.Elems[i+1]
		}
		if is["id"].Str == id {
			return is
		}
	}
	return nil
}

// membersOf returns the directive raft-members for some processes of a group.
func membersOf(g *fleet.Group, of ...*fleet.Process) string {
	var all []string
	for _, p := range of {
		all = append(all, g.ID(p)+"="+g.RaftAt(p)+"/"+p.Addr())
	}
	return strings.Join(all, " ")
}

// TestBackupUnderLoad: a backup from a follower, while clients write, has all that the follower had when it
// began. It makes a new group of three with the data, the leases and tokens that never fall. A member of the
// old group cannot join it.
func TestBackupUnderLoad(t *testing.T) {
	g, _ := formed(t)
	leader := g.AwaitLeader()
	follower := g.Others(leader)[0]
	token := leader.Try("LOCK", "door", "alice", "PX", "600000").Int
	require.Positive(t, token)
	require.Equal(t, "+OK", leader.Try("SECKILL.CREATE", "sale", "STOCK", "10").String())
	g.Same(leader)
	stop := make(chan struct{})
	wrote := make(chan int)
	go func() {
		for n := 0; ; n++ {
			select {
			case <-stop:
				wrote <- n
				return
			default:
				leader.Try("SET", "load"+strconv.Itoa(n%1000), strconv.Itoa(n))
			}
		}
	}()
	dir := t.TempDir()
	for i := range 3 {
		for _, p := range []*fleet.Process{leader, follower} {
			file := filepath.Join(dir, fmt.Sprintf("backup%d.rdb", i))
			out := mustTool(t, "snapshot", "save", file, "--addr", p.Addr())
			index, err := strconv.Atoi(printed(out, "index"))
			require.NoError(t, err, out)
			require.Positive(t, index)
			require.Equal(t, out, mustTool(t, "snapshot", "status", file))
		}
	}
	close(stop)
	require.Positive(t, <-wrote)
	file := filepath.Join(dir, "backup2.rdb")
	old := g.Members[2]
	group := old.Field("raft_group_id")
	for _, p := range g.Members {
		p.Kill()
		mustTool(t, "check", p.Dir())
		takeDisk(t, p)
		mustTool(t, "snapshot", "restore", file, "--dir", p.Dir(), "--raft-id", g.ID(p), "--raft-members", membersOf(g, g.Members...))
		mustTool(t, "check", p.Dir())
	}
	for _, p := range g.Members {
		p.Launch()
	}
	leader = g.AwaitLeader()
	require.Equal(t, `"1"`, leader.Try("GET", "key99").String())
	require.Contains(t, leader.Try("LOCK.INFO", "door").String(), "alice")
	require.Contains(t, leader.Try("SECKILL.INFO", "sale").String(), "10")
	require.EqualValues(t, 1, leader.Try("UNLOCK", "door", "alice").Int)
	require.Greater(t, leader.Try("LOCK", "door", "bob", "PX", "600000").Int, token)
	g.Same(leader)
	require.NotEqual(t, group, leader.Field("raft_group_id"))
	eventually(t, "the disks of all are known", func() bool {
		for _, p := range g.Members {
			if row(leader, g.ID(p))["incarnation"].Str == "" {
				return false
			}
		}
		return true
	})
	if old == leader {
		old = g.Members[0]
	}
	old.Kill()
	require.NoError(t, os.RemoveAll(filepath.Join(old.Dir(), "raft")))
	require.NoError(t, os.Rename(filepath.Join(old.Dir(), "raft.lost"), filepath.Join(old.Dir(), "raft")))
	old.Launch()
	eventually(t, "the old member is refused", func() bool { return strings.Contains(leader.Field("raft_alarm"), "another group") })
	require.Equal(t, "+OK", leader.Try("SET", "key0", "2").String())
}

// TestSecondRestore: one file is restored twice for the same members. With an id of its own the second group
// refuses a member of the first.
func TestSecondRestore(t *testing.T) {
	g, _ := formed(t)
	file := filepath.Join(t.TempDir(), "backup.rdb")
	mustTool(t, "snapshot", "save", file, "--addr", g.Members[0].Addr())
	for _, p := range g.Members {
		p.Kill()
	}
	restore := func(p *fleet.Process, words ...string) {
		takeDisk(t, p)
		mustTool(t, append([]string{"snapshot", "restore", file, "--dir", p.Dir(), "--raft-id", g.ID(p), "--raft-members", membersOf(g, g.Members...)}, words...)...)
	}
	first := g.Members[0]
	restore(first)
	second := g.Members[1:]
	for _, p := range second {
		restore(p, "--group-id", "second")
	}
	for _, p := range g.Members {
		p.Launch()
	}
	eventually(t, "the member of the first group is refused", func() bool {
		for _, p := range second {
			if strings.Contains(p.Field("raft_alarm"), "another group") && p.Field("raft_role") == "leader" {
				return true
			}
		}
		return false
	})
	require.Equal(t, "second", second[0].Field("raft_group_id"))
	first.Kill()
	require.NoError(t, os.RemoveAll(filepath.Join(first.Dir(), "raft.lost")))
	restore(first, "--group-id", "second")
	first.Launch()
	eventually(t, "it is written", func() bool { return g.Leader().Try("SET", "key0", "2").String() == "+OK" })
	eventually(t, "all are members", func() bool { return roles(g.Leader())["follower"] == 2 })
	g.Same(g.AwaitLeader())
	eventually(t, "the data is there", func() bool { return g.Leader().Try("GET", "key99").String() == `"1"` })
}

// TestTwoOfThreeAreDead: two of three members are gone for good. The third member becomes a group of one,
// with all acknowledged data and with tokens that rise. Members with new disks are added to it. A member with
// its old disk is refused.
func TestTwoOfThreeAreDead(t *testing.T) {
	g, program := formed(t)
	leader := g.AwaitLeader()
	token := leader.Try("LOCK", "door", "alice", "PX", "600000").Int
	require.Positive(t, token)
	g.Same(leader)
	a, b, c := g.Members[0], g.Members[1], g.Members[2]
	eventually(t, "what is committed is written down", func() bool {
		text, err := os.ReadFile(filepath.Join(c.Dir(), "raft", "committed"))
		return err == nil && len(text) > 0
	})
	a.Kill()
	b.Kill()
	out, err := tool(t, "recover", "--dir", c.Dir(), "--i-accept-data-loss")
	require.Error(t, err, "it runs")
	require.Contains(t, out, "lock")
	c.Kill()
	out, err = tool(t, "recover", "--dir", c.Dir())
	require.Error(t, err)
	require.Contains(t, out, "nothing was changed")
	last, err := strconv.Atoi(printed(out, "last entry")[:strings.Index(printed(out, "last entry"), ",")])
	require.NoError(t, err, out)
	require.Greater(t, last, 100)
	require.Contains(t, printed(out, "last committed"), "at least")
	mustTool(t, "recover", "--dir", c.Dir(), "--i-accept-data-loss")
	mustTool(t, "check", c.Dir())
	c.Launch()
	g.Leader(c)
	require.Equal(t, `"1"`, c.Try("GET", "key99").String())
	require.Contains(t, c.Try("LOCK.INFO", "door").String(), "alice")
	require.EqualValues(t, 1, c.Try("UNLOCK", "door", "alice").Int)
	require.Greater(t, c.Try("LOCK", "door", "bob", "PX", "600000").Int, token)
	require.Len(t, c.Try("RAFT", "MEMBERS").Elems, 1)

	a.Launch() // with what it had
	eventually(t, "it is refused", func() bool {
		return strings.Contains(c.Try("RAFT", "ADD", "a", g.RaftAt(a), a.Addr()).Str, "another group")
	})
	d := g.Add(program, "")
	d.Launch()
	eventually(t, "it is added", func() bool { return c.Try("RAFT", "ADD", "d", g.RaftAt(d), d.Addr()).Str == "OK" })
	eventually(t, "it has the data", func() bool { return row(c, "d")["voter"].Int == 1 && row(c, "d")["lag"].Int == 0 })
	require.Equal(t, "follower", row(c, "d")["role"].Str)
}

// TestDeadMemberIsSeen: RAFT MEMBERS at the leader and at a follower shows a member that is dead or stands
// still, and how far behind it is. A server that is added meanwhile becomes a voter.
func TestDeadMemberIsSeen(t *testing.T) {
	g, program := formed(t)
	leader := g.AwaitLeader()
	others := g.Others(leader)
	for _, at := range g.Members {
		for _, p := range g.Members {
			is := row(at, g.ID(p))
			require.EqualValues(t, 1, is["reachable"].Int, is)
			require.Positive(t, is["disk-free"].Int)
			require.Positive(t, is["since-ms"].Int)
			require.NotEmpty(t, is["version"].Str)
		}
	}
	dead := others[0]
	dead.Kill()
	for i := range 50 {
		require.Equal(t, "+OK", leader.Try("SET", fmt.Sprint("more", i), "1").String())
	}
	for _, p := range []*fleet.Process{leader, others[1]} {
		eventually(t, "it is known to be dead, and behind", func() bool {
			is := row(p, g.ID(dead))
			return is["role"].Str == "unreachable" && is["reachable"].Int == 0 && is["lag"].Int >= 50 && is["lag-ms"].Int > 0 && is["last-contact-ms"].Int > 0 &&
				strings.Contains(is["unreachable"].Str, "refused")
		})
	}
	require.Contains(t, leader.Try("RAFT", "ADD", "typo", "127.0.0.77:"+testkit.FreePort(t), "127.0.0.77:1").Str, "connection refused")
	eventually(t, "the other one is needed", func() bool {
		return strings.Contains(leader.Try("RAFT", "REMOVE", g.ID(others[1])).Str, "the group would have no leader any more")
	})
	require.Equal(t, "+OK", leader.Try("SET", "key0", "2").String())
	d := g.Add(program, "")
	d.Launch()
	eventually(t, "it says that it waits", func() bool {
		return strings.Contains(d.Try("GET", "key0").Str, "it waits to be made a member of a group (RAFT ADD)")
	})
	require.Equal(t, "OK", leader.Try("RAFT", "ADD", "d", g.RaftAt(d), d.Addr()).Str)
	eventually(t, "it is a voter", func() bool { return row(leader, "d")["role"].Str == "follower" && row(leader, "d")["lag"].Int == 0 })

	others[1].Pause()
	eventually(t, "one that stands still is not reachable", func() bool { return row(leader, g.ID(others[1]))["reachable"].Int == 0 })
	others[1].GoOn()
	dead.Launch()
	eventually(t, "all are there", func() bool { return roles(leader)["follower"] == 3 })
}
