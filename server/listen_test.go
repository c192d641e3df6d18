package server

import (
	"fmt"
	"net"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/config"
	"lockserver/tests/testkit"
)

// freePort is a port without a listener.
func freePort(t testing.TB) int {
	t.Helper()
	port, err := strconv.Atoi(testkit.FreePort(t))
	require.NoError(t, err)
	return port
}

// hasIPv6 reports whether this machine has the address ::1.
func hasIPv6() bool {
	ln, err := net.Listen("tcp6", "[::1]:0")
	if err == nil {
		_ = ln.Close()
	}
	return err == nil
}

// Which addresses are listened on: those that bind names, and no more.
func TestBind(t *testing.T) {
	t.Parallel()
	for _, loops := range []bool{false, true} {
		for _, tt := range []struct {
			bind   []string
			v4, v6 bool
		}{
			{[]string{"0.0.0.0"}, true, false},
			{[]string{"*"}, true, false},
			{[]string{"localhost"}, true, false},
			{[]string{"-::*"}, false, true},
			{[]string{"-::1"}, false, true},
			{[]string{"*", "-::*"}, true, true},
			{[]string{"-::", "0.0.0.0"}, true, true},
			{[]string{"127.0.0.1", "-::1"}, true, true},
			{[]string{"127.0.0.1", "-192.0.2.1", "-2001:db8::1"}, true, false},
		} {
			if !tt.v4 && !hasIPv6() {
				continue
			}
			t.Run(fmt.Sprint(loops, tt.bind), func(t *testing.T) {
				port := freePort(t)
				srv := startWith(t, Options{EventLoops: loops}, func(c *config.Config) { c.Bind, c.Port = tt.bind, port })
				require.Equal(t, strings.Join(tt.bind, " "), srv.Directives()["bind"])
				for host, want := range map[string]bool{"127.0.0.1": tt.v4, "::1": tt.v6 && hasIPv6()} {
					conn, err := net.DialTimeout("tcp", net.JoinHostPort(host, fmt.Sprint(port)), soon)
					if !want {
						require.Error(t, err, host)
						continue
					}
					require.NoError(t, err, host)
					c := testkit.NewClient(t, conn)
					require.Equal(t, "+PONG", c.Do("PING").String())
					c.Close()
				}
			})
		}
	}
}

// A dash excuses an address that is not there, and nothing else.
func TestBindThatFails(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = taken.Close() }()
	port := taken.Addr().(*net.TCPAddr).Port
	for want, bind := range map[string][]string{
		"Could not create server TCP listening socket 127.0.0.1:": {"-127.0.0.1"},
		"Could not create server TCP listening socket 192.0.2.1:": {"-::1", "192.0.2.1"},
		"none of the addresses of bind (-192.0.2.":                {"-192.0.2.1"},
		"bind '-' names no address":                               {"-"},
	} {
		c := quiet()
		c.Bind, c.Port = bind, port
		srv, err := newInstance(Options{Directives: c.Directives()})
		require.NoError(t, err)
		require.ErrorContains(t, srv.Start(), want)
		require.NoError(t, srv.Close())
	}
}
