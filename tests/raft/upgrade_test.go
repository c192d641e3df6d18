//go:build raft && upgrade && unix

package raft

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/tests/fleet"
	"lockserver/tests/testkit"
)

// upgrading is a group of an older version. Its members get other versions one after the other.
type upgrading struct {
	t            *testing.T
	g            *fleet.Group
	older, newer string // the programs
	w            writers
	token        int64 // of a lock that is held all the time
	sold         int64
}

// fromOlder prepares a group of the older version. LOCKSERVER_OLD is its program, which make upgrade builds.
func fromOlder(t *testing.T, conf string) *upgrading {
	t.Helper()
	u := &upgrading{t: t, older: os.Getenv("LOCKSERVER_OLD"), newer: testkit.Lockserver(t)}
	require.NotEmpty(t, u.older, "LOCKSERVER_OLD: run 'make upgrade'")
	u.g = fleet.Prepare(t, conf, u.older, u.older, u.older)
	return u
}

// begin starts the group, and clients that write.
func (u *upgrading) begin() {
	u.t.Helper()
	for _, p := range u.g.Members {
		p.Launch()
	}
	leader := u.g.AwaitLeader()
	u.t.Logf("from %s", cmp.Or(leader.Field("lockserver_release"), leader.Field("lockserver_version")))
	require.Equal(u.t, "OK", leader.Try("SECKILL.CREATE", "shoe", "STOCK", "1000").Str)
	u.token = leader.Try("LOCK", "door", "alice", "PX", "3600000", "ONCE").Int
	require.Positive(u.t, u.token)
	u.w.begin(u.t, 3, u.g)
}

// install gives one member another program while clients write, and waits until it is back. prepare is called
// while the member is down.
func (u *upgrading) install(p *fleet.Process, program string, prepare func(p *fleet.Process)) {
	u.t.Helper()
	u.w.more(u.t)
	code, err := p.Terminate()
	require.NoError(u.t, err)
	require.Zero(u.t, code)
	p.Install(program)
	if prepare != nil {
		prepare(p)
	}
	p.Start()
	u.whole()
}

// whole waits until all members are ready, and checks the promises of an upgrade.
func (u *upgrading) whole() {
	u.t.Helper()
	for _, p := range u.g.Members {
		out, ok := ran(u.t, "status", "--addr", p.Addr(), "--wait-ready", "60s")
		require.True(u.t, ok, out)
		require.Contains(u.t, []string{"leader", "follower"}, p.Field("raft_role"))
	}
	leader := u.g.AwaitLeader()
	require.Equal(u.t, u.token, leader.Try("LOCK", "door", "alice", "PX", "3600000", "ONCE").Int, "the holder gets its token again")
	another := leader.Try("LOCK", "gate", "bob", "PX", "3600000").Int
	require.Greater(u.t, another, u.token)
	require.EqualValues(u.t, 1, leader.Try("UNLOCK", "gate", "bob").Int)
	u.sold++
	require.Zero(u.t, leader.Try("SECKILL", "shoe", fmt.Sprint("user", u.sold), fmt.Sprint("order", u.sold)).Int)
}

// roll gives all members another program, one after the other.
func (u *upgrading) roll(program string, prepare func(p *fleet.Process)) {
	u.t.Helper()
	for _, p := range u.g.Members {
		u.install(p, program, prepare)
	}
}

// end stops the clients, and requires all acknowledged writes at all members.
func (u *upgrading) end() {
	u.t.Helper()
	u.w.end(u.t)
	last := u.g.AwaitLeader()
	u.g.Same(last)
	require.Contains(u.t, last.Try("SECKILL.INFO", "shoe").String(), fmt.Sprintf(`"sold" %d `, u.sold))
}

// TestUpgradeAndBack: a group of an older version is upgraded one member after the other while clients write,
// and goes back in the same way, as docs/HA.md says. No acknowledged write is lost, no token falls, and no
// member stops.
func TestUpgradeAndBack(t *testing.T) {
	u := fromOlder(t, "")
	u.begin()
	u.roll(u.newer, nil)
	u.roll(u.older, nil)
	u.end()
}

// TestUpgradeOfCertificates: members encrypt their messages with certificates that have a common name and no
// address. An older version accepts these. The newer version accepts them with raft-tls-names, also while
// versions differ. Without raft-tls-names it says why it does not start. The group can go back, too.
func TestUpgradeOfCertificates(t *testing.T) {
	by := testkit.NewAuthority(t)
	u := fromOlder(t, "raft-tls yes\nraft-election-ms 2000\ninclude own\n")
	directives := func(p *fleet.Process, more string) {
		i := by.IssueFor("member"+p.Port, time.Now().Add(time.Hour), "locks.example")
		putFile(t, filepath.Join(p.Dir(), "own"), fmt.Appendf(nil, "tls-cert-file %s\ntls-key-file %s\ntls-ca-cert-file %s\n%s", i.CertFile, i.KeyFile, by.File, more))
	}
	for _, p := range u.g.Members {
		directives(p, "")
	}
	u.begin()
	first := u.g.Members[0]
	u.w.more(t)
	code, err := first.Terminate()
	require.NoError(t, err)
	require.Zero(t, code)
	first.Install(u.newer)
	code, log := launchFails(t, first)
	require.NotZero(t, code)
	require.Contains(t, log, "raft-tls-names")
	first.Install(u.older)
	first.Start()
	u.whole()
	u.roll(u.newer, func(p *fleet.Process) { directives(p, "raft-tls-names locks.example\n") })
	u.roll(u.older, func(p *fleet.Process) { directives(p, "") })
	u.end()
}

// TestUpgradeOfTheHistory: leaders of all versions move many deadlines, and users change. While versions
// differ no member makes an entry that another one cannot apply, so the group can go back until the last
// member is upgraded. No member stops, and all have the same.
func TestUpgradeOfTheHistory(t *testing.T) {
	const keys, lifeMS = 12_000, 3_600_000 // more than are moved at once
	u := fromOlder(t, "")
	u.begin()
	const script = `for i = 1, ARGV[1] do redis.call('SET', 'timed' .. i, i, 'PX', ARGV[2]) end return 1`
	require.EqualValues(t, 1, u.g.AwaitLeader().Try("EVAL", script, "0", strconv.Itoa(keys), strconv.Itoa(lifeMS)).Int)
	movedBy := func() (said int) {
		for _, p := range u.g.Members {
			said += strings.Count(p.Log(), "raft: deadlines were moved on by the time without a leader")
		}
		return said
	}
	// behead kills the leader when it could tell the others nothing for a time that matters.
	behead := func() {
		t.Helper()
		u.w.more(t)
		before, leader := movedBy(), u.g.AwaitLeader()
		for _, p := range u.g.Others(leader) {
			p.Pause()
		}
		time.Sleep(2 * time.Second) // deadlines are moved after 1.5 s without a leader, by the clock of the machine
		leader.Kill()
		for _, p := range u.g.Others(leader) {
			p.GoOn()
		}
		u.g.Successor(leader)
		leader.Start()
		u.whole()
		require.Greater(t, movedBy(), before)
		require.Greater(t, u.g.AwaitLeader().Try("PTTL", "timed1").Int, int64(lifeMS/2))
	}
	for _, p := range u.g.Members[:2] {
		u.install(p, u.newer, nil)
		behead()
	}
	last := u.g.Members[2]
	for u.g.AwaitLeader() == last {
		behead()
	}
	recur := func() string {
		return u.g.AwaitLeader().Try("DELAY.ADD", "jobs", "EVERY", "3600000", "ID", "heartbeat", "f", "v").Str
	}
	eventually(t, "a leader of the newer version adds no entry that the older one would misread", func() bool {
		return strings.Contains(recur(), "runs an older version")
	})
	for _, p := range u.g.Members[:2] { // what leaders of both versions have written is no obstacle
		u.install(p, u.older, nil)
	}
	u.roll(u.newer, nil)
	eventually(t, "the members know that all of them have users of the group", func() bool {
		return u.g.AwaitLeader().Try("ACL", "SETUSER", "alice", "on", ">wonderland", "~*", "+@all").Str == "OK"
	})
	eventually(t, "all members have the user", func() bool {
		return !slices.ContainsFunc(u.g.Members, func(p *fleet.Process) bool { return !strings.Contains(p.Try("ACL", "LIST").String(), "user alice on") })
	})
	behead()
	eventually(t, "the members know that all of them know entries that recur", func() bool { return recur() == "heartbeat" })
	u.w.more(t)
	_, err := last.Terminate()
	require.NoError(t, err)
	last.Install(u.older)
	last.Launch()
	eventually(t, "the older version stops at the entry", func() bool { return strings.Contains(last.Log(), "a newer one wrote it") })
	last.Kill()
	last.Install(u.newer)
	last.Start()
	u.whole()
	u.end()
}
