package server

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/internal/keyslot"
	"lockserver/tests/testkit"
)

// shardsOf runs a cluster that ends with the test, and returns a connection to each shard.
func shardsOf(t *testing.T, o Options, n int) (*Cluster, []*testkit.Client) {
	t.Helper()
	c, err := NewCluster(o, n)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	require.NoError(t, c.Start())
	return c, dialAll(t, c)
}

// dialAll returns a connection to each shard.
func dialAll(t *testing.T, c *Cluster) (all []*testkit.Client) {
	t.Helper()
	for _, srv := range c.Shards() {
		all = append(all, testkit.Dial(t, srv.Dial))
	}
	return all
}

// keyIn is a key of a shard of three.
func keyIn(shard int) string {
	for i := 0; ; i++ {
		if key := fmt.Sprint("k", i); keyslot.Of([]byte(key))/5461 == shard {
			return key
		}
	}
}

// A shard begins to load, and to serve, when all shards listen. A client that connects to the first shard at
// once can connect to all others. If a shard cannot listen, no shard begins.
func TestAllShardsListenFirst(t *testing.T) {
	first := testkit.FreePorts(t, 3)
	taken, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(first+1)))
	require.NoError(t, err)
	begun, deaf := 0, error(nil)
	o := Options{Addr: net.JoinHostPort("127.0.0.1", strconv.Itoa(first)), Phase: func(phase Phase) {
		if phase != PhaseListening {
			return
		}
		begun++
		for i := range 3 {
			conn, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(first+i)))
			if err == nil {
				err = conn.Close()
			}
			deaf = errors.Join(deaf, err)
		}
	}}
	c, err := NewCluster(o, 3)
	require.NoError(t, err)
	require.ErrorContains(t, c.Start(), "shard 2: ")
	require.Zero(t, begun)
	require.NoError(t, taken.Close())
	_, shards := shardsOf(t, o, 3)
	require.Equal(t, "+PONG", shards[0].Do("PING").String())
	require.Equal(t, 1, begun)
	require.NoError(t, deaf)
}

// Each shard serves its slots, and sends the client of another slot to the shard that has it.
func TestShardsServeTheirSlots(t *testing.T) {
	c, shards := shardsOf(t, Options{}, 3)
	for at, conn := range shards {
		for of := range shards {
			key := keyIn(of)
			moved := fmt.Sprintf("-MOVED %d %s", keyslot.Of([]byte(key)), c.Shards()[of].Addr())
			for _, line := range []string{"SET " + key + " v", "MSET " + key + " 1 {" + key + "}2 2", "LOCK {" + key + "}l me PX 1000", "SECKILL.INFO {" + key + "}", "SECKILL " + key + " ann o",
				"SPUBLISH " + key + " m", "EVAL return(1) 1 " + key, "XREAD STREAMS " + key + "x{" + key + "} 0", "WATCH " + key} {
				got := conn.Do(strings.Fields(line)...).String()
				if at == of {
					require.NotContains(t, got, "MOVED", line)
					require.Equal(t, strings.HasPrefix(line, "SECKILL "), strings.Contains(got, "CROSSSLOT"), "%s: %s", line, got)
				} else {
					require.Equal(t, moved, got, line)
				}
			}
			if at != of {
				require.Equal(t, "-CROSSSLOT Keys in request don't hash to the same slot", conn.Do("MGET", key, keyIn(at)).String())
				conn.Do("MULTI")
				require.Equal(t, moved, conn.Do("SET", key, "v").String())
				require.Contains(t, conn.Do("EXEC").String(), "EXECABORT")
				require.Contains(t, conn.Do("EVAL", "return redis.call('get', '"+key+"')", "0").String(), "Script attempted to access a non local key in a cluster node")
			}
			conn.Do("UNWATCH")
		}
		require.Equal(t, "0", conn.Do("CLUSTER", "COUNTKEYSINSLOT", "0").String())
		require.Equal(t, 3, strings.Count(conn.Do("CLUSTER", "NODES").Str, "master - "))
		require.Contains(t, conn.Do("CLUSTER", "NODES").Str, "connected 5461-10922\n")
		require.Contains(t, conn.Do("CLUSTER", "INFO").Str, "cluster_size:3\r\n")
		require.Len(t, conn.Do("CLUSTER", "SLOTS").Elems, 3)
		require.Len(t, conn.Do("CLUSTER", "SHARDS").Elems, 3)
	}
	require.NotEqual(t, shards[0].Do("CLUSTER", "MYSHARDID").Str, shards[1].Do("CLUSTER", "MYSHARDID").Str)
}

// A shard has links to and from each other shard, since it is known, until that shard has failed.
func TestLinksOfShards(t *testing.T) {
	begun := time.Now().UnixMilli()
	c, shards := shardsOf(t, Options{}, 3)
	ids := []string{shards[1].Do("CLUSTER", "MYID").Str, shards[2].Do("CLUSTER", "MYID").Str}
	links := func() (all []string) {
		for _, link := range shards[0].Do("CLUSTER", "LINKS").Elems {
			require.Len(t, link.Elems, 12)
			all = append(all, link.Elems[1].Str+" "+link.Elems[3].Str)
			require.GreaterOrEqual(t, link.Elems[5].Int, begun)
		}
		return all
	}
	require.Equal(t, []string{"to " + ids[0], "from " + ids[0], "to " + ids[1], "from " + ids[1]}, links())
	require.NoError(t, c.CloseShard(1))
	require.Equal(t, []string{"to " + ids[1], "from " + ids[1]}, links())
}

// TestSlotsAreRefused: commands that change slots look at their words first, as Redis 7.4.1 does. A slot that
// is to be added is busy, since each has an owner.
func TestSlotsAreRefused(t *testing.T) {
	t.Parallel()
	_, shards := shardsOf(t, Options{}, 3)
	const invalid, fixed = "ERR Invalid or out of range slot", "ERR the slots of this cluster are fixed while it runs: see docs/CLUSTER.md"
	for words, want := range map[string]string{
		"ADDSLOTS 1 aaa": invalid, "ADDSLOTS aaa": invalid, "ADDSLOTS 16384": invalid, "ADDSLOTS -1": invalid,
		"ADDSLOTS 1 1": "ERR Slot 1 is already busy", "ADDSLOTS 7000": "ERR Slot 7000 is already busy",
		"ADDSLOTSRANGE 1 2 3": "ERR wrong number of arguments for 'cluster|addslotsrange' command", "ADDSLOTSRANGE 1 aaa": invalid,
		"ADDSLOTSRANGE 5 3": "ERR start slot number 5 is greater than end slot number 3", "ADDSLOTSRANGE 1 4 70000 70001": "ERR Slot 1 is already busy",
		"ADDSLOTSRANGE 2 4 9 8": "ERR Slot 2 is already busy",
		"DELSLOTSRANGE 1 2 3":   "ERR wrong number of arguments for 'cluster|delslotsrange' command", "DELSLOTSRANGE 5 3": "ERR start slot number 5 is greater than end slot number 3",
		"DELSLOTS aaa": invalid, "DELSLOTS 16384": invalid, "DELSLOTS 7000 aaa": invalid, "DELSLOTS 1": fixed, "DELSLOTSRANGE 1 2": fixed, "FLUSHSLOTS": fixed,
	} {
		require.Equal(t, "-"+want, shards[0].Do(append([]string{"CLUSTER"}, strings.Fields(words)...)...).String(), words)
	}
	require.Equal(t, "+STILL 0", shards[0].Do("CLUSTER", "BUMPEPOCH").String())
	require.Equal(t, "+OK", shards[0].Do("CLUSTER", "SAVECONFIG").String())
}

// A message reaches the subscribers of all shards once, in order, and a sharded one those of its shard.
func TestMessagesReachAllShards(t *testing.T) {
	_, shards := shardsOf(t, Options{}, 3)
	c, listeners := shards[0], shards[1:]
	for _, l := range listeners {
		l.Send("SUBSCRIBE", "news")
		require.Contains(t, l.Receive().String(), "subscribe")
	}
	c.Do("EVAL", "return redis.call('publish', 'news', '0')", "0")
	for i := 1; i < 200; i++ {
		require.Equal(t, "0", c.Do("PUBLISH", "news", fmt.Sprint(i)).String(), "subscribers of this shard, as in Redis")
	}
	for _, l := range listeners {
		for i := range 200 {
			require.Equal(t, fmt.Sprintf(`["message" "news" "%d"]`, i), l.Receive().String())
		}
	}
}

// Messages for a shard that does not keep up are dropped, and its log says so.
func TestDroppedMessagesAreLogged(t *testing.T) {
	var log testkit.Output
	c, shards := shardsOf(t, Options{Log: slog.New(slog.NewTextHandler(&log, nil))}, 2)
	shards[1].Send("SUBSCRIBE", "news")
	require.Contains(t, shards[1].Receive().String(), "subscribe")
	message := strings.Repeat("m", 8<<20)
	c.shards[1].executor.Do(func() { // it runs nothing else meanwhile
		for range 2*mostUnheard/len(message) + 2 {
			shards[0].Do("PUBLISH", "news", message)
		}
	})
	require.Eventually(t, func() bool { return strings.Contains(log.String(), "messages of other shards were dropped") }, soon, time.Millisecond)
}

// Commands about scripts, functions, users, settings and all data, D176, count for the process when the reply
// comes. A client that says it to each shard gets the same reply from each.
func TestCommandsForTheProcess(t *testing.T) {
	_, shards := shardsOf(t, Options{}, 3)
	const library = "#!lua name=l\nredis.register_function('f', function(keys) return redis.call('get', keys[1]) end)"
	sha := shards[0].Do("SCRIPT", "LOAD", "return 7").Str
	require.Equal(t, "+OK", shards[0].Do("CONFIG", "SET", "slowlog-max-len", "7").String())
	require.Equal(t, "+OK", shards[0].Do("ACL", "SETUSER", "ann", "on", ">secret", "~*", "+@all").String())
	for _, c := range shards {
		require.Equal(t, `"l"`, c.Do("FUNCTION", "LOAD", library).String())
	}
	require.Contains(t, shards[1].Do("FUNCTION", "LOAD", library).String(), "already exists")
	for i, c := range shards {
		require.Equal(t, "7", c.Do("EVALSHA", sha, "0").String())
		require.Equal(t, `["slowlog-max-len" "7"]`, c.Do("CONFIG", "GET", "slowlog-max-len").String())
		c.Do("SET", keyIn(i), "v")
		require.Equal(t, `"v"`, c.Do("FCALL", "f", "1", keyIn(i)).String())
		require.Equal(t, "+OK", c.Do("AUTH", "ann", "secret").String())
		require.Contains(t, c.Do("CONFIG", "SET", "port", "7000").String(), "have their places from the start")
	}
	require.Equal(t, "+OK", shards[2].Do("FLUSHALL").String())
	for _, c := range shards {
		require.Equal(t, "0", c.Do("DBSIZE").String())
	}
	shards[0].Do("MULTI")
	shards[0].Do("SCRIPT", "FLUSH")
	require.Equal(t, `["OK"]`, strings.ReplaceAll(shards[0].Do("EXEC").String(), "+OK", `"OK"`))
	require.Eventually(t, func() bool { return strings.Contains(shards[2].Do("EVALSHA", sha, "0").String(), "NOSCRIPT") }, soon, time.Millisecond)
}

// The directory of a cluster keeps the data of each shard and the ids of the nodes, and is that of its number
// of shards. SHUTDOWN of one shard ends all, and saves all.
func TestShardsKeepTheirData(t *testing.T) {
	dir := t.TempDir()
	var ids []string
	for round := range 3 {
		c, shards := shardsOf(t, Options{Dir: dir, AppendOnly: true, AppendFsync: "always"}, 3)
		for i, conn := range shards {
			id := conn.Do("CLUSTER", "MYID").Str
			if round == 0 {
				ids = append(ids, id)
				require.Equal(t, "+OK", conn.Do("SET", keyIn(i), fmt.Sprint("v", i)).String())
			}
			require.Equal(t, ids[i], id)
			require.Equal(t, fmt.Sprintf(`"v%d"`, i), conn.Do("GET", keyIn(i)).String())
		}
		switch round {
		case 0:
			require.NoError(t, c.Close())
		case 1:
			shards[1].Send("SHUTDOWN")
			<-c.Done()
		default:
			require.NoError(t, c.Shutdown(ShutdownOptions{}))
			<-c.Done()
		}
	}
	_, err := NewCluster(Options{Dir: dir}, 2)
	require.ErrorContains(t, err, "has the data of 3 shards, not of 2: start with shards 3")
	for _, n := range []int{0, 65} {
		_, err = NewCluster(Options{}, n)
		require.ErrorContains(t, err, "1 to 64 shards")
	}
}
