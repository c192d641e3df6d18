package client_test

import (
	"bufio"
	"fmt"
	"maps"
	"net"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
	"github.com/stretchr/testify/require"

	"lockserver/client"
	"lockserver/internal/resp"
	"lockserver/server"
)

// With LOCKSERVER_SHARDS=3 the server of a test is a cluster of three shards, for the same tests. The server
// that start returns is the first shard then, and connections of the network go to the shard of an address.

// shardCount is the number of shards; 1: no cluster.
var shardCount = func() int {
	n, _ := strconv.Atoi(os.Getenv("LOCKSERVER_SHARDS"))
	return max(n, 1)
}()

// wholes are the clusters, by their first shards.
var wholes sync.Map

// startWhole starts a cluster, and returns its first shard.
func startWhole(t *testing.T, o server.Options) *server.Server {
	t.Helper()
	o.Directives["cluster-announce-ip"], o.Directives["cluster-announce-port"] = "192.0.2.1", "7000"
	of, err := server.NewCluster(o, shardCount)
	require.NoError(t, err)
	require.NoError(t, of.Start())
	first := of.Shards()[0]
	wholes.Store(first, of)
	t.Cleanup(func() {
		_ = of.Close()
		wholes.Delete(first)
	})
	return first
}

// wholeOf returns the shards of the cluster of a server. A plain server is the only one.
func wholeOf(srv *server.Server) []*server.Server {
	if of, ok := wholes.Load(srv); ok {
		return of.(*server.Cluster).Shards()
	}
	return []*server.Server{srv}
}

// endWhole ends a server, or a cluster, as a crash does.
func endWhole(srv *server.Server) error {
	if of, ok := wholes.Load(srv); ok {
		return of.(*server.Cluster).Close()
	}
	return srv.Close()
}

// shardAt returns the shard at an address of a cluster.
func shardAt(srv *server.Server, addr string) *server.Server {
	all := wholeOf(srv)
	_, port, _ := strings.Cut(addr, ":")
	if n, err := strconv.Atoi(port); err == nil && n >= 7000 && n < 7000+len(all) {
		return all[n-7000]
	}
	return all[0]
}

// cluster is a client of go-redis for a cluster.
func (n *network) cluster(t *testing.T, o *redis.ClusterOptions) *redis.ClusterClient {
	t.Helper()
	o.Dialer = n.dial
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled} // Close waits for them, with a mutex
	for i := range shardCount {
		o.Addrs = append(o.Addrs, fmt.Sprint("192.0.2.1:", 7000+i))
	}
	rdb := redis.NewClusterClient(o)
	t.Cleanup(func() { _ = rdb.Close() })
	require.NoError(t, rdb.Exists(ctx, "k").Err()) // it learns the map and the commands before others wait for that
	return rdb
}

// narrow is a client of the package on a library that has one connection, to each shard.
func (n *network) narrow(t *testing.T, settings ...client.Setting) *client.Client {
	t.Helper()
	const patience = 5 * time.Minute
	var c *client.Client
	var err error
	if shardCount > 1 {
		c, err = client.NewCluster(n.cluster(t, &redis.ClusterOptions{PoolSize: 1, PoolTimeout: patience}), settings...)
	} else {
		rdb := redis.NewClient(&redis.Options{Dialer: n.dial, Addr: "192.0.2.1:1", PoolSize: 1, PoolTimeout: patience})
		t.Cleanup(func() { _ = rdb.Close() })
		c, err = client.New(rdb, settings...)
	}
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

// dialWhole connects to all shards at once. Each command goes to all: the shard of the key answers, or the
// replies of all become one.
func dialWhole(srv *server.Server) (net.Conn, error) {
	near, far := net.Pipe()
	var shards []net.Conn
	for _, one := range wholeOf(srv) {
		c, err := one.Dial()
		if err != nil {
			return nil, err
		}
		shards = append(shards, c)
	}
	go serveWhole(far, shards)
	return near, nil
}

// serveWhole answers commands until a connection breaks. Commands that come at once reach each shard at once.
func serveWhole(conn net.Conn, shards []net.Conn) {
	defer func() {
		_ = conn.Close()
		for _, s := range shards {
			_ = s.Close()
		}
	}()
	commands, replies := bufio.NewReader(conn), make([]*bufio.Reader, len(shards))
	for i, s := range shards {
		replies[i] = bufio.NewReader(s)
	}
	for {
		var batch []byte
		count := 0
		for count == 0 || commands.Buffered() > 0 {
			command, err := resp.ReadValue(commands)
			if err != nil {
				return
			}
			batch, count = appendReply(batch, command), count+1
		}
		for _, s := range shards {
			if _, err := s.Write(batch); err != nil {
				return
			}
		}
		var out []byte
		for range count {
			var answers []resp.Value
			for _, r := range replies {
				v, err := resp.ReadValue(r)
				if err != nil {
					return
				}
				if !strings.HasPrefix(v.Str, "MOVED ") {
					answers = append(answers, v)
				}
			}
			out = appendReply(out, oneReply(answers))
		}
		if _, err := conn.Write(out); err != nil {
			return
		}
	}
}

var numberLine = regexp.MustCompile(`(?m)^(\w+):(\d+)\r$`)

// oneReply makes one reply of those of several shards: numbers are added, also those in INFO, and arrays and
// texts are joined.
func oneReply(replies []resp.Value) resp.Value {
	if len(replies) == 0 {
		return resp.Value{Kind: resp.Error, Str: "ERR no shard has answered"}
	}
	whole := replies[0]
	sums, text := make(map[string]int), ""
	for i, v := range replies {
		if i > 0 {
			whole.Int += v.Int
			whole.Elems = append(whole.Elems, v.Elems...)
		}
		for _, m := range numberLine.FindAllStringSubmatch(v.Str, -1) {
			n, _ := strconv.Atoi(m[2])
			sums[m[1]] += n
		}
		text += numberLine.ReplaceAllString(v.Str, "")
	}
	if whole.Kind == resp.Bulk && len(replies) > 1 {
		for _, name := range slices.Sorted(maps.Keys(sums)) {
			text += fmt.Sprintf("%s:%d\r\n", name, sums[name])
		}
		whole.Str = text
	}
	return whole
}

// appendReply appends a value of version 2 of the protocol.
func appendReply(dst []byte, v resp.Value) []byte {
	switch v.Kind {
	case resp.Simple, resp.Error:
		return append(dst, string(v.Kind)+v.Str+"\r\n"...)
	case resp.Integer:
		return fmt.Appendf(dst, ":%d\r\n", v.Int)
	case resp.Array:
		dst = resp.AppendArray(dst, len(v.Elems))
		for _, e := range v.Elems {
			dst = appendReply(dst, e)
		}
		return dst
	case resp.NullArray:
		return append(dst, "*-1\r\n"...)
	case resp.NullBulk:
		return append(dst, "$-1\r\n"...)
	}
	return resp.AppendBulk(dst, v.Str)
}
