package demo

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/server"
)

// oddConn answers one command itself, without asking the server.
type oddConn struct {
	net.Conn
	command string
	reply   string
	ready   []byte // the bytes of the next read
}

func (o *oddConn) Write(p []byte) (int, error) {
	// The name of the command stands after "*3\r\n$7", or after longer numbers.
	if at := bytes.Index(p, []byte("\r\n"+o.command+"\r\n")); at >= 0 && at < 10 {
		o.ready = []byte(o.reply)
		return len(p), nil
	}
	return o.Conn.Write(p)
}

func (o *oddConn) Read(p []byte) (int, error) {
	if len(o.ready) == 0 {
		return o.Conn.Read(p)
	}
	n := copy(p, o.ready)
	o.ready = o.ready[n:]
	return n, nil
}

// TestOddAnswersAreErrors: after an unexpected answer to any command, no check claims success, and the keys
// of the sale are removed.
func TestOddAnswersAreErrors(t *testing.T) {
	t.Parallel()
	const word, list, entry = "+odd\r\n", "*1\r\n:1\r\n", "*1\r\n*2\r\n$3\r\n1-1\r\n*2\r\n$1\r\na\r\n$1\r\nb\r\n"
	for command, replies := range map[string][]string{
		"COMMAND": {word, list}, "EXISTS": {word, ":1\r\n"}, "SECKILL.CREATE": {word}, "XGROUP": {word},
		"SECKILL": {word, list, ":5\r\n", ":-1\r\n"}, "XREADGROUP": {list, "*1\r\n*2\r\n$1\r\ns\r\n" + entry},
		"XAUTOCLAIM": {list, "*3\r\n$3\r\n0-0\r\n" + entry + "*0\r\n"}, "XACK": {word}, "XPENDING": {word, "*1\r\n+odd\r\n"},
		"GET": {word, "$-1\r\n", "$1\r\n1\r\n"}, "SCARD": {word, ":1\r\n"}, "XLEN": {word, ":1\r\n"},
		"XINFO": {word, list}, "SECKILL.INFO": {word, list}, "XRANGE": {entry, "*0\r\n"}, "SMISMEMBER": {"*1\r\n:0\r\n"},
	} {
		for _, reply := range append(replies, "-ERR odd\r\n") {
			t.Run(fmt.Sprintf("%s %q", command, reply), func(t *testing.T) {
				t.Parallel()
				o, c := small(t, server.Options{})
				o.Stock, o.Users, o.Connections, o.Workers = 10, 40, 4, 2
				dial := o.Dial
				o.Dial = func(ctx context.Context) (net.Conn, error) {
					nc, err := dial(ctx)
					return &oddConn{Conn: nc, command: command, reply: reply}, err
				}
				r, err := Run(t.Context(), o)
				require.True(t, err != nil || !r.Holds(), "%v", r)
				if reply == "-ERR odd\r\n" {
					require.ErrorContains(t, err, command+": ERR odd")
				}
				require.Zero(t, size(t, c))
			})
		}
	}
}

// TestKeysThatCannotBeRemovedAreNamed: the user of the demo must learn which keys are left.
func TestKeysThatCannotBeRemovedAreNamed(t *testing.T) {
	t.Parallel()
	o, _ := small(t, server.Options{})
	o.Users = 100
	dial := o.Dial
	o.Dial = func(ctx context.Context) (net.Conn, error) {
		nc, err := dial(ctx)
		return &oddConn{Conn: nc, command: "UNLINK", reply: "-ERR odd\r\n"}, err
	}
	_, err := Run(t.Context(), o)
	require.EqualError(t, err, `the keys of the sale "demo-test" are left: UNLINK: ERR odd`)
}
