package server

import (
	"context"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"lockserver/tests/testkit"
)

// looksLike is a server in test mode that looks like a group.
func looksLike(t testing.TB, topology string) *instance {
	return start(t, Options{EventLoops: true, Directives: map[string]string{"test-mode": "yes", "test-topology": topology}})
}

func at(t testing.TB, addr string) *testkit.Client {
	return testkit.Dial(t, func() (net.Conn, error) { return net.Dial("tcp", addr) })
}

// members are where CLUSTER SLOTS says that they are, the leader first.
func members(c *testkit.Client) (addrs []string) {
	for _, m := range c.Do("CLUSTER", "SLOTS").Elems[0].Elems[2:] {
		addrs = append(addrs, net.JoinHostPort(m.Elems[0].Str, m.Elems[1].String()))
	}
	return addrs
}

// A cluster of three; one of them has the slots. When another gets them, waiters and clients of the old one
// lose their connections, and new clients of the old one are redirected.
func TestLooksLikeACluster(t *testing.T) {
	t.Parallel()
	srv := looksLike(t, "cluster")
	first := srv.Addr().String()
	c, waiter, other := at(t, first), at(t, first), at(t, first)
	nodes := members(c)
	require.Len(t, nodes, 3)
	require.Equal(t, first, nodes[0])
	replica := at(t, nodes[1])
	says(t, c, [][2]string{{"SET foo 1", "+OK"}, {"WAIT 2 0", "2"}, {"READONLY", "+OK"}})
	require.Contains(t, replica.Do("WAIT", "1", "0").String(), "-ERR WAIT cannot be used with replica instances")
	says(t, replica, [][2]string{{"GET foo", "-MOVED 12182 " + first}, {"READONLY", "+OK"}, {"GET foo", `"1"`}, {"SET foo 2", "-MOVED 12182 " + first}})
	require.NotEqual(t, c.Do("CLUSTER", "MYID").Str, replica.Do("CLUSTER", "MYID").Str)
	require.Contains(t, replica.Do("INFO", "replication").Str, "role:slave")
	waiter.Send("BLPOP", "l", "0")
	eventually(t, func() bool { return infoNumber(t, c, "blocked_clients") == 1 }, "it waits")

	leader := c.Do("TEST.FAILOVER").Str
	require.Equal(t, nodes[1], leader)
	for _, gone := range []*testkit.Client{waiter, other} {
		_, err := gone.Next()
		require.Error(t, err)
	}
	moved := "-MOVED 12182 " + leader
	says(t, c, [][2]string{{"READWRITE", "+OK"}, {"GET foo", moved}, {"READONLY", "+OK"}, {"GET foo", `"1"`}, {"SET foo 2", moved}, {"TEST.CLOCK FREEZE 5000", "5000"}})
	says(t, at(t, first), [][2]string{{"SET foo 2", moved}})
	says(t, replica, [][2]string{{"SET foo 2", "+OK"}, {"BLPOP nothing 0.001", "*nil"}}[:1])
	require.Equal(t, []string{nodes[1], nodes[0], nodes[2]}, members(c))
	require.Contains(t, c.Do("CLUSTER", "INFO").Str, "cluster_current_epoch:2")
	require.Equal(t, nodes[2], c.Do("TEST.FAILOVER").Str)
	_, err := replica.Next()
	require.Error(t, err)
	says(t, c, [][2]string{{"TEST.RESET", "+OK"}, {"SET foo 3", "+OK"}})
	require.Equal(t, nodes, members(c))
	require.Contains(t, c.Do("CONFIG", "SET", "port", "0").String(), "test-topology")

	inside := client(t, srv) // comes to no port
	says(t, inside, [][2]string{{"GET foo", `"3"`}})
	ids := make(map[string]string)
	for _, addr := range nodes {
		ids[addr] = runID(t, addr)
	}
	require.NoError(t, srv.Close())
	for addr, id := range ids {
		requireStopped(t, addr, id)
	}
}

// Three servers behind Sentinels, which they are themselves: who listens to one hears where the master is.
func TestLooksLikeSentinels(t *testing.T) {
	t.Parallel()
	srv := looksLike(t, "sentinel")
	first := srv.Addr().String()
	c, other, listener := at(t, first), at(t, first), at(t, first)
	_, port, err := net.SplitHostPort(first)
	require.NoError(t, err)
	says(t, c, [][2]string{{"SENTINEL get-master-addr-by-name mymaster", `["127.0.0.1" "` + port + `"]`}, {"SET foo 1", "+OK"}, {"SELECT 3", "+OK"}, {"SELECT 0", "+OK"}})
	require.Len(t, c.Do("SENTINEL", "SENTINELS", "mymaster").Elems, 2)
	require.Len(t, c.Do("SENTINEL", "REPLICAS", "mymaster").Elems, 2)
	says(t, listener, [][2]string{{"SUBSCRIBE +switch-master", `["subscribe" "+switch-master" 1]`}})
	host, now, err := net.SplitHostPort(c.Do("TEST.FAILOVER").Str)
	require.NoError(t, err)
	require.Equal(t, `["message" "+switch-master" "mymaster 127.0.0.1 `+port+` `+host+` `+now+`"]`, listener.Receive().String())
	_, err = other.Next()
	require.Error(t, err)
	says(t, c, [][2]string{{"SET foo 2", "-READONLY You can't write against a read only replica."}, {"GET foo", `"1"`}, {"SENTINEL get-master-addr-by-name mymaster", `["127.0.0.1" "` + now + `"]`}})
	says(t, at(t, net.JoinHostPort(host, now)), [][2]string{{"SET foo 2", "+OK"}, {"ROLE", ""}}[:1])
}

// go-redis' clients of a cluster, and of Sentinels, find the leader, and the next one.
func TestClientsFollowTheLeader(t *testing.T) {
	t.Parallel()
	for topology, dial := range map[string]func(addr string) redis.UniversalClient{
		"cluster": func(addr string) redis.UniversalClient {
			return redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{addr}})
		},
		"sentinel": func(addr string) redis.UniversalClient {
			return redis.NewFailoverClient(&redis.FailoverOptions{MasterName: "mymaster", SentinelAddrs: []string{addr}})
		},
	} {
		t.Run(topology, func(t *testing.T) {
			srv := looksLike(t, topology)
			c := at(t, srv.Addr().String())
			client := dial(srv.Addr().String())
			defer client.Close()
			ctx, cancel := context.WithTimeout(context.Background(), soon)
			defer cancel()
			for n := range int64(7) {
				eventually(t, func() bool { return client.Set(ctx, "n", n, 0).Err() == nil }, "it finds the leader")
				got, err := client.Get(ctx, "n").Int64()
				require.NoError(t, err)
				require.Equal(t, n, got)
				require.NoError(t, client.Do(ctx, "LOCK", "door", "me", "PX", 600_000).Err())
				c.Do("TEST.FAILOVER")
				// The client may send it again, if its connection ends before the reply comes.
				eventually(t, func() bool { return client.Do(ctx, "RENEW", "door", "me", "PX", 600_000).Err() == nil }, "the lock is there")
			}
		})
	}
}

// threePorts are three free ports in a row, below those that the system gives away. Until the test ends their
// UDP ports are taken, so that no other test on this machine gets the same.
func threePorts(t testing.TB) (first int) {
	t.Helper()
	for first = 20_000 + 3*rand.IntN(3_000); first < 32_000; first += 3 {
		if reserveThree(t, first) {
			return first
		}
	}
	t.Fatal("no three ports are free")
	return 0
}

// reserveThree says whether three ports are free, and takes their UDP ports if so.
func reserveThree(t testing.TB, first int) bool {
	var reserved []net.PacketConn
	for port := first; port < first+3; port++ {
		udp, err := net.ListenPacket("udp", localPort(port))
		if err != nil {
			break
		}
		reserved = append(reserved, udp)
		tcp, err := net.Listen("tcp", localPort(port))
		if err != nil {
			break
		}
		require.NoError(t, tcp.Close())
		if port == first+2 {
			t.Cleanup(func() { closeAll(reserved) })
			return true
		}
	}
	closeAll(reserved)
	return false
}

func closeAll(conns []net.PacketConn) {
	for _, c := range conns {
		_ = c.Close()
	}
}

func localPort(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

// If another process has the port of any member, the server says which it is, does not start, and leaves
// nothing open. It starts when the ports are free.
func TestTopologyPortIsTaken(t *testing.T) {
	t.Parallel()
	first := threePorts(t)
	o := Options{EventLoops: true, Addr: localPort(first), Directives: map[string]string{"test-mode": "yes", "test-topology": "cluster"}}
	for i, line := range []string{"TCP listening socket " + localPort(first), "test-topology: member 2: ", "test-topology: member 3: "} {
		taken, err := net.Listen("tcp", localPort(first+i))
		require.NoError(t, err)
		srv, err := newInstance(o)
		require.NoError(t, err)
		err = srv.Start()
		require.ErrorContains(t, err, line)
		require.ErrorContains(t, err, "ddress already in use")
		require.NoError(t, srv.Close())
		require.NoError(t, taken.Close())
		for port := first; port < first+3; port++ {
			_, err := net.Dial("tcp", localPort(port))
			require.Error(t, err, port)
		}
	}
	srv, err := newInstance(o)
	require.NoError(t, err)
	require.NoError(t, srv.Start())
	t.Cleanup(func() { _ = srv.Close() })
	c := at(t, localPort(first))
	for _, next := range []int{first + 1, first + 2, first} { // a leader that has gone comes back to its own port
		require.Equal(t, localPort(next), c.Do("TEST.FAILOVER").Str)
		require.Equal(t, localPort(next), members(c)[0], "there is a leader at once")
		says(t, at(t, localPort(next)), [][2]string{{"SET foo 1", "+OK"}})
	}
}

// A further server looks like what was asked for, a server that stands alone has no leader to change, and
// without test mode there is no such command.
func TestTopologyIsAskedFor(t *testing.T) {
	t.Parallel()
	c := client(t, inTestMode(t))
	says(t, c, [][2]string{{"TEST.FAILOVER", "-ERR there is no group: start the server with --test-topology cluster, or sentinel"}, {"TEST.SERVER NEW RING", "-ERR syntax error"}})
	cluster := at(t, c.Do("TEST.SERVER", "NEW", "CLUSTER").Str)
	require.Len(t, members(cluster), 3)
	sentinel := at(t, c.Do("TEST.SERVER", "NEW", "sentinel").Str)
	require.True(t, strings.HasPrefix(sentinel.Do("SENTINEL", "CKQUORUM", "mymaster").Str, "OK 3 "))
	says(t, at(t, c.Do("TEST.SERVER", "NEW", "STANDALONE").Str), [][2]string{{"CLUSTER INFO", "-ERR This instance has cluster support disabled"}})
	_, err := newInstance(Options{Directives: map[string]string{"test-topology": "cluster"}})
	require.ErrorContains(t, err, "needs test-mode")
	_, err = newInstance(Options{Directives: map[string]string{"test-mode": "yes", "test-topology": "cluster", "unixsocket": "/tmp/none", "unixsocketperm": "700"}})
	require.ErrorContains(t, err, "needs a port")
}
