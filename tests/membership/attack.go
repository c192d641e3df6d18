package membership

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
	"lockserver/server/raft"
)

// Servers are the members of a group, and servers that may become members. Each has a number, which is never
// reused.
type Servers interface {
	// All returns the numbers of the servers, in a fixed order.
	All() []int
	// Peer returns the id of a server, and its addresses.
	Peer(server int) raft.Peer
	// Runs reports whether a server runs.
	Runs(server int) bool
	// Start starts a stopped server with its data.
	Start(server int)
	// Kill ends a server at once. The server may have ended already.
	Kill(server int)
	// Cut separates a server from all others, or connects it again. Ask reaches it in both cases.
	Cut(server int, on bool)
	// Add creates a server with an empty disk and starts it, or returns false if there is no place for
	// another.
	Add() (server int, ok bool)
	// Forget ends a server and removes it with its data.
	Forget(server int)
	// Ask sends a command to a server. Without a reply within the limit the result is an error.
	Ask(server int, limit time.Duration, words ...string) resp.Value
}

const (
	// most is the largest number of members that the attack makes.
	most = 5
	// steps is the number of steps between two restorations.
	steps = 15
	// patience is the longest time for an event that comes by itself, on a busy machine.
	patience = time.Minute
)

// Attack sends random commands about members to a group.
type Attack struct {
	Servers
	t       testing.TB
	random  *rand.Rand
	written map[string]string // acknowledged writes
	token   int64
	did     []string // steps since the last restoration

	writes, added, removed, refused int
	compared                        int // changes of a group that was serving before
}

// Run attacks a group that has a leader, for two rounds, or for the number of minutes in the environment
// variable MINUTES. SEED determines the random steps. These conditions must hold:
//   - nothing acknowledged is lost, and no token falls;
//   - a group that serves still serves after a change, whatever the reply was, without repairs;
//   - an address without a listener is refused, and is no member;
//   - when all members are back, they have the same data.
func Run(t testing.TB, servers Servers) {
	t.Helper()
	seed, err := strconv.ParseUint("0"+os.Getenv("SEED"), 10, 64)
	require.NoError(t, err)
	minutes, err := strconv.ParseFloat("0"+os.Getenv("MINUTES"), 64)
	require.NoError(t, err)
	a := &Attack{Servers: servers, t: t, random: rand.New(rand.NewPCG(seed, 41)), written: map[string]string{}}
	rounds := 0
	for begun := time.Now(); rounds < 2 || time.Since(begun).Minutes() < minutes; rounds++ {
		for range steps {
			a.step()
			a.write()
		}
		a.restore()
	}
	t.Logf("%d rounds, %d writes, %d members added, %d removed, %d removals refused because no majority would be left, %d changes of a group that served before",
		rounds, a.writes, a.added, a.removed, a.refused, a.compared)
}

// leader returns a server that says it leads, or false.
func (a *Attack) leader() (server int, ok bool) {
	for _, s := range a.All() {
		if a.Runs(s) && strings.Contains(a.Ask(s, 2*time.Second, "RAFT", "INFO").Str, "raft_role:leader") {
			return s, true
		}
	}
	return 0, false
}

// nothingLeads is the reply if no server was asked.
const nothingLeads = "nothing leads"

// answer runs a command once on the leader. The result is an error if there is no reply in time.
func (a *Attack) answer(words ...string) resp.Value {
	s, ok := a.leader()
	if !ok {
		return resp.Value{Kind: '-', Str: nothingLeads}
	}
	return a.Ask(s, 3*time.Second, words...)
}

// eventually waits until a condition holds.
func (a *Attack) eventually(what string, so func() bool) {
	a.t.Helper()
	for begun := time.Now(); !so(); time.Sleep(10 * time.Millisecond) {
		if time.Since(begun) > patience {
			require.FailNow(a.t, "not so: "+what, "%s", strings.Join(a.did, "\n"))
		}
	}
}

// write writes a value, which must stay if it is acknowledged. A lock's token must rise.
func (a *Attack) write() {
	a.writes++
	key, value := "key"+strconv.Itoa(a.writes%50), strconv.Itoa(a.writes)
	before, was := a.written[key]
	delete(a.written, key) // without a reply the value is the old or the new one
	v := a.answer("SET", key, value)
	if v.Kind != '-' {
		a.written[key] = value
	} else if v.Str == nothingLeads {
		if was {
			a.written[key] = before
		}
		return
	}
	if v := a.answer("LOCK", "door"+value, "me", "PX", "600000", "ONCE"); v.Kind == ':' {
		require.Greater(a.t, v.Int, a.token, "a token falls: %v", a.did)
		a.token = v.Int
	}
}

// say records a step and its reply.
func (a *Attack) say(what string, server int, v resp.Value) {
	a.did = append(a.did, fmt.Sprintf("%s %s: %.120s", what, a.Peer(server).ID, v.String()))
}

// step does one random step.
func (a *Attack) step() {
	all := a.All()
	s := all[a.random.IntN(len(all))]
	switch a.random.IntN(15) {
	case 0, 1:
		a.Kill(s)
		a.say("kill", s, resp.Value{})
	case 2, 3:
		if !a.Runs(s) {
			a.Start(s)
			a.say("start", s, resp.Value{})
		}
	case 4, 5:
		a.Cut(s, true)
		a.say("cut", s, resp.Value{})
	case 6, 7:
		a.Cut(s, false)
		a.say("heal", s, resp.Value{})
	case 8:
		if a.Runs(s) {
			a.change("transfer", s, "RAFT", "TRANSFER", a.Peer(s).ID)
		}
	case 9, 10:
		a.remove(s)
	case 11, 12, 13:
		a.addServer()
	default:
		a.addNothing()
	}
}

// change asks for a change of the members. Whatever the reply is, a group that served before must still
// serve, without repairs. A learner that was added before may become a voter at this time, although it was
// just killed: then the group need not serve.
func (a *Attack) change(what string, s int, words ...string) (v resp.Value) {
	a.t.Helper()
	served := a.answer("SET", "served", "1").Kind == '+' && a.learners() == 0
	v = a.answer(words...)
	a.say(what, s, v)
	if served {
		a.compared++
		a.serves()
	}
	return v
}

// remove removes a member.
func (a *Attack) remove(s int) {
	v := a.change("remove", s, "RAFT", "REMOVE", a.Peer(s).ID)
	switch {
	case v.Kind != '-':
		a.removed++
	case strings.Contains(v.Str, "no leader any more"):
		a.refused++
	}
}

// addServer adds a new server.
func (a *Attack) addServer() {
	if ids := a.listed("id"); len(ids) == 0 || len(ids) >= most {
		return
	}
	s, ok := a.Add()
	if !ok {
		return
	}
	p := a.Peer(s)
	if a.change("add", s, "RAFT", "ADD", p.ID, p.Raft, p.Client).Kind != '-' {
		a.added++
	}
}

// addNothing tries to add an address without a listener.
func (a *Attack) addNothing() {
	dead := "x" + strconv.Itoa(a.random.IntN(100))
	v := a.answer("RAFT", "ADD", dead, "127.0.0.77:1", "127.0.0.77:2")
	a.did = append(a.did, fmt.Sprintf("add of nothing: %.120s", v.String()))
	require.True(a.t, v.IsError(), "nothing listens there: %s", v)
	require.NotContains(a.t, a.listed("id"), strconv.Quote(dead), "%v", a.did)
}

// serves waits until the group acknowledges a write.
func (a *Attack) serves() {
	a.t.Helper()
	a.eventually("the group serves", func() bool { return a.answer("SET", "serves", "1").Kind == '+' })
}

// listed returns a field of each member from the leader, or nothing if no leader replies.
func (a *Attack) listed(field string) (values []string) {
	for _, row := range a.answer("RAFT", "MEMBERS").Elems {
		for i := 0; i+1 < len(row.Elems); i += 2 {
			if row.Elems[i].Str == field {
				values = append(values, row.Elems[i+1].String())
			}
		}
	}
	return values
}

// learners returns the number of members without a vote.
func (a *Attack) learners() (n int) {
	for _, voter := range a.listed("voter") {
		if voter == "0" {
			n++
		}
	}
	return n
}

// restore connects and starts all servers, forgets those that are no members, and checks the data.
func (a *Attack) restore() {
	a.t.Helper()
	for _, s := range a.All() {
		a.Cut(s, false)
		if !a.Runs(s) {
			a.Start(s)
		}
	}
	a.serves()
	for key, value := range a.written {
		var v resp.Value
		a.eventually(key+" is read", func() bool {
			v = a.answer("GET", key)
			return v.Kind != '-'
		})
		require.Equal(a.t, value, v.Str, "%s\n%s", key, strings.Join(a.did, "\n"))
	}
	var members []string
	a.eventually("the members are known", func() bool {
		members = a.listed("id")
		return len(members) > 0
	})
	is := map[string]bool{}
	for _, id := range members {
		is[id] = true
	}
	for _, s := range a.All() {
		if !is[strconv.Quote(a.Peer(s).ID)] {
			a.Forget(s)
		}
	}
	require.Len(a.t, a.All(), len(members), "each member is one of the servers: %v", members)
	a.eventually("all members have the same data", func() bool {
		digests := map[string]bool{}
		for _, s := range a.All() {
			v := a.Ask(s, 3*time.Second, "DEBUG", "DIGEST")
			digests[v.String()] = true
			if v.IsError() {
				return false
			}
		}
		return len(digests) == 1
	})
	a.did = nil
}
