package resp_test

import (
	"flag"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/resp"
)

var oracle = flag.String("oracle", "", "host:port of a Redis 7.4, without password and data, to compare with")

// protocolCases were all tried with Redis 7.4.1; TestOracleProtocol repeats that.
var protocolCases = []struct {
	in       string
	commands string // as %q prints a [][]byte, joined by spaces
	err      string
}{
	{in: "*1\r\n$4\r\nPING\r\n", commands: `["PING"]`},
	{in: "*2\r\n$4\r\nECHO\r\n$0\r\n\r\n", commands: `["ECHO" ""]`},
	{in: "*1\r\n$10\r\n0123456789\r\n", commands: `["0123456789"]`},
	// Counts.
	{in: "*0\r\nPING\r\n", commands: `["PING"]`},
	{in: "*-1\r\nPING\r\n", commands: `["PING"]`},
	{in: "*-2\r\nPING\r\n", commands: `["PING"]`},
	{in: "*-9223372036854775808\r\nPING\r\n", commands: `["PING"]`},
	{in: "*1048576\r\n"},
	{in: "*2147483648\r\n", err: "invalid multibulk length"},
	{in: "*9223372036854775807\r\n", err: "invalid multibulk length"},
	{in: "*9223372036854775808\r\n", err: "invalid multibulk length"},
	{in: "*x\r\n", err: "invalid multibulk length"},
	{in: "*\r\n", err: "invalid multibulk length"},
	{in: "*+1\r\n$4\r\nPING\r\n", err: "invalid multibulk length"},
	{in: "*01\r\n$4\r\nPING\r\n", err: "invalid multibulk length"},
	{in: "*-0\r\n", err: "invalid multibulk length"},
	{in: "* 1\r\n", err: "invalid multibulk length"},
	{in: "*1 \r\n", err: "invalid multibulk length"},
	{in: "*12a\r\n", err: "invalid multibulk length"},
	{in: "*1\n"},
	{in: "*1\n$4\r\nPING\r\n", err: "invalid multibulk length"},
	{in: "*1\rX$4\rXPINGXX", commands: `["PING"]`},
	{in: "*1\r$4\r\nPING\r\n", err: "expected '$', got '4'"},
	{in: "*x\r"},
	// Arguments.
	{in: "*1\r\n$-1\r\nPING\r\n", err: "invalid bulk length"},
	{in: "*1\r\n$-2\r\n", err: "invalid bulk length"},
	{in: "*1\r\n$x\r\n", err: "invalid bulk length"},
	{in: "*1\r\n$\r\n", err: "invalid bulk length"},
	{in: "*1\r\n$04\r\nPING\r\n", err: "invalid bulk length"},
	{in: "*1\r\n$+4\r\nPING\r\n", err: "invalid bulk length"},
	{in: "*1\r\n$4\nPING\r\n", err: "invalid bulk length"},
	{in: "*1\r\n$536870912\r\n"},
	{in: "*1\r\n$536870913\r\n", err: "invalid bulk length"},
	{in: "*1\r\n$9223372036854775807\r\n", err: "invalid bulk length"},
	{in: "*1\r\n$99999999999999999999\r\n", err: "invalid bulk length"},
	{in: "*1\r\n+4\r\n", err: "expected '$', got '+'"},
	{in: "*1\r\n\r\n", err: "expected '$', got '\r'"}, // the reply shows a space
	{in: "*1\r\n\xff\r\n", err: "expected '$', got '\xff'"},
	{in: "*1\r\nPING\r\n", err: "expected '$', got 'P'"},
	{in: "*1\r\n:4\r\n", err: "expected '$', got ':'"},
	{in: "*2\r\n$4\r\nECHO\r\n*1\r\n", err: "expected '$', got '*'"},
	{in: "*1\r\nx"},
	{in: "*1\r\n$4\r\nPING\r"},
	{in: "*1\r\n$4\r\nPINGXY*1\r\n$4\r\nPING\n\n", commands: `["PING"] ["PING"]`},
	{in: "*1\r\n$0\r\n\r\nPING\r\n", commands: `[""] ["PING"]`},
	{in: "PING\r\n*1\r\n$4\r\nPING\r\n*1\r\n$1\r", commands: `["PING"] ["PING"]`},
	{in: "*1\r\n$4\r\nPING\r\n*1\r\n$x\r\n*1\r\n$4\r\nPING\r\n", commands: `["PING"]`, err: "invalid bulk length"},
	// A line end after a NUL is not found.
	{in: "*1\x00\r\n"},
	{in: "*1\r\n\x00\r\n"},
	{in: "*1\r\n$4\x00\r\nPING\r\n"},
	{in: "ECHO a\x00b c\r\nPING\r\n"},
	{in: "\x00\r\nPING\r\n"},
	{in: "ECHO \"a\"\x00b\r\nPING\r\n"},
	// Inline commands.
	{in: "PING\n", commands: `["PING"]`},
	{in: "PING\r\n", commands: `["PING"]`},
	{in: "PING"},
	{in: "  PING  \r\n", commands: `["PING"]`},
	{in: "\r\n\nPING\n", commands: `["PING"]`},
	{in: "   \r\nPING\n", commands: `["PING"]`},
	{in: "\v\r\nPING\r\n", commands: `["PING"]`},
	{in: "ECHO\ta\r\n", commands: `["ECHO" "a"]`},
	{in: "ECHO a\rb\r\n", commands: `["ECHO" "a" "b"]`},
	{in: "ECHO a\r\r\n", commands: `["ECHO" "a"]`},
	{in: "ECHO a\vb\fc\r\n", commands: `["ECHO" "a\vb\fc"]`},
	{in: "ECHO \xff\xa0\r\n", commands: `["ECHO" "\xff\xa0"]`},
	{in: "$4\r\nPING\r\n", commands: `["$4"] ["PING"]`},
	{in: " *1\r\n", commands: `["*1"]`},
	{in: "\"PING\"\r\n", commands: `["PING"]`},
	{in: "\"\" a\r\n", commands: `["" "a"]`},
	{in: `ECHO "a\x41\n\r\t\a\b\q\"z"` + "\r\n", commands: `["ECHO" "aA\n\r\t\a\bq\"z"]`},
	{in: `ECHO 'a\x41\'\n'` + "\r\n", commands: `["ECHO" "a\\x41'\\n"]`},
	{in: `ECHO '\\''` + "\r\n", commands: `["ECHO" "\\'"]`},
	{in: `ECHO "\x4"` + "\r\n", commands: `["ECHO" "x4"]`},
	{in: `ECHO "\xzz"` + "\r\n", commands: `["ECHO" "xzz"]`},
	{in: `ECHO "\xaZ"` + "\r\n", commands: `["ECHO" "xaZ"]`},
	{in: `ECHO "\xFf\x0a"` + "\r\n", commands: `["ECHO" "\xff\n"]`},
	{in: "ECHO ''\r\n", commands: `["ECHO" ""]`},
	{in: "ECHO ab\"c d\"\r\n", commands: `["ECHO" "abc d"]`},
	{in: "ECHO \"a\"\v\r\nPING\r\n", commands: `["ECHO" "a"] ["PING"]`},
	{in: "ECHO \"abc\r\nPING\r\n", err: "unbalanced quotes in request"},
	{in: "ECHO \"abc\"d\r\n", err: "unbalanced quotes in request"},
	{in: "ECHO \"abc\"\"d\"\r\n", err: "unbalanced quotes in request"},
	{in: "ECHO 'abc'd\r\n", err: "unbalanced quotes in request"},
	{in: "ECHO 'abc\r\n", err: "unbalanced quotes in request"},
	{in: "ECHO a\"\r\n", err: "unbalanced quotes in request"},
	{in: `ECHO "abc\"` + "\r\n", err: "unbalanced quotes in request"},
	{in: `ECHO "abc\` + "\r\n", err: "unbalanced quotes in request"},
	{in: `ECHO '\\'` + "\r\n", err: "unbalanced quotes in request"},
	// Lines without an end: at most 64 KiB.
	{in: strings.Repeat("a", 65536)},
	{in: strings.Repeat("a", 65537), err: "too big inline request"},
	{in: "\x00" + strings.Repeat("a", 65535)},
	{in: "\x00" + strings.Repeat("a", 65536), err: "too big inline request"},
	{in: strings.Repeat("*", 65536)},
	{in: strings.Repeat("*", 65537), err: "too big mbulk count string"},
	{in: "*1\r\n$" + strings.Repeat("1", 65535)},
	{in: "*1\r\n$" + strings.Repeat("1", 65536), err: "too big bulk count string"},
	{in: "*1\r\n" + strings.Repeat("x", 65537), err: "too big bulk count string"},
}

func TestProtocol(t *testing.T) {
	for _, c := range protocolCases {
		name := fmt.Sprintf("%.60q", c.in)
		whole := decode(new(resp.Decoder), []byte(c.in))
		require.Equal(t, c.commands, strings.Join(whole.commands, " "), name)
		if c.err == "" {
			require.NoError(t, whole.err, name)
		} else {
			require.Equal(t, resp.ProtocolError("Protocol error: "+c.err), whole.err, name)
		}
		require.Equal(t, whole, decode(new(resp.Decoder), bytewise([]byte(c.in))...), "a byte at a time: %s", name)
	}
}
