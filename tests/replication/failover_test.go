package replication

import (
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/server"
)

// TestFailover: master and replica change places while clients write, and nothing is lost.
func TestFailover(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, o server.Options) {
		failOver(t, start(t, o), start(t, o))
	})
}

// failOver makes two servers change places.
func failOver(t *testing.T, master, replica *node) {
	t.Helper()
	require.Equal(t, "-ERR No failover in progress.", master.do("FAILOVER ABORT"))
	require.Equal(t, "-ERR FAILOVER requires connected replicas.", master.do("FAILOVER"))
	replica.follow(master.addr)
	inStep(t, master, replica)
	require.Equal(t, "-ERR FAILOVER is not valid when server is a replica.", replica.do("FAILOVER"))
	require.Equal(t, "-ERR FAILOVER target HOST and PORT is not a replica.", master.do("FAILOVER TO 127.0.0.1 1"))
	require.Equal(t, "-ERR FAILOVER with force option requires both a timeout and target HOST and IP.", master.do("FAILOVER FORCE"))
	require.Equal(t, "-ERR FAILOVER timeout must be greater than 0", master.do("FAILOVER TIMEOUT 0"))
	require.Equal(t, "-ERR syntax error", master.do("FAILOVER NOW"))
	var written atomic.Int64
	stopped := make(chan string, 1)
	writer := reach(t, master.addr)
	go func() {
		for {
			v, err := writer.Call("INCR", "counter")
			if err != nil || v.IsError() {
				stopped <- v.String()
				return
			}
			written.Store(v.Int)
		}
	}()
	eventually(t, "there are writes", func() bool { return written.Load() > 100 })
	host, port, err := net.SplitHostPort(replica.addr)
	require.NoError(t, err)
	require.Equal(t, "+OK", master.do(fmt.Sprintf("FAILOVER TO %s %s TIMEOUT 20000", host, port)))
	select {
	case end := <-stopped:
		require.True(t, strings.HasPrefix(end, "-READONLY"), end)
	case <-time.After(patience):
		require.Fail(t, fmt.Sprintf("the writer goes on, or hangs; %d written\nmaster:\n%s\nreplica:\n%s", written.Load(),
			master.Do("INFO", "replication").Str, replica.Do("INFO", "replication").Str))
	}
	eventually(t, "it leads", func() bool { return replica.info("role") == "master" && master.info("role") == "slave" })
	inStep(t, replica, master)
	require.Equal(t, "no-failover", master.info("master_failover_state"))
	require.Equal(t, fmt.Sprintf("%q", fmt.Sprint(written.Load())), replica.do("GET counter"))
	require.Equal(t, "0", replica.info("sync_full"), "nobody needs a snapshot")
	require.Equal(t, "+OK", replica.do("SET more 1"))
	inStep(t, replica, master)
}

// TestFailoverIsCalledOff: a failover is cancelled by hand and by its time limit, and writes go on.
func TestFailoverIsCalledOff(t *testing.T) {
	t.Parallel()
	master := start(t, server.Options{EventLoops: true})
	mute, err := net.Dial("tcp", master.addr) // it claims to be a replica, and never reports its position
	require.NoError(t, err)
	defer func() { _ = mute.Close() }()
	_, err = mute.Write([]byte("PSYNC ? -1\r\n"))
	require.NoError(t, err)
	eventually(t, "it is a replica", func() bool { return strings.Contains(master.info("slave0"), "state=online") })
	require.Equal(t, "+OK", master.do("SET a 0"))
	writer := reach(t, master.addr)
	for _, callOff := range []func(){
		func() {
			require.Equal(t, "+OK", master.do("FAILOVER"))
			require.Equal(t, "waiting-for-sync", master.info("master_failover_state"))
			require.Equal(t, "-ERR FAILOVER already in progress.", master.do("FAILOVER"))
			require.Equal(t, "-ERR REPLICAOF not allowed while failing over.", master.do("REPLICAOF NO ONE"))
			writer.Send("SET", "a", "1")
			_, answered := writer.ReceiveWithin(50 * time.Millisecond)
			require.False(t, answered)
			require.Equal(t, "+OK", master.do("CLIENT UNPAUSE"))
			_, answered = writer.ReceiveWithin(50 * time.Millisecond)
			require.False(t, answered, "that ends no failover")
			require.Equal(t, "+OK", master.do("FAILOVER ABORT"))
		},
		func() {
			require.Equal(t, "+OK", master.do("FAILOVER TIMEOUT 20"))
			writer.Send("SET", "a", "1")
		},
	} {
		callOff()
		require.Equal(t, "+OK", writer.Receive().String())
		require.Equal(t, "master", master.info("role"))
	}
}

// TestFailoverIsAskedForTwice: a client that lost the reply gets the same reply again. If the request has no
// possible answer, no replica is promoted.
func TestFailoverIsAskedForTwice(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, o server.Options) {
		master, replica := start(t, o), start(t, o)
		replica.follow(master.addr)
		inStep(t, master, replica)
		id := replica.info("master_replid")
		request := []string{"PSYNC", id, strconv.FormatInt(replica.number("master_repl_offset")+1, 10), "FAILOVER"}
		hasty := reach(t, replica.addr)
		hasty.Send("PING")
		hasty.Send(request...)
		require.Equal(t, "+PONG", hasty.Receive().String())
		if reply := hasty.Receive().String(); reply[0] == '-' {
			require.Equal(t, "slave", replica.info("role"), reply)
		}
		for range 2 {
			require.Regexp(t, "^[+]CONTINUE", reach(t, replica.addr).Do(request...).String())
			require.Equal(t, "master", replica.info("role"))
		}
		request[1] = strings.Repeat("1", 40)
		require.Equal(t, "-ERR PSYNC FAILOVER can't be sent to a master.", reach(t, replica.addr).Do(request...).String())
	})
}
