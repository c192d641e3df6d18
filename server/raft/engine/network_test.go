package engine

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	hraft "github.com/hashicorp/raft"
	"github.com/stretchr/testify/require"

	"lockserver/server/raft"
)

// locked is a buffer that several write to.
type locked struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *locked) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *locked) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// newIdentity makes the identity of a member with an empty disk.
func newIdentity(t *testing.T, id string, log *slog.Logger) *Identity {
	store := hraft.NewInmemStore()
	o := Options{ID: id, Log: log, Logs: store, Stable: store, Snapshots: hraft.NewInmemSnapshotStore()}
	require.NoError(t, o.Identify())
	return o.Identity
}

// TestMembersGreet: who is another group's, has our id, or calls another, is refused, and the log says why.
func TestMembersGreet(t *testing.T) {
	log := &locked{}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	at := l.Addr().String()
	self := Address(raft.Peer{ID: "a", Raft: at, Client: "h:1"})
	n := &Network{ID: "a", Group: "ours", Self: self, Log: slog.New(slog.NewTextHandler(log, nil))}
	n.Identity = newIdentity(t, "a", n.Log)
	n.Identity.older = true
	require.NoError(t, n.Identity.logs.StoreLog(&hraft.Log{Index: 1, Term: 1}))
	s := newStream(n, l)
	s.accepting.Go(s.accept)
	defer func() { require.NoError(t, s.Close()) }()

	call := func(id, group string, to hraft.ServerAddress, dial func(context.Context, string) (net.Conn, error)) error {
		other := newStream(&Network{ID: id, Group: group, Dial: dial, Log: n.Log, Identity: newIdentity(t, id, slog.New(slog.DiscardHandler))}, nil)
		c, err := other.Dial(to, 5*time.Second)
		if err == nil {
			err = c.Close()
		}
		return err
	}
	accepted := make(chan net.Conn, 1)
	go func() {
		c, _ := s.Accept()
		accepted <- c
	}()
	require.NoError(t, call("b", "ours", self, nil))
	require.NoError(t, (<-accepted).Close())
	elsewhere := func(ctx context.Context, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", at)
	}
	require.ErrorContains(t, call("b", "theirs", self, nil), "member of the group theirs")
	require.ErrorContains(t, call("a", "ours", self, nil), "has the id a of this member")
	require.ErrorContains(t, call("b", "ours", "h:7/h:8", elsewhere), "it is called by h:7")
	require.Equal(t, 3, strings.Count(log.String(), "a connection is refused"))
	require.False(t, s.anotherAt(at), "it answers itself")
	require.Equal(t, 3, strings.Count(log.String(), "a connection is refused"))
	require.True(t, newStream(&Network{ID: "a", Group: "ours", Self: self, Log: n.Log}, nil).anotherAt(at), "it has the same id")
	require.True(t, newStream(&Network{ID: "b", Group: "ours", Self: self, Log: n.Log}, nil).anotherAt(at), "it has the same address")
	free, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, free.Close())
	require.False(t, s.anotherAt(free.Addr().String()), "no server answers")

	c, err := net.Dial("tcp", at)
	require.NoError(t, err)
	_, err = io.WriteString(c, "GET / HTTP/1.1\n")
	require.NoError(t, err)
	answer, err := io.ReadAll(c)
	require.NoError(t, err)
	require.Contains(t, string(answer), "a member begins with 'lockserver-raft 1'")
	_, err = readLine(strings.NewReader(strings.Repeat("x", longestGreeting+1)))
	require.Error(t, err)
}

// TestDirectoryIsOneMembers: no other member starts in it, and the same one does not start twice.
func TestDirectoryIsOneMembers(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "raft")
	o := Options{ID: "a", Log: slog.New(slog.DiscardHandler)}
	require.NoError(t, KeepIn(dir, "g", &o))
	again := Options{ID: "a", Log: o.Log}
	require.ErrorContains(t, KeepIn(dir, "g", &again), "is in use")
	require.NoError(t, o.Release())
	other := Options{ID: "b", Log: o.Log}
	require.ErrorContains(t, KeepIn(dir, "g", &other), "is that of 'a g'")
	require.ErrorContains(t, KeepIn(dir, "h", &Options{ID: "a", Log: o.Log}), "is that of 'a g'")
	require.NoError(t, KeepIn(dir, "g", &again))
	require.NoError(t, errors.Join(again.Release()))
}

// brokenConn is a connection that fails when the first line is read, as one does in its TLS handshake.
type brokenConn struct {
	net.Conn
	err error
}

func (c brokenConn) Read([]byte) (int, error) { return 0, c.err }

// TestCallersThatEndAreNotLogged: a connection that ends or stays silent in its handshake is no line in the
// log. A caller that refuses the certificate is one.
func TestCallersThatEndAreNotLogged(t *testing.T) {
	for _, row := range []struct {
		err    error
		logged bool
	}{
		{&net.OpError{Op: "read", Net: "tcp", Err: os.ErrDeadlineExceeded}, false},
		{&net.OpError{Op: "write", Net: "tcp", Err: os.ErrDeadlineExceeded}, false},
		{&net.OpError{Op: "write", Net: "tcp", Err: syscall.EPIPE}, false},
		{&net.OpError{Op: "remote error", Err: errors.New("tls: bad certificate")}, true},
		{errors.New("tls: first record does not look like a TLS handshake"), true},
	} {
		log := &locked{}
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		n := &Network{ID: "a", Group: "ours", Self: Address(raft.Peer{ID: "a", Raft: l.Addr().String(), Client: "h:1"}), Log: slog.New(slog.NewTextHandler(log, nil))}
		n.Identity = newIdentity(t, "a", n.Log)
		n.Accept = func(c net.Conn) net.Conn { return brokenConn{c, row.err} }
		s := newStream(n, l)
		s.accepting.Go(s.accept)
		c, err := net.Dial("tcp", l.Addr().String())
		require.NoError(t, err)
		_, _ = io.Copy(io.Discard, c) // until the member has closed it
		require.NoError(t, c.Close())
		require.NoError(t, s.Close())
		require.Equal(t, row.logged, strings.Contains(log.String(), "a connection is refused"), "%v: %s", row.err, log)
	}
}
