//go:build raft && unix

package raft

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/internal/resp"
	"lockserver/tests/fleet"
	"lockserver/tests/testkit"
)

// formed starts a group of three processes that has some keys.
func formed(t *testing.T) (g *fleet.Group, program string) {
	program = testkit.Lockserver(t)
	g = fleet.Form(t, "", program, program, program)
	for i := range 100 {
		eventually(t, "it is written", func() bool { return g.Leader().Try("SET", fmt.Sprint("key", i), "1").String() == "+OK" })
	}
	g.Same(g.AwaitLeader())
	return g, program
}

// takeDisk moves a member's directory away, as if its disk was lost.
func takeDisk(t *testing.T, p *fleet.Process) {
	require.NoError(t, os.Rename(filepath.Join(p.Dir(), "raft"), filepath.Join(p.Dir(), "raft.lost")))
}

// giveDisk brings the directory back.
func giveDisk(t *testing.T, p *fleet.Process) {
	require.NoError(t, os.RemoveAll(filepath.Join(p.Dir(), "raft")))
	require.NoError(t, os.Rename(filepath.Join(p.Dir(), "raft.lost"), filepath.Join(p.Dir(), "raft")))
}

// never fails if a condition becomes true within a time in which it would become true if it could.
func never(t *testing.T, what string, is func() bool) {
	t.Helper()
	for begun := time.Now(); time.Since(begun) < 4*time.Second; time.Sleep(50 * time.Millisecond) {
		require.False(t, is(), what)
	}
}

// roles counts the members that a process knows, by their role.
func roles(p *fleet.Process) map[string]int {
	n := map[string]int{}
	for _, e := range p.Try("RAFT", "MEMBERS").Elems {
		n[e.Elems[3].Str]++
	}
	return n
}

// TestFormingWaitsForAll: two of three listed members do not form a group. They tell operators and probes
// which member they wait for. They form the group when the third member is there.
func TestFormingWaitsForAll(t *testing.T) {
	program := testkit.Lockserver(t)
	g := fleet.Prepare(t, "", program, program, program)
	admin := withAdminPort(t, g.Members[0])
	for _, p := range g.Members[:2] {
		p.Launch()
	}
	for _, p := range g.Members[:2] {
		eventually(t, "it says what it waits for", func() bool {
			return strings.Contains(p.Field("raft_waiting"), "no group is formed before all of raft-members are there, with empty disks: c (")
		})
		require.Contains(t, p.Log(), "no group is formed before all of raft-members are there")
		require.NotEqual(t, "0", p.Field("raft_alarms"))
	}
	status, text := readyz(t, admin)
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Contains(t, text, "c (")
	never(t, "one leads", func() bool {
		return g.Members[0].Field("raft_role") == "leader" || g.Members[1].Field("raft_role") == "leader"
	})
	g.Members[2].Launch()
	g.AwaitLeader()
	eventually(t, "it is ready", func() bool {
		status, _ := readyz(t, admin)
		return status == http.StatusOK
	})
}

// withAdminPort gives a member that does not run yet a port for probes.
func withAdminPort(t *testing.T, p *fleet.Process) (port string) {
	port = testkit.FreePort(t)
	f, err := os.OpenFile(filepath.Join(p.Dir(), "members"), os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = fmt.Fprintf(f, "admin-port %s\n", port)
	require.NoError(t, errors.Join(err, f.Close()))
	return port
}

// readyz returns the answer to a probe.
func readyz(t *testing.T, port string) (status int, text string) {
	answer, err := http.Get("http://127.0.0.1:" + port + "/readyz")
	require.NoError(t, err)
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	return answer.StatusCode, string(body)
}

// TestTwoDisksAreLost: two of three members with new disks do not form a group beside the third member, which
// has the data. All three say what is wrong. With one of the disks back the group goes on, and the member
// with a new disk is taken in.
func TestTwoDisksAreLost(t *testing.T) {
	g, _ := formed(t)
	a, b, c := g.Members[0], g.Members[1], g.Members[2]
	group := a.Field("raft_group_id")
	require.Len(t, group, 16)
	for _, p := range g.Members {
		require.Equal(t, group, p.Field("raft_group_id"))
		p.Kill()
	}
	takeDisk(t, a)
	takeDisk(t, b)
	for _, p := range g.Members {
		p.Launch()
	}
	for _, p := range []*fleet.Process{a, b} {
		eventually(t, "it says what it has found", func() bool {
			waits := p.Field("raft_waiting")
			return strings.Contains(waits, "c (") && strings.Contains(waits, "has the data of a group (id "+group+")")
		})
		require.Contains(t, p.Log(), "has the data of a group")
		require.NotEqual(t, "0", p.Field("raft_alarms"))
	}
	never(t, "one leads", func() bool {
		for _, p := range g.Members {
			if p.Field("raft_role") == "leader" || p.Try("SET", "key0", "2").Str == "OK" {
				return true
			}
		}
		return false
	})
	eventually(t, "the third says who is refused", func() bool { return strings.Contains(c.Field("raft_alarm"), "disk of this member is new") })
	require.Contains(t, c.Log(), "a member cannot be called")

	a.Kill()
	giveDisk(t, a)
	a.Launch()
	require.Equal(t, `"1"`, g.Leader(a, c).Try("GET", "key99").String())
	eventually(t, "the other is a voter again", func() bool { return roles(g.Leader(a, c))["follower"] == 2 })
	g.Same(g.AwaitLeader())
	require.Equal(t, `"1"`, g.AwaitLeader().Try("GET", "key0").String(), "nothing was written meanwhile")
	require.Equal(t, group, b.Field("raft_group_id"))
}

// TestOneDiskIsLost: a member has acknowledged a lock, and comes back with a new disk. It does not vote for a
// member that does not know the lock. When the third member is there, the leader makes the member with the
// new disk a learner, and then a voter.
func TestOneDiskIsLost(t *testing.T) {
	g, _ := formed(t)
	a, b, c := g.Members[0], g.Members[1], g.Members[2]
	eventually(t, "the first leads", func() bool {
		g.Leader().Try("RAFT", "TRANSFER", "a")
		return a.Field("raft_role") == "leader"
	})
	was := b.Field("raft_incarnation")
	c.Kill()
	token := a.Try("LOCK", "door", "alice", "PX", "600000")
	require.Positive(t, token.Int, token)
	b.Kill()
	takeDisk(t, b)
	a.Kill()
	b.Launch()
	c.Launch()
	eventually(t, "it waits", func() bool { return b.Field("raft_waiting") != "" })
	never(t, "one leads", func() bool {
		return b.Field("raft_role") == "leader" || c.Field("raft_role") == "leader" || c.Try("LOCK", "door", "bob", "PX", "1000", "ONCE").Int > 0
	})
	a.Launch()
	leader := g.Leader(a, c)
	require.Contains(t, leader.Try("LOCK.INFO", "door").String(), "alice")
	eventually(t, "the leader finds the new disk", func() bool {
		return strings.Contains(a.Log()+c.Log(), "the disk of a member is another than the group knows")
	})
	eventually(t, "it is a voter again", func() bool { return roles(g.Leader(a, b, c))["follower"] == 2 })
	require.NotEqual(t, was, b.Field("raft_incarnation"))
	leader = g.AwaitLeader()
	g.Same(leader)
	leader.Kill()
	left := g.Leader(g.Others(leader)...)
	eventually(t, "two of them serve, of which one has the new disk", func() bool { return strings.Contains(left.Try("LOCK.INFO", "door").String(), "alice") })
}

// TestAnotherGroupsDisk: a member that starts with the disk of another group is refused by both groups. Both
// say so where an operator looks.
func TestAnotherGroupsDisk(t *testing.T) {
	g, _ := formed(t)
	h, _ := formed(t)
	c, foreign := g.Members[2], h.Members[2]
	for _, p := range h.Members {
		p.Kill()
	}
	theirs := filepath.Join(foreign.Dir(), "raft")
	c.Kill()
	takeDisk(t, c)
	require.NoError(t, os.CopyFS(filepath.Join(c.Dir(), "raft"), os.DirFS(theirs)))
	admin := withAdminPort(t, c)
	c.Launch()
	leader := func() *fleet.Process { return g.Leader(g.Members[:2]...) } // on a busy machine it may change
	for _, of := range []func() *fleet.Process{leader, func() *fleet.Process { return c }} {
		eventually(t, "it says so", func() bool {
			p := of()
			return strings.Contains(p.Field("raft_alarm"), "another group") && strings.Contains(p.Log(), "another group")
		})
	}
	eventually(t, "the leader shows why it refuses the member", func() bool {
		return slices.ContainsFunc(leader().Try("RAFT", "MEMBERS").Elems, func(row resp.Value) bool {
			return row.Elems[1].Str == "c" && strings.Contains(row.Elems[11].Str, "another group")
		})
	})
	status, text := readyz(t, admin)
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Contains(t, text, "another group")
	never(t, "it leads or follows", func() bool { return c.Field("raft_leader_id") != "" })
	eventually(t, "the others go on", func() bool { return leader().Try("SET", "key0", "2").String() == "+OK" })
	c.Kill()
	giveDisk(t, c)
	c.Launch()
	g.Same(g.AwaitLeader())
}

// TestAddOfNothing: RAFT ADD is refused with the reason if the group would have no reachable majority, or if
// the address serves no clients. The group goes on. A server that is added becomes a learner, and then a
// voter.
func TestAddOfNothing(t *testing.T) {
	g, program := formed(t)
	leader := g.AwaitLeader()
	nothing := func() string {
		return "127.0.0.1:" + testkit.FreePort(t)
	}
	members := identities(leader.Try("RAFT", "MEMBERS"))
	for _, id := range []string{"x", "y", "z"} {
		require.Contains(t, leader.Try("RAFT", "ADD", id, nothing(), nothing()).Str, "connection refused")
	}
	d := g.Add(program, "")
	d.Launch()
	eventually(t, "it waits", func() bool { return strings.Contains(d.Field("raft_waiting"), "RAFT ADD") })
	at := g.RaftAt(d)
	for _, c := range []struct{ id, raft, client, says string }{
		{"d", d.Addr(), at, "not the raft port of a lockserver"},
		{"d", at, nothing(), "connection refused"},
		{"e", at, d.Addr(), "a server with the raft-id 'd'"},
		{g.ID(leader), at, d.Addr(), "this member leads"},
		{g.ID(g.Others(leader)[0]), at, d.Addr(), "is there already"},
	} {
		require.Contains(t, leader.Try("RAFT", "ADD", c.id, c.raft, c.client).Str, c.says)
	}
	require.Equal(t, members, identities(leader.Try("RAFT", "MEMBERS")))
	require.Equal(t, "+OK", leader.Try("RAFT", "ADD", "d", at, d.Addr()).String())
	require.Equal(t, 3, roles(leader)["follower"])
	g.Same(g.AwaitLeader())
	d.Kill()
	eventually(t, "who is away is removed", func() bool { return leader.Try("RAFT", "REMOVE", "d").String() == "+OK" })
	require.Equal(t, 2, roles(leader)["follower"])
	rest := without(g.Members[:3], leader)
	rest[0].Kill()
	eventually(t, "the other one is needed", func() bool {
		return strings.Contains(leader.Try("RAFT", "REMOVE", g.ID(rest[1])).Str, "of the 2 voters that would be left 1 can be reached (not: "+g.ID(rest[0])+")")
	})
	require.Equal(t, "+OK", leader.Try("SET", "key0", "2").String())
}
