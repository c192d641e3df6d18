//go:build linux

package transport

import (
	"crypto/tls"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/tests/testkit"
)

// bothEnds returns the layer of a server, and a peer that the test moves bytes to and from by hand.
func bothEnds(t *testing.T) (*layer, *tls.Conn, net.Conn) {
	t.Helper()
	ca := testkit.NewAuthority(t)
	near, far := net.Pipe()
	t.Cleanup(func() { _ = near.Close() })
	c := &carriage{Conn: near}
	cert := ca.Issue("server", time.Now().Add(time.Hour)).Certificate
	server := tls.Server(c, &tls.Config{Certificates: []tls.Certificate{cert}, DynamicRecordSizingDisabled: true, SessionTicketsDisabled: true})
	client := tls.Client(far, &tls.Config{RootCAs: ca.Pool(), ServerName: "localhost"})
	done := make(chan error, 1)
	go func() { done <- client.Handshake() }()
	require.NoError(t, server.Handshake())
	require.NoError(t, <-done)
	c.layer = &layer{conn: server}
	return c.layer, client, near
}

// missing never says more than what the peer cannot have read, and knows it exactly for the last records.
func TestMissingPlaintext(t *testing.T) {
	l, _, _ := bothEnds(t)
	type record struct{ plain, cipher int }
	var records []record
	for i := range 40 {
		size := 1 + i*997%recordBytes
		before := l.cipher
		b, err := l.seal(make([]byte, size), nil)
		require.NoError(t, err)
		require.EqualValues(t, len(b), l.cipher-before)
		records = append(records, record{size, len(b)})
		require.Zero(t, l.missing(0))
		unsent, plain := 0, 0
		for back := len(records) - 1; back >= 0; back-- {
			r := records[back]
			for _, part := range []int{1, r.cipher / 2, r.cipher} { // of this record, from its end
				got := l.missing(unsent + part)
				require.LessOrEqual(t, got, plain+r.plain)
				if len(records)-back <= len(l.last) {
					require.Equal(t, plain+r.plain, got, "record %d of %d, %d of its %d bytes", back, len(records), part, r.cipher)
				}
			}
			unsent, plain = unsent+r.cipher, plain+r.plain
		}
	}
}

// A record that arrives in two halves is read when it is whole, and so are the bytes behind it.
func TestLayerGoesOnWhereItStopped(t *testing.T) {
	l, client, near := bothEnds(t)
	go func() {
		_, _ = client.Write([]byte("one"))
		_, _ = client.Write([]byte("two"))
	}()
	wire := make([]byte, 0, 1000)
	for len(wire) < 2*(3+22) {
		buf := make([]byte, 100)
		n, err := near.Read(buf)
		require.NoError(t, err)
		wire = append(wire, buf[:n]...)
	}
	var got []byte
	for i := range wire {
		l.input = wire[i : i+1]
		buf := make([]byte, 2) // less than a record
		for more := true; more; {
			var n int
			var err error
			n, more, err = l.open(buf)
			require.NoError(t, err)
			got = append(got, buf[:n]...)
		}
	}
	require.Equal(t, "onetwo", string(got))
}
