//go:build oracle && linux

package differential

import (
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/server"
	"lockserver/tests/testkit"
)

// freePort returns a free port.
func freePort(t *testing.T) string {
	t.Helper()
	return testkit.FreePort(t)
}

// TestListenElsewhere compares the replies of CONFIG SET port and bind, the listeners in INFO, and which
// addresses can be reached. A and B stand for free ports of each server, T for a port in use.
func TestListenElsewhere(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, taken.Close()) }()
	ports := func() map[string]string {
		return map[string]string{"A": freePort(t), "B": freePort(t), "T": fmt.Sprint(taken.Addr().(*net.TCPAddr).Port)}
	}
	ours, theirs := ports(), ports()
	conf := configOf("")
	conf.UnixSocket = filepath.Join(t.TempDir(), "s")
	conf.Port, err = net.LookupPort("tcp", ours["A"])
	require.NoError(t, err)
	srv, err := server.New(server.Options{Directives: conf.Directives(), EventLoops: true})
	require.NoError(t, err)
	require.NoError(t, srv.Start())
	defer func() { require.NoError(t, srv.Close()) }()
	redis := testkit.StartRedis(t, "--port", theirs["A"], "--bind", "127.0.0.1")
	seen := func(dial func() (net.Conn, error), ports map[string]string, socket, line string) (said []string) {
		c := testkit.Dial(t, dial)
		args := strings.Fields(line)
		for i, arg := range args {
			args[i] = strings.ReplaceAll(arg, "_", " ")
			if port := ports[arg]; port != "" {
				args[i] = port
			}
		}
		said = append(said, c.Do(append([]string{"CONFIG", "SET"}, args...)...).String())
		names := []string{socket, "socket"}
		for _, name := range []string{"A", "B", "T"} {
			port := ports[name]
			names = append(names, "port="+port, "port="+name, "port:"+port, "port:"+name)
			if conn, err := net.Dial("tcp", "127.0.0.1:"+port); err == nil && name != "T" {
				said = append(said, "reached at "+name)
				require.NoError(t, conn.Close())
			}
		}
		for _, l := range strings.Split(c.Do("INFO", "server").Str, "\r\n") {
			if strings.HasPrefix(l, "listener") || strings.HasPrefix(l, "tcp_port") {
				said = append(said, strings.NewReplacer(names...).Replace(l))
			}
		}
		return append(said, c.Do("CONFIG", "GET", "maxclients").String(), c.Do("CONFIG", "GET", "bind").String())
	}
	for _, line := range []string{
		"port A", "port B", "port T", "maxclients 77 port T", "port A maxclients 78", "bind 127.0.0.1_192.0.2.1",
		"bind 192.0.2.1 port B", "port B bind 192.0.2.1", "bind 0.0.0.0", "bind 127.0.0.1_-192.0.2.1", "bind *", "port 0", "port 0",
		"port B bind 127.0.0.1", "port 65536", "port x", "port B port A", "bind 127.0.0.1_127.0.0.1", "port A bind -192.0.2.1", "bind 127.0.0.1",
	} {
		require.Equal(t, seen(redis.Dial, theirs, redis.Socket, line),
			seen(func() (net.Conn, error) { return net.Dial("unix", conf.UnixSocket) }, ours, conf.UnixSocket, line), line)
	}
}
