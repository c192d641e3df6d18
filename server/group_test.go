package server

import (
	"net"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/server/topology"
	"lockserver/tests/testkit"
)

// group is a group of three members; this one is a. The test says which one leads.
type group struct {
	*topology.Group
	t    testing.TB
	term int64
}

func newGroup(t testing.TB, o topology.GroupOptions) *group {
	o.Self = func(net.Addr) string { return topology.NodeID("a") }
	g := &group{Group: topology.New(o), t: t}
	g.lead("a")
	return g
}

// lead makes a member the leader; with an empty name the group has no leader.
func (g *group) lead(name string) {
	g.t.Helper()
	g.term++
	v := topology.View{Term: g.term}
	for i, member := range []string{"a", "b", "c"} {
		v.Members = append(v.Members, topology.Member{ID: topology.NodeID(member), Host: "127.0.0.1", Port: 7001 + i, Up: true})
	}
	if name != "" {
		v.Leader = topology.NodeID(name)
	}
	require.NoError(g.t, g.Update(v))
}

// says sends lines and compares the replies.
func says(t *testing.T, c *testkit.Client, lines [][2]string) {
	t.Helper()
	for _, line := range lines {
		require.Equal(t, line[1], c.Do(strings.Fields(line[0])...).String(), line[0])
	}
}

// The reply of a member of a cluster depends on the leader; slots 12182, 5061 and 15495 are those of foo,
// bar and a. The keys of a command may have several slots (D145).
func TestClusterSendsClientsOn(t *testing.T) {
	t.Parallel()
	g := newGroup(t, topology.GroupOptions{})
	srv := start(t, Options{Group: g.Group})
	c := client(t, srv)
	for range 3 { // the second time on the fast path
		says(t, c, [][2]string{{"mset foo 1 bar 2", "+OK"}, {"mget foo bar", `["1" "2"]`}, {"rename foo bar", "+OK"}, {"copy bar foo", "1"}})
	}
	says(t, c, [][2]string{
		{"select 0", "+OK"}, {"select 1", "-ERR SELECT is not allowed in cluster mode"}, {"select x", "-ERR value is not an integer or out of range"},
		{"move foo 1", "-ERR MOVE is not allowed in cluster mode"}, {"swapdb 0 1", "-ERR SWAPDB is not allowed in cluster mode"},
		{"copy foo bar db 1 replace", "-ERR DB index is out of range"}, {"copy foo bar db 0 replace", "1"},
	})

	g.lead("b")
	moved := "-MOVED 12182 127.0.0.1:7002"
	says(t, c, [][2]string{
		{"get foo", moved}, {"set foo 2", moved}, {"mget foo bar", moved}, {"watch foo", moved}, {"type foo", moved},
		{"lock foo me", moved}, {"blpop foo 0", moved}, {"object encoding foo", moved}, {"spublish foo x", moved}, {"ssubscribe foo", moved},
		{"eval x y foo", "-ERR value is not an integer or out of range"}, {"eval x 1 foo", moved}, {"fcall_ro f 1 foo", moved},
		{"get", "-ERR wrong number of arguments for 'get' command"}, {"nosuch foo", "-ERR unknown command 'nosuch', with args beginning with: 'foo' "},
		{"flushall", "-READONLY You can't write against a read only replica."}, {"lock.attach me", "-MOVED 0 127.0.0.1:7002"}, {"dbsize", "-MOVED 0 127.0.0.1:7002"},
		{"keys *", "-MOVED 0 127.0.0.1:7002"}, {"ping", "+PONG"}, {"publish foo x", "0"},
		{"multi", "+OK"}, {"get foo", moved}, {"ping", "+QUEUED"}, {"exec", "-EXECABORT Transaction discarded because of previous errors."},
		{"multi", "+OK"}, {"ping", "+QUEUED"}, {"exec", `[+PONG]`},
		{"readonly", "+OK"}, {"get foo", moved}, {"readwrite", "+OK"}, {"asking", "+OK"}, {"get foo", moved},
	})
	say := c.Do("EVAL", "return redis.call('get', 'foo')", "0").String()
	require.Contains(t, say, "-ERR Script attempted to access a non local key in a cluster node script:")
	require.Contains(t, c.Do("INFO", "errorstats").String(), "errorstat_MOVED:count=")
	require.Contains(t, c.Do("INFO", "commandstats").String(), "cmdstat_get:calls=0,")
	require.Equal(t, `["slave" "127.0.0.1" 7002 "connected" 0]`, c.Do("ROLE").String())
	require.Contains(t, c.Do("HELLO").String(), `"mode" "cluster" "role" "replica"`)

	g.lead("a")
	says(t, c, [][2]string{{"multi", "+OK"}, {"get foo", "+QUEUED"}})
	g.lead("c")
	says(t, c, [][2]string{{"exec", "-MOVED 12182 127.0.0.1:7003"}, {"exec", "-ERR EXEC without MULTI"}})

	g.lead("")
	down := "-CLUSTERDOWN The cluster is down"
	says(t, c, [][2]string{{"get foo", down}, {"set foo 1", down}, {"eval x 1 foo", down}, {"ping", "+PONG"}, {"keys *", down}})
	require.Contains(t, c.Do("EVAL", "return redis.call('get', 'foo')", "0").String(),
		"-ERR Script attempted to execute a command while the cluster is down script:")
	require.Contains(t, c.Do("CLUSTER", "INFO").String(), "cluster_state:fail")
}

// A command that waits is answered when its member leads no more; locks, too.
func TestWhoWaitsIsSentOn(t *testing.T) {
	t.Parallel()
	g := newGroup(t, topology.GroupOptions{})
	srv := start(t, Options{Group: g.Group})
	holder, waiter, popper := client(t, srv), client(t, srv), client(t, srv)
	require.Equal(t, "1", holder.Do("LOCK", "foo", "me").String()[:1])
	waiter.Send("LOCK", "foo", "you", "WAIT", "0")
	popper.Send("BLPOP", "bar", "0")
	eventually(t, func() bool { return infoNumber(t, holder, "blocked_clients") == 2 }, "both wait")
	g.lead("b")
	require.Equal(t, "-MOVED 12182 127.0.0.1:7002", waiter.Receive().String())
	require.Equal(t, "-MOVED 5061 127.0.0.1:7002", popper.Receive().String())
}

// With a real replica's manners, members that do not lead answer what only reads, after READONLY.
func TestReplicasServe(t *testing.T) {
	t.Parallel()
	g := newGroup(t, topology.GroupOptions{ReplicasServe: true})
	srv := start(t, Options{Group: g.Group})
	c := client(t, srv)
	says(t, c, [][2]string{{"set foo 1", "+OK"}})
	g.lead("b")
	moved := "-MOVED 12182 127.0.0.1:7002"
	says(t, c, [][2]string{{"get foo", moved}, {"dbsize", "1"}, {"readonly", "+OK"}, {"get foo", `"1"`}, {"set foo 1", moved},
		{"multi", "+OK"}, {"get foo", "+QUEUED"}, {"exec", `["1"]`}, {"readwrite", "+OK"}, {"get foo", moved}, {"readonly", "+OK"}, {"reset", "+RESET"}, {"get foo", moved}})
}

// Behind Sentinels no reply names the leader; subscribers get a message about a new leader. A server alone,
// and one of a cluster, have no commands of Sentinels.
func TestSentinelsTell(t *testing.T) {
	t.Parallel()
	g := newGroup(t, topology.GroupOptions{Form: topology.Sentinel, Name: "it"})
	srv := start(t, Options{Group: g.Group})
	c, listener := client(t, srv), client(t, srv)
	require.Equal(t, `["subscribe" "+switch-master" 1]`, listener.Do("SUBSCRIBE", "+switch-master").String())
	readOnly := "-READONLY You can't write against a read only replica."
	says(t, c, [][2]string{{"set foo 1", "+OK"}, {"select 1", "+OK"}, {"select 0", "+OK"}, {"readonly", "-ERR This instance has cluster support disabled"},
		{"sentinel get-master-addr-by-name it", `["127.0.0.1" "7001"]`}, {"sentinel get-master-addr-by-name other", "*nil"}})
	g.lead("")
	down := "-MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'."
	says(t, c, [][2]string{{"set foo 1", down}, {"get foo", down}, {"lock.attach me", down}, {"ping", "+PONG"}, {"sentinel get-master-addr-by-name it", `["127.0.0.1" "7001"]`}})
	g.lead("c")
	require.Equal(t, `["message" "+switch-master" "it 127.0.0.1 7001 127.0.0.1 7003"]`, listener.Receive().String())
	says(t, c, [][2]string{{"set foo 1", readOnly}, {"get foo", readOnly}, {"sentinel get-master-addr-by-name it", `["127.0.0.1" "7003"]`},
		{"sentinel ckquorum it", "+OK 3 usable Sentinels. Quorum and failover authorization can be reached"}, {"flushall", readOnly}})
	require.Equal(t, readOnly, c.Do("EVAL", "return redis.pcall('get', 'foo')", "0").String())
	for _, o := range []Options{{}, {Group: newGroup(t, topology.GroupOptions{}).Group}} {
		require.Equal(t, "-ERR unknown command 'SENTINEL', with args beginning with: 'masters' ", client(t, start(t, o)).Do("SENTINEL", "masters").String())
	}
}
