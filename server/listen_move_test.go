package server

import (
	"crypto/tls"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/config"
	"lockserver/tests/testkit"
)

// reachable reports whether a server answers at a port of 127.0.0.1, and requires that a refusal is one.
func reachable(t *testing.T, port int) bool {
	t.Helper()
	conn, err := net.DialTimeout("tcp", fmt.Sprint("127.0.0.1:", port), soon)
	if err != nil {
		require.ErrorContains(t, err, "refused")
		return false
	}
	require.NoError(t, conn.Close())
	return true
}

// listeners are the lines of INFO that say where clients come from.
func listeners(c *testkit.Client) (lines []string) {
	for _, l := range strings.Split(c.Do("INFO", "server").Str, "\r\n") {
		if strings.HasPrefix(l, "listener") {
			lines = append(lines, l)
		}
	}
	return lines
}

// startProgram is startWith for a server that listens as the server program does; with threads 0 its
// connections have goroutines, as on systems that have no event loops.
func startProgram(t *testing.T, threads int, change func(c *config.Config)) *instance {
	t.Helper()
	c := quiet()
	change(c)
	srv, err := newInstance(Options{EventLoops: true, Directives: c.Directives()})
	require.NoError(t, err)
	t.Cleanup(func() { _ = srv.Close() })
	srv.executor.config.IOThreads = threads
	require.NoError(t, srv.Start())
	return srv
}

// TestListenElsewhere: CONFIG SET port and bind move the server, and leave its connections.
func TestListenElsewhere(t *testing.T) {
	t.Parallel()
	for _, threads := range []int{0, 1, 3} {
		t.Run(fmt.Sprint(threads), func(t *testing.T) {
			first, second, taken := freePort(t), freePort(t), freePort(t)
			other, err := net.Listen("tcp", fmt.Sprint("127.0.0.1:", taken))
			require.NoError(t, err)
			defer func() { require.NoError(t, other.Close()) }()
			socket := filepath.Join(t.TempDir(), "s")
			srv := startProgram(t, threads, func(c *config.Config) {
				c.Port, c.UnixSocket, c.EnableProtectedConfigs = first, socket, config.AccessLocal
			})
			c := testkit.Dial(t, overPort(srv))
			set := func(want string, pairs ...string) {
				t.Helper()
				require.Equal(t, want, c.Do(append([]string{"CONFIG", "SET"}, pairs...)...).String())
			}
			const failed = "-ERR CONFIG SET failed (possibly related to argument '%s') - %s"
			const noPort, noBind = "Unable to listen on this port. Check server logs.", "Failed to bind to specified addresses."

			set("+OK", "port", fmt.Sprint(second))
			require.False(t, reachable(t, first))
			require.Equal(t, "+PONG", testkit.Dial(t, overPort(srv)).Do("PING").String())
			tcp := fmt.Sprint("listener0:name=tcp,bind=127.0.0.1,port=", second)
			unix := "listener1:name=unix,bind=" + socket
			require.Equal(t, []string{tcp, unix}, listeners(c))

			set(fmt.Sprintf(failed, "port", noPort), "maxclients", "77", "port", fmt.Sprint(taken))
			set(fmt.Sprintf(failed, "bind", noBind), "bind", "127.0.0.1 192.0.2.1")
			set(fmt.Sprintf(failed, "bind", noBind), "bind", "192.0.2.1", "port", fmt.Sprint(first))
			set(fmt.Sprintf(failed, "dir", "No such file or directory"), "port", fmt.Sprint(first), "dir", "/no/such")
			require.Equal(t, []string{tcp, unix}, listeners(c))
			require.Equal(t, "10000", srv.Directives()["maxclients"], "all or none")
			require.True(t, reachable(t, second))
			require.False(t, reachable(t, first))

			set("+OK", "bind", "0.0.0.0")
			require.True(t, reachable(t, second))
			set("+OK", "bind", "127.0.0.1 -192.0.2.1")
			require.True(t, reachable(t, second))
			require.Equal(t, []string{tcp, unix}, listeners(c))

			set("+OK", "port", "0")
			require.False(t, reachable(t, second))
			require.Equal(t, []string{"listener0:name=tcp", unix}, listeners(c))
			require.Equal(t, "unix", srv.Addr().Network())
			require.Equal(t, "+PONG", testkit.Dial(t, overPort(srv)).Do("PING").String())
			set("+OK", "port", fmt.Sprint(first), "bind", "127.0.0.1")
			require.True(t, reachable(t, first))
			require.Equal(t, "+PONG", c.Do("PING").String(), "it has been there all along")
		})
	}
}

// TestEncryptElsewhere is the same for tls-port.
func TestEncryptElsewhere(t *testing.T) {
	t.Parallel()
	for _, threads := range []int{0, 1} {
		t.Run(fmt.Sprint(threads), func(t *testing.T) { encryptElsewhere(t, threads) })
	}
}

func encryptElsewhere(t *testing.T, threads int) {
	ca := testkit.NewAuthority(t)
	trusting := &tls.Config{RootCAs: ca.Pool(), ServerName: "localhost"}
	first, second := freePort(t), freePort(t)
	srv := startProgram(t, threads, func(c *config.Config) {
		seal(t, c, ca)
		c.TLS.Port, c.TLS.AuthClients = 0, "no"
	})
	c := testkit.Dial(t, overPort(srv))
	require.Len(t, listeners(c), 1)
	for _, port := range []int{first, second} {
		require.Equal(t, "+OK", c.Do("CONFIG", "SET", "tls-port", fmt.Sprint(port)).String())
		require.Contains(t, listeners(c), fmt.Sprint("listener2:name=tls,bind=127.0.0.1,port=", port))
		require.Equal(t, "+PONG", testkit.Dial(t, overTLS(srv, trusting)).Do("PING").String())
	}
	require.False(t, reachable(t, first))
	require.Equal(t, "-ERR CONFIG SET failed (possibly related to argument 'tls-port') - Unable to listen on this port. Check server logs.",
		c.Do("CONFIG", "SET", "tls-port", fmt.Sprint(srv.port())).String())
	require.Equal(t, "+PONG", testkit.Dial(t, overTLS(srv, trusting)).Do("PING").String())
	require.Equal(t, "-ERR CONFIG SET failed (possibly related to argument 'tls-port') - Unable to update TLS configuration. Check server logs.",
		c.Do("CONFIG", "SET", "tls-port", fmt.Sprint(first), "tls-cert-file", "/no/such").String())
	require.Equal(t, "+OK", c.Do("CONFIG", "SET", "tls-port", "0").String())
	require.False(t, reachable(t, second))
	require.Nil(t, srv.SecureAddr())
}
