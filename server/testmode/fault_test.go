package testmode

import (
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/commands"
	"lockserver/internal/config"
)

func keys(names ...string) func() [][]byte {
	return func() (list [][]byte) {
		for _, name := range names {
			list = append(list, []byte(name))
		}
		return list
	}
}

// The first matching fault strikes. A fault that lets a command pass, or is over, leaves it to the next
// fault.
func TestWhichStrikes(t *testing.T) {
	var l Faults
	require.False(t, l.Some())
	require.False(t, (*Faults)(nil).Some())
	first := l.Add(Fault{Kind: Close, Command: "get", Key: "a*", Skip: 1, Times: 2})
	second := l.Add(Fault{Kind: DropAfter, Command: "GET", Client: 7})
	require.True(t, l.Some())
	struck := func(c Call) string {
		f, ok := l.Strike(&c)
		if !ok {
			return ""
		}
		return kinds[f.Kind]
	}
	for i, step := range []struct {
		call Call
		want string
	}{
		{Call{"set", commands.String, 7, keys("a")}, ""}, {Call{"get", commands.String, 1, keys("b")}, ""}, {Call{"get", commands.String, 7, keys("b")}, "DROPAFTER"},
		{Call{"get", commands.String, 7, keys("b", "ab")}, "DROPAFTER"}, // the first lets it go
		{Call{"get", commands.String, 7, keys("a")}, "CLOSE"}, {Call{"get", commands.String, 1, keys("b", "ab")}, "CLOSE"}, {Call{"get", commands.String, 1, keys("a")}, ""}, {Call{"get", commands.String, 7, keys("a")}, "DROPAFTER"},
	} {
		require.Equal(t, step.want, struck(step.call), i)
	}
	struckBy := map[int64]int64{}
	l.Each(func(id int64, f Fault) { struckBy[id] = f.Struck })
	require.Equal(t, map[int64]int64{first: 2, second: 3}, struckBy)
	require.True(t, l.Remove(first))
	require.False(t, l.Remove(first))
	require.EqualValues(t, 1, l.Clear())
	require.False(t, l.Some())
}

// Default save points are dropped, those that were configured are refused.
func TestFit(t *testing.T) {
	c := config.Default()
	require.NoError(t, Fit(c))
	require.Empty(t, c.Save)
	require.Empty(t, c.DBFilename)
	c = config.Default()
	require.NoError(t, c.Assign(map[string]string{"save": "10 1"}))
	require.ErrorContains(t, Fit(c), "save points")
	require.NotEmpty(t, c.DBFilename, "what is refused is left as it was")
	c = config.Default()
	c.Raft.ID = "a"
	require.ErrorContains(t, Fit(c), "not with raft-id")
	for bind, fits := range map[string]bool{"127.0.0.1 -::1": true, "127.8.0.1": true, "*": false, "localhost": false, "127.0.0.1 0.0.0.0": false} {
		c = config.Default()
		require.NoError(t, c.Assign(map[string]string{"bind": bind}))
		require.Equal(t, fits, Fit(c) == nil, bind)
		require.NoError(t, c.Assign(map[string]string{"port": "0", "tls-port": "7000"}))
		require.Equal(t, fits, Fit(c) == nil, "encrypted, on "+bind)
	}
}

// A unix socket is its owner's alone, whatever the process' mask leaves.
func TestFitUnixSocket(t *testing.T) {
	for perm, fits := range map[string]bool{"0": true, "700": true, "600": true, "770": false, "702": false, "777": false} {
		c := config.Default()
		require.NoError(t, c.Assign(map[string]string{"port": "0", "unixsocket": "/tmp/none", "unixsocketperm": perm}))
		err := Fit(c)
		if !fits {
			require.ErrorContains(t, err, "not with a unixsocket that others may use", perm)
			continue
		}
		require.NoError(t, err, perm)
		require.NotZero(t, c.UnixSocketPerm, perm)
		require.Zero(t, c.UnixSocketPerm&0o077, perm)
	}
}

// A listener of the program's own is one of this machine, too.
func TestFitListener(t *testing.T) {
	for at, fits := range map[net.Addr]bool{
		&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1}: true, &net.TCPAddr{IP: net.IPv6loopback, Port: 1}: true, &net.UnixAddr{Name: "/tmp/none"}: true,
		&net.TCPAddr{Port: 1}: false, &net.TCPAddr{IP: net.IPv4zero, Port: 1}: false, &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1), Port: 1}: false,
	} {
		require.Equal(t, fits, FitListener(at) == nil, at)
	}
}
