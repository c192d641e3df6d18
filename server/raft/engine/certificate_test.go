package engine

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	hraft "github.com/hashicorp/raft"
	"github.com/stretchr/testify/require"

	"lockserver/server/raft"
	"lockserver/tests/testkit"
)

// leafOf reads a certificate.
func leafOf(t *testing.T, i testkit.Issued) *x509.Certificate {
	t.Helper()
	cert, err := x509.ParseCertificate(i.Certificate.Certificate[0])
	require.NoError(t, err)
	return cert
}

// TestCertificatesOfMembers: a certificate is for the host of an address, or for one of the names.
func TestCertificatesOfMembers(t *testing.T) {
	by, end := testkit.NewAuthority(t), time.Now().Add(time.Hour)
	for _, c := range []struct {
		hosts, at, names string
		ok               bool
	}{
		{"10.0.0.1", "10.0.0.1:7000", "", true},
		{"10.0.0.1", "10.0.0.2:7000", "", false},
		{"10.0.0.1", "10.0.0.2:7000 10.0.0.1:7000", "", true}, // it has moved
		{"::1", "[::1]:7000", "", true},
		{"locks-1.example", "locks-1.example:7000", "", true},
		{"locks-1.example", "Locks-1.Example.:7000", "", true},
		{"*.locks.example", "a.locks.example:7000", "", true},
		{"*.locks.example", "b.a.locks.example:7000", "", false},
		{"", "10.0.0.1:7000", "", false},
		{"", "10.0.0.1:7000", "common", true},
		{"", "10.0.0.1:7000", "other", false},
		{"", "10.0.0.1:7000", "other *", true},
		{"member.example", "10.0.0.1:7000", "other member.example", true},
		{"*.locks.example", "10.0.0.1:7000", "*.locks.example", true},
		{"*.locks.example", "10.0.0.1:7000", "a.locks.example", true},
		{"10.0.0.9", "10.0.0.1:7000", "10.0.0.9", true},
		{"10.0.0.1", "", "", false}, // the member is not known
	} {
		cert := leafOf(t, by.IssueFor("common", end, strings.Fields(c.hosts)...))
		err := CheckCertificate(cert, strings.Fields(c.at), strings.Fields(c.names))
		require.Equal(t, c.ok, err == nil, "%+v: %v", c, err)
	}
	from := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1}
	for host, ok := range map[string]bool{"127.0.0.1": true, "localhost": true, "127.0.0.2": false, "*.example": false} {
		require.Equal(t, ok, checkOrigin(t.Context(), leafOf(t, by.IssueFor("c", end, host)), from, nil) == nil, host)
	}
	require.NoError(t, checkOrigin(t.Context(), leafOf(t, by.IssueFor("c", end)), from, []string{"c"}))
	require.NotContains(t, oneLine("a\r\nb"), "\n")
}

// TestMemberAsksWhereAnotherOneIs: a member that was away finds the address of a member that was added
// meanwhile, or that has moved, by asking the members that it knows. It does not ask without end.
func TestMemberAsksWhereAnotherOneIs(t *testing.T) {
	var asked atomic.Int64 // members are asked side by side
	e := alone()
	e.options.Peers = []raft.Peer{{ID: "a", Raft: "a:1"}, {ID: "b", Raft: "b:1"}, {ID: "c", Raft: "c:1"}}
	e.options.Hello = func(_ context.Context, at string) (Hello, error) {
		asked.Add(1)
		if at == "c:1" {
			return Hello{}, io.EOF
		}
		return Hello{Peer: raft.Peer{ID: "b"}, Reported: true, Report: raft.Report{Addresses: []string{"a=a:1/a:2/x", "b=b:1/b:2/x", "c=c:2/c:3/x", "d=d:1/d:2/x", "bad"}}}, nil
	}
	is := func(id string, ask bool, want ...string) {
		t.Helper()
		at, others, err := e.Addresses(t.Context(), id, ask)
		require.NoError(t, err)
		require.True(t, others)
		require.Equal(t, want, at)
	}
	_, _, err := e.Addresses(t.Context(), "b", true)
	require.ErrorIs(t, err, hraft.ErrRaftShutdown)
	r := &running{of: e, raft: new(hraft.Raft)}
	e.running = r
	is("b", false, "b:1")
	is("d", false)
	is("d", true, "d:1")
	require.EqualValues(t, 2, asked.Load())
	is("c", true, "c:1", "c:2")
	is("e", true)
	require.EqualValues(t, 2, asked.Load(), "a moment ago")
	e.options.Peers = e.options.Peers[:1]
	_, others, err := e.Addresses(t.Context(), "b", false)
	require.NoError(t, err)
	require.False(t, others)
}

// TestBothEndsCheckCertificates: the called member refuses a caller, and a caller refuses the called member.
// Both logs have each.
func TestBothEndsCheckCertificates(t *testing.T) {
	by, end := testkit.NewAuthority(t), time.Now().Add(time.Hour)
	for name, c := range map[string]struct{ called, caller, inCalled, inCaller string }{
		"caller": {"127.0.0.1", "10.0.0.1", `a connection is refused" member=b cause="it shows a certificate for 10.0.0.1`, "a member cannot be called"},
		"called": {"10.0.0.1", "127.0.0.1", "another member refuses this one", `a member cannot be called" address=AT cause="it shows a certificate for 10.0.0.1`},
		"none":   {"127.0.0.1", "127.0.0.1", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			require.NoError(t, err)
			at := l.Addr().String()
			self := Address(raft.Peer{ID: "a", Raft: at, Client: "h:1"})
			network := func(id, host string, log io.Writer) *Network {
				t.Helper()
				own := by.IssueFor(id, end, host).Certificate
				n := &Network{ID: id, Group: "g", Self: self, Log: slog.New(slog.NewTextHandler(log, nil))}
				n.Identity = newIdentity(t, id, n.Log)
				n.Accept = func(c net.Conn) net.Conn {
					return tls.Server(c, &tls.Config{Certificates: []tls.Certificate{own}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: by.Pool()})
				}
				n.Dial = func(ctx context.Context, at string) (net.Conn, error) {
					c, err := new(net.Dialer).DialContext(ctx, "tcp", at)
					require.NoError(t, err)
					return tls.Client(c, &tls.Config{Certificates: []tls.Certificate{own}, InsecureSkipVerify: true}), nil
				}
				n.Addresses = func(context.Context, string, bool) ([]string, bool, error) { return []string{"127.0.0.1:1"}, true, nil }
				return n
			}
			var logs [2]locked
			called, caller := network("a", c.called, &logs[0]), network("b", c.caller, &logs[1])
			called.Identity.older = true
			require.NoError(t, called.Identity.logs.StoreLog(&hraft.Log{Index: 1, Term: 1}))
			s, from := newStream(called, l), newStream(caller, nil)
			s.accepting.Go(s.accept)
			defer func() { require.NoError(t, s.Close()) }()
			go func() {
				if c, err := s.Accept(); err == nil {
					_ = c.Close()
				}
			}()
			conn, err := from.Dial(self, greetTimeout)
			if c.inCalled == "" {
				require.NoError(t, err)
				require.NoError(t, conn.Close())
				return
			}
			require.Error(t, err)
			require.Contains(t, logs[1].String(), strings.ReplaceAll(c.inCaller, "AT", at))
			require.Eventually(t, func() bool { return strings.Contains(logs[0].String(), c.inCalled) }, time.Minute, time.Millisecond, &logs[0])
			require.NotEmpty(t, called.Identity.refusals())
			require.NotEmpty(t, caller.Identity.refusals())
		})
	}
}
