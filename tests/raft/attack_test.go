//go:build raft

package raft

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/internal/resp"
)

// attack sends random commands about members to a group while members die and are cut off.
type attack struct {
	*group
	random  *rand.Rand
	writes  int
	written map[string]string // what was acknowledged
	token   int64
	did     []string
	added   int
	made    int // servers so far
	refused int
}

// answer has any member that leads run a command once. The reply is an error if it has to be given up.
func (a *attack) answer(words ...string) resp.Value {
	for _, m := range a.all {
		if m.srv != nil && m.askWithin(2*time.Second, "RAFT", "INFO").Kind != '-' && m.field("raft_role") == "leader" {
			return m.askWithin(3*time.Second, words...)
		}
	}
	return resp.Value{Kind: '-', Str: "nothing leads"}
}

// one is a member that is one of the group, or was.
func (a *attack) one() *member { return a.all[a.random.IntN(len(a.all))] }

// write writes what has to stay, if it is acknowledged. A lock's token has to rise.
func (a *attack) write() {
	a.writes++
	key, value := "key"+strconv.Itoa(a.writes%50), strconv.Itoa(a.writes)
	before := a.written[key]
	delete(a.written, key) // without an answer it is one of the two
	if v := a.answer("SET", key, value); v.Kind != '-' {
		a.written[key] = value
	} else if strings.Contains(v.Str, "nothing leads") {
		if before != "" {
			a.written[key] = before
		}
		return
	}
	if v := a.answer("LOCK", "door"+value, "me", "PX", "600000", "ONCE"); v.Kind == ':' {
		require.Greater(a.t, v.Int, a.token, "a token falls: %v", a.did)
		a.token = v.Int
	}
}

// step does one thing.
func (a *attack) step() {
	m := a.one()
	say := func(what string, v resp.Value) {
		a.did = append(a.did, fmt.Sprintf("%s %s: %.60s", what, m.peer.ID, v.String()))
	}
	switch a.random.IntN(14) {
	case 0:
		m.stop()
		say("kill", resp.Value{})
	case 1, 2, 3:
		if m.srv == nil && m.joined() {
			m.start()
			say("start", resp.Value{})
		}
	case 4:
		a.isolate(m, true)
		say("cut", resp.Value{})
	case 5, 6:
		a.isolate(m, false)
		say("heal", resp.Value{})
	case 7:
		if m.srv != nil {
			say("transfer", a.answer("RAFT", "TRANSFER", m.peer.ID))
		}
	case 8, 9:
		v := a.answer("RAFT", "REMOVE", m.peer.ID)
		say("remove", v)
		if strings.Contains(v.Str, "no leader any more") {
			a.refused++
		}
	case 10, 11, 12:
		a.addMember()
	default:
		dead := "x" + strconv.Itoa(a.random.IntN(100))
		v := a.answer("RAFT", "ADD", dead, dead+":1", dead+":2")
		require.True(a.t, v.IsError(), "nothing listens there")
		say("add of nothing", v)
	}
}

// joined reports whether a member has a disk of a group.
func (m *member) joined() bool {
	last, err := m.logs.LastIndex()
	return err == nil && last > 0
}

// addMember adds a new server, or one that waits for it.
func (a *attack) addMember() {
	if len(a.listed()) >= 5 {
		return
	}
	peers := a.peers
	a.peers = nil
	m := a.add(a.made)
	a.made++
	m.start()
	a.peers = peers
	v := a.answer("RAFT", "ADD", m.peer.ID, m.peer.Raft, m.peer.Client)
	a.did = append(a.did, fmt.Sprintf("add %s: %.60s", m.peer.ID, v.String()))
	if v.Kind != '-' {
		a.added++
	}
}

// listed are the ids of the members by the leader; none without one.
func (a *attack) listed() (ids []string) {
	for _, row := range a.answer("RAFT", "MEMBERS").Elems {
		for i := 0; i+1 < len(row.Elems); i += 2 {
			if row.Elems[i].Str == "id" {
				ids = append(ids, row.Elems[i+1].Str)
			}
		}
	}
	return ids
}

// restore heals all, starts all, and looks at what there is.
func (a *attack) restore() {
	a.t.Helper()
	for _, m := range a.all {
		a.isolate(m, false)
		if m.srv == nil && m.joined() {
			m.start()
		}
	}
	fail := func(what string) string { return what + "\n" + strings.Join(a.did, "\n") }
	eventually(a.t, fail("the group serves when all are there"), func() bool { return a.answer("SET", "restored", "1").Kind == '+' })
	for key, value := range a.written {
		require.Equal(a.t, value, a.do("GET", key).Str, fail(key))
	}
	ids := map[string]bool{}
	for _, id := range a.listed() {
		ids[id] = true
	}
	var left []*member
	for _, m := range a.all {
		if ids[m.peer.ID] {
			left = append(left, m)
		} else {
			m.stop()
		}
	}
	require.NotEmpty(a.t, left)
	eventually(a.t, fail("all members have the same data"), func() bool {
		is := map[string]bool{}
		for _, m := range left {
			is[m.ask("DEBUG", "DIGEST").String()] = true
		}
		return len(is) == 1
	})
	a.all, a.did = left, nil
}

// TestAttackOnMembership: a group is asked for changes while its members die and are cut off. When they are
// back it serves, and has all that was acknowledged. Its tokens have risen. SEED chooses what happens, and
// MINUTES says for how long.
func TestAttackOnMembership(t *testing.T) {
	t.Parallel()
	seed, err := strconv.ParseUint("0"+os.Getenv("SEED"), 10, 64)
	require.NoError(t, err)
	minutes, err := strconv.ParseFloat("0"+os.Getenv("MINUTES"), 64)
	require.NoError(t, err)
	a := &attack{group: newGroup(t, 3, nil), random: rand.New(rand.NewPCG(seed, 41)), written: map[string]string{}, made: 3}
	a.leader()
	rounds := 0
	for begun := time.Now(); rounds < 2 || time.Since(begun).Minutes() < minutes; rounds++ {
		for range 15 {
			a.step()
			a.write()
		}
		a.restore()
	}
	t.Logf("%d rounds, %d writes, %d members added, %d changes refused because no majority would be left", rounds, a.writes, a.added, a.refused)
}
