//go:build unix

package fleet

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/tests/testkit"
)

// GroupName is the name of the master in the replies of the members, which answer like Sentinels.
const GroupName = "mymaster"

// Group is a raft group of lockservers. Its members elect their leader.
type Group struct {
	Members []*Process

	t       testing.TB
	secure  *Secure // nil if the members let every client in
	raftAt  []string
	members string // the directive
}

// Form starts lockservers that form a group, and waits until one of them leads. The lines of conf are for all
// of them.
func Form(t testing.TB, conf string, programs ...string) *Group {
	t.Helper()
	return FormSecure(t, nil, conf, programs...)
}

// FormSecure is Form for members that require TLS and a user.
func FormSecure(t testing.TB, secure *Secure, conf string, programs ...string) *Group {
	t.Helper()
	g := prepare(t, secure, conf, programs...)
	for _, p := range g.Members {
		p.Launch() // without the other members it may reply to PING that there is no leader
	}
	g.AwaitLeader()
	return g
}

// Prepare is Form without the start of the processes.
func Prepare(t testing.TB, conf string, programs ...string) *Group {
	t.Helper()
	return prepare(t, nil, conf, programs...)
}

func prepare(t testing.TB, secure *Secure, conf string, programs ...string) *Group {
	t.Helper()
	g := &Group{t: t, secure: secure}
	var members []string
	for i, program := range programs {
		p := g.Add(program, conf+"include members\n")
		members = append(members, fmt.Sprintf("%s=%s/%s", g.ID(p), g.raftAt[i], p.Addr()))
	}
	g.members = "raft-members \"" + strings.Join(members, " ") + "\"\n"
	for _, p := range g.Members {
		require.NoError(t, os.WriteFile(filepath.Join(p.Dir(), "members"), []byte(g.members), 0o600))
	}
	return g
}

// Add prepares one more server, which is not a member yet.
func (g *Group) Add(program, conf string) *Process {
	g.t.Helper()
	at := net.JoinHostPort("127.0.0.1", testkit.FreePort(g.t))
	id := string(rune('a' + len(g.Members)))
	p := NewProcess(g.t, program, "enable-debug-command yes\nraft-id "+id+"\nraft-listen "+at+"\n"+conf)
	g.secure.member(p)
	g.Members, g.raftAt = append(g.Members, p), append(g.raftAt, at)
	return p
}

// ID returns the id of a member.
func (g *Group) ID(p *Process) string { return string(rune('a' + g.index(p))) }

// RaftAt returns the address of a member for the other members.
func (g *Group) RaftAt(p *Process) string { return g.raftAt[g.index(p)] }

func (g *Group) index(p *Process) int {
	for i, m := range g.Members {
		if m == p {
			return i
		}
	}
	require.Fail(g.t, p.Port+" is no member")
	return -1
}

// Others returns all members except one.
func (g *Group) Others(than *Process) (rest []*Process) {
	for _, p := range g.Members {
		if p != than {
			rest = append(rest, p)
		}
	}
	return rest
}

// Leader waits until one of the given members leads, or one of all members.
func (g *Group) Leader(of ...*Process) (found *Process) {
	g.t.Helper()
	if len(of) == 0 {
		of = g.Members
	}
	eventually(g.t, "a member of the group leads", func() bool {
		for _, p := range of {
			if p.Field("raft_role") == "leader" {
				found = p
				return true
			}
		}
		return false
	})
	return found
}

// AwaitLeader waits until one member leads and all others follow it.
func (g *Group) AwaitLeader() *Process {
	g.t.Helper()
	var leader *Process
	eventually(g.t, "all agree on who leads", func() bool {
		leader = g.Leader()
		for _, p := range g.Others(leader) {
			if p.Field("raft_role") != "follower" || !p.follows(leader) {
				return false
			}
		}
		return leader.Field("raft_role") == "leader"
	})
	return leader
}

// Successor waits until another member leads.
func (g *Group) Successor(of *Process) *Process {
	g.t.Helper()
	return g.Leader(g.Others(of)...)
}

// Replace makes another member lead, while the leader lives.
func (g *Group) Replace(leader *Process) {
	g.t.Helper()
	require.Equal(g.t, "+OK", leader.TryWithin(patience, "RAFT", "TRANSFER").String())
}

// Same waits until all members have the same data; no client may write meanwhile.
func (g *Group) Same(leader *Process) {
	g.t.Helper()
	eventually(g.t, "all have the same data", func() bool {
		is := leader.Try("DEBUG", "DIGEST").String()
		for _, p := range g.Others(leader) {
			if p.Try("DEBUG", "DIGEST").String() != is {
				return false
			}
		}
		return len(is) > 20 // it is no error
	})
}
