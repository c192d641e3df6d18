package server

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/resp"
	"lockserver/server/output"
	"lockserver/server/transport"
	"lockserver/server/wait"
)

// outputConn is a connection that records its output.
type outputConn struct {
	transport.Conn
	sent           bytes.Buffer
	unsent         int // bytes of the output that the client has not taken
	gone, hungUp   bool
	takenMeanwhile int // bytes that the client takes before the connection is closed
}

func (c *outputConn) Send(b []byte, _ bool) (bool, error) {
	c.sent.Write(b)
	c.unsent += len(b)
	return false, nil
}
func (c *outputConn) Buffered() int  { return c.unsent }
func (c *outputConn) Unsent() int    { return c.unsent }
func (c *outputConn) Unacked() int   { return c.unsent }
func (c *outputConn) PeerGone() bool { return c.gone }
func (c *outputConn) HangUp()        { c.hungUp, c.unsent = true, c.unsent-c.takenMeanwhile }

// AwaitDrain implements transport.Conn.
func (c *outputConn) AwaitDrain(low int) bool { return c.unsent > low }

// outputClient is a client that records which grants were taken back.
type outputClient struct {
	released int
	back     []*wait.Parked
	gone     bool
}

func (c *outputClient) Release()       { c.released++ }
func (c *outputClient) Panicked(p any) { panic(p) }
func (c *outputClient) TakeBack(granted *wait.Parked, gone bool) {
	c.back, c.gone = append(c.back, granted), gone
}

// testOutput is an output with all that it needs.
type testOutput struct {
	output.Output
	conn   outputConn
	client outputClient
	party  wait.Party
	gates  output.Gates
}

func newOutput() *testOutput {
	o := &testOutput{}
	o.Open(&o.conn, &o.client, &o.party, &o.gates)
	return o
}

// TestOutputKept: output waits at both gates, and output behind it waits as well, in order.
func TestOutputKept(t *testing.T) {
	o := newOutput()
	require.False(t, o.SendLater([]byte("a"), nil, output.Needs{Log: 1}, false))
	require.False(t, o.SendLater([]byte("b"), nil, output.Needs{Copied: 2}, false))
	require.False(t, o.SendLater([]byte("c"), nil, output.Needs{}, true))
	require.True(t, o.Keeps())
	require.Equal(t, 3, o.Unsent())
	require.Empty(t, o.conn.sent.String())

	o.gates.Log.Open(1)
	require.Equal(t, 1, o.client.released)
	require.False(t, o.SendKept())
	require.Equal(t, "a", o.conn.sent.String())

	o.gates.Copied.Open(1)
	require.False(t, o.SendKept())
	require.Equal(t, "a", o.conn.sent.String())
	o.gates.Copied.Open(2)
	require.Equal(t, 2, o.client.released)
	require.True(t, o.SendKept(), "the connection is closed behind the last output")
	require.Equal(t, "abc", o.conn.sent.String())
	require.False(t, o.Keeps())
}

// TestOutputLost: output with a position that was lost never leaves, and the connection is closed.
func TestOutputLost(t *testing.T) {
	o := newOutput()
	require.False(t, o.SendLater([]byte("a"), nil, output.Needs{Log: 5}, false))
	o.gates.Log.Lose(5)
	require.True(t, o.SendKept())
	require.Empty(t, o.conn.sent.String())
}

// TestOutputHand: a grant is not sent to a client that has closed its end. It is taken back.
func TestOutputHand(t *testing.T) {
	o, w := newOutput(), &wait.Parked{}
	o.conn.gone = true
	o.Hand([]byte("granted"), w)
	require.Empty(t, o.conn.sent.String())
	require.Equal(t, []*wait.Parked{w}, o.client.back)
	require.True(t, o.client.gone)
	require.False(t, o.HasGrants())
}

// TestOutputUnread: when a connection ends, the grants are returned that the client cannot have read: the
// grants with unsent bytes, the kept grants, and the grant that was never sent.
func TestOutputUnread(t *testing.T) {
	o := newOutput()
	all := [4]*wait.Parked{{}, {}, {}, {}}
	o.Hand([]byte("first"), all[0])
	o.Hand([]byte("second"), all[1])
	require.True(t, o.HasGrants())
	o.SendLater([]byte("third"), all[2], output.Needs{Log: 1}, false)
	o.conn.unsent = len("second") + 1 // a byte of the first answer is not sent
	o.conn.takenMeanwhile = 1
	require.Equal(t, all[1:], o.Unread(all[3]))
	require.True(t, o.conn.hungUp)
	require.False(t, o.Keeps())
	require.False(t, o.HasGrants())

	o = newOutput()
	o.Hand([]byte("read"), all[0])
	o.conn.unsent = 0
	require.Empty(t, o.Unread(nil), "the client may be at work under the lock")
	require.False(t, o.conn.hungUp)
}

// TestOutputControl: output above the limit stalls the client until some of it was taken. The owner is called
// then.
func TestOutputControl(t *testing.T) {
	o := newOutput()
	_, err := o.Send(make([]byte, 100))
	require.NoError(t, err)
	o.Control(100, 50)
	require.False(t, o.Stalled)
	o.Control(99, 50)
	require.True(t, o.Stalled)
	o.conn.unsent = 50
	o.Control(99, 50)
	require.False(t, o.Stalled)
}

// TestOutputInbox: messages come out in order, at most so many bytes and at least one message. The bytes of a
// message that others share are never written to, and copies share memory.
func TestOutputInbox(t *testing.T) {
	var in output.Inbox
	out := resp.Writer{}
	shared := make([]byte, 2, 64)
	copy(shared, "ab")
	again := []byte("c")
	for range 3 {
		in.Add(shared)
		in.AddCopy(again)
		in.AddCopy(again)
	}
	clear(again)
	require.Equal(t, 6, in.Len())
	require.Equal(t, 12, in.Bytes())
	in.Take(&out, 1)
	require.Equal(t, "ab", string(out.Buf))
	in.Take(&out, 4)
	require.Equal(t, "abccab", string(out.Buf))
	require.Equal(t, 6, in.Bytes())
	in.Take(&out, 100)
	require.Equal(t, "abccabccabcc", string(out.Buf))
	require.Zero(t, in.Len()+in.Bytes())
	require.Equal(t, make([]byte, 62), shared[2:64])
	for range 128 {
		in.Add(shared)
	}
	in.Drop()
	require.Zero(t, in.Held())
}
