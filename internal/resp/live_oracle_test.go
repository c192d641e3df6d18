//go:build oracle

package resp_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/internal/resp"
	"lockserver/tests/testkit"
)

// TestOracleProtocol compares the table with a Redis: it gives the same error, or answers the expected number
// of commands.
func TestOracleProtocol(t *testing.T) {
	redis := testkit.StartRedis(t, "--enable-debug-command", "yes")
	for _, c := range protocolCases {
		name := fmt.Sprintf("%.60q", c.in)
		conn, err := redis.Dial()
		require.NoError(t, err)
		_, err = io.WriteString(conn, c.in)
		require.NoError(t, err)
		// Redis answers the whole commands before it notices the end of the stream.
		require.NoError(t, conn.(interface{ CloseWrite() error }).CloseWrite())
		require.NoError(t, conn.SetReadDeadline(time.Now().Add(time.Minute)))
		in, got, n := bufio.NewReader(conn), "", 0
		for {
			v, err := resp.ReadValue(in)
			if err != nil {
				require.True(t, errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET), "%s: %v", name, err)
				break
			}
			if strings.HasPrefix(v.Str, "ERR Protocol error: ") {
				got = v.Str
			} else {
				n++
			}
		}
		conn.Close()
		want := ""
		if c.err != "" {
			want = "ERR Protocol error: " + strings.ReplaceAll(c.err, "\r", " ")
		}
		require.Equal(t, want, got, name)
		require.Equal(t, len(decode(new(resp.Decoder), []byte(c.in)).commands), n, name)
	}
}

// TestOracleReplies compares the encodings with what Redis' DEBUG PROTOCOL sends.
func TestOracleReplies(t *testing.T) {
	redis := testkit.StartRedis(t, "--enable-debug-command", "yes")
	three := func(w *resp.Writer, each func(int64)) {
		for i := range int64(3) {
			each(i)
		}
	}
	replies := map[string]func(w *resp.Writer){
		"string":  func(w *resp.Writer) { w.BulkString("Hello World") },
		"integer": func(w *resp.Writer) { w.Int(12345) },
		"double":  func(w *resp.Writer) { w.Double(3.141) },
		"null":    (*resp.Writer).Null,
		"array":   func(w *resp.Writer) { w.Array(3); three(w, w.Int) },
		"set":     func(w *resp.Writer) { w.Set(3); three(w, w.Int) },
		"map":     func(w *resp.Writer) { w.Map(3); three(w, func(i int64) { w.Int(i); w.Bool(i == 1) }) },
		"verbatim": func(w *resp.Writer) {
			w.Verbatim("txt", "This is a verbatim\nstring")
		},
		"true":   func(w *resp.Writer) { w.Bool(true) },
		"false":  func(w *resp.Writer) { w.Bool(false) },
		"bignum": func(w *resp.Writer) { w.BigNumber("1234567999999999999999999999999999999") },
	}
	for _, proto := range []int{2, 3} {
		conn, err := redis.Dial()
		require.NoError(t, err)
		in := bufio.NewReader(conn)
		_, err = conn.Write(resp.AppendCommand(nil, []byte("HELLO"), []byte{byte('0' + proto)}))
		require.NoError(t, err)
		_, err = resp.ReadValue(in)
		require.NoError(t, err)
		for name, write := range replies {
			_, err = conn.Write(resp.AppendCommand(nil, []byte("DEBUG"), []byte("PROTOCOL"), []byte(name)))
			require.NoError(t, err)
			theirs, err := resp.ReadValue(in)
			require.NoError(t, err)
			require.Zero(t, in.Buffered())
			w := resp.Writer{Proto: proto}
			write(&w)
			ours, err := resp.ReadValue(bufio.NewReader(strings.NewReader(string(w.Buf))))
			require.NoError(t, err)
			require.True(t, ours.Equal(theirs), "%s in version %d: %s, Redis %s", name, proto, ours, theirs)
		}
		conn.Close()
	}
}
