package transport

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/tests/testkit"
)

// sealed returns an endpoint that has only an encrypted port, and the configuration for its clients.
func sealed(t *testing.T, h Acceptor, loops int) (*Endpoint, *tls.Config) {
	t.Helper()
	ca := testkit.NewAuthority(t)
	cert := ca.Issue("server", time.Now().Add(time.Hour))
	config := &tls.Config{Certificates: []tls.Certificate{cert.Certificate}, DynamicRecordSizingDisabled: true}
	e := listening(t, h, Addresses{Loops: loops,
		Secure: &Secure{Bind: []string{"127.0.0.1"}, Config: func() *tls.Config { return config }}})
	return e, &tls.Config{RootCAs: ca.Pool(), ServerName: "localhost"}
}

// Requests come in records of any size, in packets of any size, and the end of input behind them. All are
// answered, on loops and without, by both versions of the protocol.
func TestEncryptedConnections(t *testing.T) {
	const requests = 20_000
	for _, loops := range []int{0, 1, 2} {
		for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
			t.Run(fmt.Sprint(loops, " loops ", tls.VersionName(version)), func(t *testing.T) {
				e, config := sealed(t, newPongs(), loops)
				config.MaxVersion = version
				nc, err := tls.Dial("tcp", e.SecureAddr().String(), config)
				require.NoError(t, err)
				defer func() { _ = nc.Close() }()
				_ = nc.SetDeadline(time.Now().Add(soon))
				go func() {
					r := rand.New(rand.NewPCG(1, uint64(version)))
					all := bytes.Repeat([]byte("PING\r\n"), requests)
					for len(all) > 0 {
						n := min(len(all), 1+r.IntN(40_000))
						_, _ = nc.Write(all[:n])
						all = all[n:]
					}
					_ = nc.CloseWrite()
				}()
				got, err := io.ReadAll(nc)
				require.NoError(t, err, "the server says farewell")
				require.Equal(t, bytes.Repeat([]byte("+PONG\r\n"), requests), got)
			})
		}
	}
}

// dribble is a connection that sends a byte at a time.
type dribble struct{ net.Conn }

func (d dribble) Write(b []byte) (int, error) {
	for i := range b {
		if _, err := d.Conn.Write(b[i : i+1]); err != nil {
			return i, err
		}
	}
	return len(b), nil
}

func TestRecordsThatComeInPieces(t *testing.T) {
	for _, loops := range []int{0, 1} {
		e, config := sealed(t, newPongs(), loops)
		nc, err := net.Dial("tcp", e.SecureAddr().String())
		require.NoError(t, err)
		c := testkit.NewClient(t, tls.Client(dribble{nc}, config))
		for range 20 {
			require.Equal(t, "+PONG", c.Do("PING").String())
		}
	}
}

// Bytes that are no TLS, or a record that was changed on its way, end the connection and nothing else.
func TestBytesThatAreNoRecords(t *testing.T) {
	for _, loops := range []int{0, 1} {
		h := newPongs()
		e, config := sealed(t, h, loops)
		good := testkit.Dial(t, func() (net.Conn, error) { return tls.Dial("tcp", e.SecureAddr().String(), config) })
		require.Equal(t, "+PONG", good.Do("PING").String())
		for _, garbage := range []string{"PING\r\n", "\x16\x03\x01\xff\xff", "\x17\x03\x03\x00\x05hello", "\x15\x03\x03\x00\x02\x02\x28"} {
			nc, err := net.Dial("tcp", e.SecureAddr().String())
			require.NoError(t, err)
			_, _ = nc.Write([]byte(garbage))
			_ = nc.(*net.TCPConn).CloseWrite()
			_ = nc.SetDeadline(time.Now().Add(soon))
			_, err = io.Copy(io.Discard, nc)
			requireEnded(t, err)

			nc, err = net.Dial("tcp", e.SecureAddr().String())
			require.NoError(t, err)
			tc := tls.Client(nc, config)
			require.NoError(t, tc.Handshake())
			_, _ = nc.Write([]byte(garbage))
			_ = nc.SetDeadline(time.Now().Add(soon))
			_, err = io.Copy(io.Discard, nc)
			requireEnded(t, err)
		}
		require.Eventually(t, func() bool { return h.count() == 1 }, soon, time.Millisecond)
		require.Equal(t, "+PONG", good.Do("PING").String())
	}
}

// requireEnded wants the other end to have closed, whether it had read everything or not.
func requireEnded(t *testing.T, err error) {
	t.Helper()
	require.False(t, errors.Is(err, os.ErrDeadlineExceeded), "the connection is open still: %v", err)
}

// The number of half-done handshakes is bounded: the oldest gives way.
func TestHandshakesAreBounded(t *testing.T) {
	var h handshakes
	ends := make([]net.Conn, 0, mostHandshakes+1)
	first, other := net.Pipe()
	h.begin(first)
	for range mostHandshakes - 1 {
		a, _ := net.Pipe()
		ends = append(ends, a)
		h.begin(a)
	}
	last, _ := net.Pipe()
	_ = other.SetDeadline(time.Now().Add(10 * time.Millisecond))
	_, err := other.Read(make([]byte, 1))
	require.NotErrorIs(t, err, io.EOF, "all fitted")
	place := h.begin(last)
	_ = other.SetDeadline(time.Now().Add(soon))
	_, err = other.Read(make([]byte, 1))
	require.ErrorIs(t, err, io.EOF)
	require.Equal(t, mostHandshakes, h.open.Len())
	h.end(place)
	require.Equal(t, mostHandshakes-1, h.open.Len())
	require.Len(t, ends, mostHandshakes-1)
}

// Failed handshakes do not flood the log, and it counts those that it leaves out.
func TestFailedHandshakesAreLogged(t *testing.T) {
	var out bytes.Buffer
	var mu sync.Mutex
	log := slog.New(slog.NewTextHandler(lockedWriter{&mu, &out}, nil))
	var h handshakes
	for range 3 * handshakeLines {
		h.failed(log, nil, io.ErrUnexpectedEOF)
	}
	h.failed(log, nil, io.EOF)
	require.Equal(t, handshakeLines, bytes.Count(out.Bytes(), []byte("unexpected EOF")))
	h.since = time.Time{}
	h.failed(log, nil, io.ErrUnexpectedEOF)
	require.Contains(t, out.String(), fmt.Sprint("not-logged=", 2*handshakeLines))
}

type lockedWriter struct {
	mu *sync.Mutex
	w  io.Writer
}

func (l lockedWriter) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(b)
}

// A panic in a handshake, here of a callback, is an error like any other.
func TestAHandshakeThatPanics(t *testing.T) {
	panics := &tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { panic("asked for") }}
	near, far := net.Pipe()
	defer func() { _ = far.Close() }()
	go func() { _ = tls.Client(far, &tls.Config{ServerName: "localhost"}).Handshake() }()
	require.ErrorContains(t, shake(tls.Server(near, panics)), "the handshake panicked: asked for")
}
