package server

import (
	"fmt"
	"net"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/internal/config"
	"lockserver/tests/testkit"
)

// clientLine is the line of CLIENT LIST of the client with an id, as others see it.
func clientLine(t *testing.T, by *testkit.Client, id int64) string {
	t.Helper()
	return by.Do("CLIENT", "LIST", "ID", strconv.FormatInt(id, 10)).Str
}

// awaitRead is the client's line once the server knows that its replies are sent: a reader may be quicker
// than the writer that records it.
func awaitRead(t *testing.T, by *testkit.Client, id int64) (line string) {
	t.Helper()
	eventually(t, func() bool { line = clientLine(t, by, id); return figure(t, line, "omem") == 0 }, "read")
	return line
}

// figure is a number in a line of CLIENT LIST.
func figure(t *testing.T, line, name string) int {
	t.Helper()
	found := regexp.MustCompile(" " + name + `=(\d+)`).FindStringSubmatch(line)
	require.NotNil(t, found, "%s in %q", name, line)
	n, err := strconv.Atoi(found[1])
	require.NoError(t, err)
	return n
}

func sendRaw(t *testing.T, c *testkit.Client, text string) {
	t.Helper()
	_, err := c.Conn().Write([]byte(text))
	require.NoError(t, err)
}

func requireClosed(t *testing.T, c *testkit.Client) {
	t.Helper()
	_, err := c.Next()
	require.Error(t, err)
	require.NotErrorIs(t, err, os.ErrDeadlineExceeded)
}

// checkClientSum compares the running sum of what clients take with what they take.
func checkClientSum(t *testing.T, srv *instance) {
	t.Helper()
	ex := &srv.executor
	ex.Mu.Lock()
	defer ex.Mu.Unlock()
	sum, replicas := 0, 0
	for _, s := range ex.clients {
		require.Equal(t, s.memory.Counted, s.bytes(), "client %d", s.Number)
		sum += s.memory.Counted
		if s.link.replica.Is() {
			replicas += s.memory.Counted
		}
	}
	require.Equal(t, sum, ex.Memory.Clients.Sum)
	require.Equal(t, replicas, ex.Memory.Clients.Replicas)
}

// TestClientMemory: CLIENT LIST says who takes the memory, and by what; it is gone when that is over.
func TestClientMemory(t *testing.T) {
	t.Parallel()
	onEveryTransport(t, Options{}, func(t *testing.T, srv *instance, dial func() (net.Conn, error)) {
		see, c := testkit.Dial(t, dial), testkit.Dial(t, dial)
		id := c.Do("CLIENT", "ID").Int
		awaitFigure := func(name string, least int) string {
			t.Helper()
			line := ""
			eventually(t, func() bool { line = clientLine(t, see, id); return figure(t, line, name) >= least }, name)
			return line
		}
		first := awaitRead(t, see, id)
		idle := figure(t, first, "tot-mem")
		require.Greater(t, idle, 1000)
		require.Contains(t, first, " multi=-1 watch=0 qbuf=0 qbuf-free=0 argv-mem=0 multi-mem=0 rbs=0 rbp=0 obl=0 oll=0 omem=0 tot-mem="+
			strconv.Itoa(idle)+" events=r cmd=client|id user=default redir=-1 resp=2 lib-name= lib-ver=\n")
		checkClientSum(t, srv)

		half := strings.Repeat("v", 100_000)
		sendRaw(t, c, "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$200000\r\n"+half)
		line := awaitFigure("qbuf", 100_000)
		require.Greater(t, figure(t, line, "tot-mem"), 100_000)
		// The reply to CLIENT ID may count as unsent again: its writer may not know yet that it is sent.
		require.Equal(t, figure(t, line, "qbuf")+figure(t, line, "qbuf-free")+figure(t, line, "omem")+idle, figure(t, line, "tot-mem"))
		require.Greater(t, infoNumber(t, see, "mem_clients_normal"), int64(100_000))
		sendRaw(t, c, half+"\r\n")
		require.Equal(t, "+OK", c.Receive().String())

		c.Do("WATCH", "k", "l")
		c.Do("MULTI")
		c.Do("SET", "k", half)
		line = clientLine(t, see, id)
		require.Equal(t, []int{1, 2, 100_004}, []int{figure(t, line, "multi"), figure(t, line, "watch"), figure(t, line, "multi-mem")})
		require.Greater(t, figure(t, line, "tot-mem"), 100_000)
		checkClientSum(t, srv)
		c.Do("DISCARD")
		require.Less(t, figure(t, clientLine(t, see, id), "tot-mem"), idle+2000)

		c.Send("BLPOP", strings.Repeat("n", 1000), "0")
		require.Greater(t, figure(t, awaitFigure("argv-mem", 1006), "tot-mem"), idle+1000)
		require.Equal(t, "1", see.Do("CLIENT", "UNBLOCK", fmt.Sprint(id)).String())
		c.Receive()
		require.Equal(t, 0, figure(t, clientLine(t, see, id), "argv-mem"))

		own := c.Do("CLIENT", "INFO").Str
		require.Equal(t, 10, figure(t, own, "argv-mem"))
		c.Do("SUBSCRIBE", "channel")
		require.Greater(t, figure(t, clientLine(t, see, id), "tot-mem"), idle)
		checkClientSum(t, srv)
		c.Close()
		eventually(t, func() bool { return clientLine(t, see, id) == "" }, "gone")
		checkClientSum(t, srv)
	})
}

// TestOutputMemory: what a client does not read counts, and no longer when it has read.
func TestOutputMemory(t *testing.T) {
	t.Parallel()
	onEveryTransport(t, Options{}, func(t *testing.T, srv *instance, dial func() (net.Conn, error)) {
		see, c := testkit.Dial(t, dial), testkit.Dial(t, dial)
		id := c.Do("CLIENT", "ID").Int
		see.Do("SET", "k", strings.Repeat("v", 3<<20))
		for range 5 {
			c.Send("GET", "k")
		}
		eventually(t, func() bool { // until the system takes no more there are moments with nothing unsent
			line := clientLine(t, see, id)
			return figure(t, line, "omem") > 1<<20 && strings.Contains(line, " events=rw ") &&
				infoNumber(t, see, "mem_clients_normal") > 1<<20
		}, "unread")
		for range 5 {
			require.Len(t, c.Receive().Str, 3<<20)
		}
		c.Do("PING")
		require.Contains(t, awaitRead(t, see, id), " events=r ")
	})
}

// TestClientEviction: beyond maxmemory-clients the client with the most goes, but none that is exempt.
func TestClientEviction(t *testing.T) {
	t.Parallel()
	onEveryTransport(t, Options{}, func(t *testing.T, srv *instance, dial func() (net.Conn, error)) {
		var clients []*testkit.Client
		hoard := func(c *testkit.Client, bytes int) {
			sendRaw(t, c, fmt.Sprintf("*2\r\n$4\r\nECHO\r\n$%d\r\n%s", bytes+10, strings.Repeat("v", bytes)))
		}
		for range 4 {
			clients = append(clients, testkit.Dial(t, dial))
		}
		see := testkit.Dial(t, dial)
		ids := map[*testkit.Client]int64{}
		for _, c := range clients {
			ids[c] = c.Do("CLIENT", "ID").Int
		}
		for range 5 { // RESET ends that a client is exempt
			require.Equal(t, "+OK", see.Do("CLIENT", "NO-EVICT", "ON").String())
			require.Equal(t, "+RESET", see.Do("RESET").String())
		}
		require.Equal(t, "+OK", clients[0].Do("CLIENT", "NO-EVICT", "ON").String())
		require.Contains(t, clientLine(t, see, ids[clients[0]]), " flags="+map[bool]string{true: "Ue", false: "e"}[strings.Contains(clientLine(t, see, ids[clients[0]]), ".sock")]+" ")
		for i, c := range clients {
			bytes := 400_000 - 100_000*i
			hoard(c, bytes)
			eventually(t, func() bool { return figure(t, clientLine(t, see, ids[c]), "qbuf") >= bytes }, "all has arrived")
		}
		belowNow := func() int64 { return infoNumber(t, see, "mem_clients_normal") - 50_000 }
		require.Equal(t, "+OK", see.Do("CONFIG", "SET", "maxmemory-clients", fmt.Sprint(belowNow())).String())
		eventually(t, func() bool { return infoNumber(t, see, "evicted_clients") == 1 }, "one goes")
		require.Empty(t, clientLine(t, see, ids[clients[1]]), "it has the most of those that may go")
		requireClosed(t, clients[1])
		require.Len(t, strings.Split(see.Do("CLIENT", "LIST").Str, "\n"), 5)
		checkClientSum(t, srv)

		require.Equal(t, "+OK", see.Do("CONFIG", "SET", "maxmemory", fmt.Sprint(100*belowNow()), "maxmemory-clients", "1%").String())
		eventually(t, func() bool { return infoNumber(t, see, "evicted_clients") == 2 }, "one goes")
		require.Empty(t, clientLine(t, see, ids[clients[2]]))
		require.Equal(t, "+OK", see.Do("CLIENT", "NO-EVICT", "ON").String())
		require.Equal(t, "+OK", see.Do("CONFIG", "SET", "maxmemory-clients", "1").String())
		eventually(t, func() bool { return infoNumber(t, see, "evicted_clients") == 3 }, "the last that may go")
		require.Len(t, strings.Split(see.Do("CLIENT", "LIST").Str, "\n"), 3)
		other := testkit.Dial(t, dial)
		other.Send("PING")
		requireClosed(t, other)
		require.Equal(t, "+OK", see.Do("CONFIG", "SET", "maxmemory-clients", "0").String())
		require.Equal(t, "+PONG", testkit.Dial(t, dial).Do("PING").String())
		checkClientSum(t, srv)
	})
}

// TestReplicasAreNotEvicted: what replicas take counts for no eviction of clients, as in Redis. An eviction
// ends if it finds only replicas and exempt clients.
func TestReplicasAreNotEvicted(t *testing.T) {
	t.Parallel()
	srv := startWith(t, Options{}, nil)
	see, replica, exempt := client(t, srv), client(t, srv), client(t, srv)
	require.Equal(t, "+OK", replica.Do("REPLCONF", "listening-port", "1").String())
	replica.Send("PSYNC", "?", "-1")
	eventually(t, func() bool { return infoNumber(t, see, "connected_slaves") == 1 }, "it follows")
	hoard := func(c *testkit.Client, bytes int) {
		before := clientBytes(srv)
		sendRaw(t, c, fmt.Sprintf("*2\r\n$4\r\nECHO\r\n$%d\r\n%s", bytes+10, strings.Repeat("v", bytes)))
		eventually(t, func() bool { return clientBytes(srv) > before+bytes-50_000 }, "all has arrived")
	}
	require.Equal(t, "+OK", see.Do("CONFIG", "SET", "maxmemory-clients", "300000").String())
	hoard(replica, 400_000)
	require.Equal(t, "+PONG", see.Do("PING").String())
	require.Zero(t, infoNumber(t, see, "evicted_clients"))
	checkClientSum(t, srv)

	require.Equal(t, "+OK", exempt.Do("CLIENT", "NO-EVICT", "ON").String())
	hoard(exempt, 400_000)
	requireClosed(t, see)
	other := client(t, srv)
	other.Send("PING")
	requireClosed(t, other)
	exempt.Close()
	eventually(t, func() bool { return clientBytes(srv) < 500_000 }, "it has gone")
	see = client(t, srv)
	require.EqualValues(t, 2, infoNumber(t, see, "evicted_clients"))
	require.EqualValues(t, 1, infoNumber(t, see, "connected_slaves"))
	replica.Close()
	eventually(t, func() bool { return infoNumber(t, see, "connected_slaves") == 0 }, "it has gone")
	checkClientSum(t, srv)
}

// clientBytes returns the memory of all clients.
func clientBytes(srv *instance) int {
	ex := &srv.executor
	ex.Mu.Lock()
	defer ex.Mu.Unlock()
	return ex.Memory.Clients.Sum
}

// TestPrefixesAreClientMemory: prefixes of CLIENT TRACKING and names count. The client with too many goes.
func TestPrefixesAreClientMemory(t *testing.T) {
	t.Parallel()
	srv := startWith(t, Options{}, nil)
	see, c, other := client(t, srv), client(t, srv), client(t, srv)
	id := c.Do("CLIENT", "ID").Int
	idle := figure(t, awaitRead(t, see, id), "tot-mem")
	c.Do("HELLO", "3")
	words := []string{"CLIENT", "TRACKING", "ON", "BCAST"}
	for i := range 1000 {
		words = append(words, "PREFIX", fmt.Sprintf("%04d", i)+strings.Repeat("p", 996))
	}
	require.Equal(t, "+OK", c.Do(words...).String())
	c.Do("PING")
	taken := figure(t, clientLine(t, see, id), "tot-mem") - idle
	require.Greater(t, taken, 1_000_000)
	require.Less(t, taken, 2_000_000)
	checkClientSum(t, srv)
	c.Do("CLIENT", "TRACKING", "OFF")
	c.Do("PING")
	require.Less(t, figure(t, clientLine(t, see, id), "tot-mem"), idle+1000)
	checkClientSum(t, srv)
	require.Equal(t, "+OK", see.Do("CONFIG", "SET", "maxmemory-clients", "500000").String())
	c.Send(words...)
	eventually(t, func() bool { return infoNumber(t, see, "evicted_clients") == 1 }, "it goes")
	require.Empty(t, clientLine(t, see, id))
	require.Equal(t, "+OK", other.Do("CLIENT", "SETNAME", strings.Repeat("n", 100_000)).String())
	require.Greater(t, figure(t, other.Do("CLIENT", "INFO").Str, "tot-mem"), idle+100_000)
}

// TestUnreadIsAskedFor: what a connection held is asked for again, once a second, if its client says nothing.
func TestUnreadIsAskedFor(t *testing.T) {
	t.Parallel()
	clock := NewManualClock(time.UnixMilli(1_750_000_000_000))
	srv := startWith(t, Options{Clock: clock}, func(*config.Config) {})
	see, c := client(t, srv), client(t, srv)
	id := c.Do("CLIENT", "ID").Int
	see.Do("SET", "k", strings.Repeat("v", 3<<20))
	c.Send("GET", "k")
	eventually(t, func() bool { return figure(t, clientLine(t, see, id), "omem") > 1<<20 }, "unread")
	require.Len(t, c.Receive().Str, 3<<20)
	require.Greater(t, figure(t, clientLine(t, see, id), "omem"), 1<<20, "it has not been asked since")
	clock.Advance(time.Second)
	eventually(t, func() bool { return figure(t, clientLine(t, see, id), "omem") == 0 }, "asked")
	checkClientSum(t, srv)
}
