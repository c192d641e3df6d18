package resp_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"lockserver/internal/resp"
)

func read(s string) (resp.Value, error) {
	return resp.ReadValue(bufio.NewReader(strings.NewReader(s)))
}

func TestReadValue(t *testing.T) {
	for _, c := range []struct {
		in, text string
		value    resp.Value
	}{
		{"+OK\r\n", "+OK", resp.Value{Kind: resp.Simple, Str: "OK"}},
		{"+\r\n", "+", resp.Value{Kind: resp.Simple}},
		{"-ERR no\r\n", "-ERR no", resp.Value{Kind: resp.Error, Str: "ERR no"}},
		{":-12\r\n", "-12", resp.Value{Kind: resp.Integer, Int: -12}},
		{"$4\r\na\r\nb\r\n", `"a\r\nb"`, resp.Value{Kind: resp.Bulk, Str: "a\r\nb"}},
		{"$0\r\n\r\n", `""`, resp.Value{Kind: resp.Bulk}},
		{"$-1\r\n", "$nil", resp.Value{Kind: resp.NullBulk}},
		{"*-1\r\n", "*nil", resp.Value{Kind: resp.NullArray}},
		{"_\r\n", "nil", resp.Value{Kind: resp.Null}},
		{"#t\r\n", "#t", resp.Value{Kind: resp.Boolean, Bool: true}},
		{"#f\r\n", "#f", resp.Value{Kind: resp.Boolean}},
		{",1.50\r\n", ",1.50", resp.Value{Kind: resp.Double, Str: "1.50", Float: 1.5}},
		{",-inf\r\n", ",-inf", resp.Value{Kind: resp.Double, Str: "-inf", Float: math.Inf(-1)}},
		{"(-123456789012345678901234567890\r\n", "(-123456789012345678901234567890", resp.Value{Kind: resp.BigNumber, Str: "-123456789012345678901234567890"}},
		{"!5\r\nERR x\r\n", `!"ERR x"`, resp.Value{Kind: resp.BulkError, Str: "ERR x"}},
		{"=8\r\ntxt:a\nbc\r\n", `="txt:a\nbc"`, resp.Value{Kind: resp.Verbatim, Str: "txt:a\nbc"}},
		{"*0\r\n", "[]", resp.Value{Kind: resp.Array}},
		{"*2\r\n:1\r\n*1\r\n$1\r\na\r\n", `[1 ["a"]]`, resp.Value{Kind: resp.Array, Elems: []resp.Value{
			{Kind: resp.Integer, Int: 1}, {Kind: resp.Array, Elems: []resp.Value{{Kind: resp.Bulk, Str: "a"}}}}}},
		{"%2\r\n+a\r\n:1\r\n+b\r\n:2\r\n", "{+a:1 +b:2}", resp.Value{Kind: resp.Map, Elems: []resp.Value{
			{Kind: resp.Simple, Str: "a"}, {Kind: resp.Integer, Int: 1}, {Kind: resp.Simple, Str: "b"}, {Kind: resp.Integer, Int: 2}}}},
		{"~1\r\n:1\r\n", "~[1]", resp.Value{Kind: resp.Set, Elems: []resp.Value{{Kind: resp.Integer, Int: 1}}}},
		{">1\r\n:1\r\n", ">[1]", resp.Value{Kind: resp.Push, Elems: []resp.Value{{Kind: resp.Integer, Int: 1}}}},
		{"|1\r\n+a\r\n:1\r\n:2\r\n", "|{+a:1}2", resp.Value{Kind: resp.Integer, Int: 2, Attrs: []resp.Value{
			{Kind: resp.Simple, Str: "a"}, {Kind: resp.Integer, Int: 1}}}},
	} {
		v, err := read(c.in)
		require.NoError(t, err, "%q", c.in)
		require.True(t, v.Equal(c.value), "%q is %s", c.in, v)
		require.Equal(t, c.value.Float, v.Float)
		require.Equal(t, c.text, v.String())
		for cut := range len(c.in) {
			_, err := read(c.in[:cut])
			require.ErrorIs(t, err, map[bool]error{true: io.EOF, false: io.ErrUnexpectedEOF}[cut == 0], "%q", c.in[:cut])
		}
		v, err = resp.ReadValue(bufio.NewReaderSize(iotest.OneByteReader(strings.NewReader(c.in)), 16))
		require.NoError(t, err)
		require.Equal(t, c.text, v.String())
	}
}

func TestReadValueRefuses(t *testing.T) {
	for _, in := range []string{
		"x\r\n", "\r\n", "+OK\n", ":\r\n", ":+1\r\n", ":01\r\n", ":1.5\r\n", "#x\r\n", "#\r\n", "_x\r\n", ",x\r\n", ",\r\n",
		"$-2\r\n", "$x\r\n", "$\r\n", "$3\r\nabcd\r\n", "$2\r\nabcd\r\n", "$9223372036854775807\r\n", "=3\r\ntxt\r\n",
		"=4\r\ntxtx\r\n", "=-1\r\n", "*-2\r\n", "*9223372036854775807\r\n", "%-1\r\n", "~-1\r\n",
		"+" + strings.Repeat("x", 3<<20),
		strings.Repeat("*1\r\n", 10000),
		strings.Repeat("|0\r\n", 10000),
	} {
		_, err := read(in)
		require.ErrorIs(t, err, resp.ErrMalformed, "%.40q", in)
	}
	line := strings.Repeat("x", 100000)
	v, err := read("+" + line + "\r\n")
	require.NoError(t, err, "longer than the reader's buffer")
	require.Equal(t, line, v.Str)
	broken := errors.New("broken")
	_, err = resp.ReadValue(bufio.NewReader(io.MultiReader(strings.NewReader("*1\r\n"), iotest.ErrReader(broken))))
	require.ErrorIs(t, err, broken)
}

func TestValueEqual(t *testing.T) {
	texts := []string{
		"$-1\r\n", "*-1\r\n", "_\r\n", "*0\r\n", "~0\r\n", ":1\r\n", ":2\r\n", "+1\r\n", "$1\r\n1\r\n", ",1\r\n", ",1.0\r\n",
		"#t\r\n", "#f\r\n", "*1\r\n:1\r\n", "*1\r\n:2\r\n", "*2\r\n:1\r\n:1\r\n", "|1\r\n:1\r\n:1\r\n:1\r\n", "-1\r\n",
	}
	for i, a := range texts {
		for j, b := range texts {
			v, err := read(a)
			require.NoError(t, err)
			w, err := read(b)
			require.NoError(t, err)
			require.Equal(t, i == j, v.Equal(w), "%q %q", a, b)
		}
	}
	v, _ := read("!1\r\nx\r\n")
	require.True(t, v.IsError())
	require.False(t, v.IsNull())
	v, _ = read("*-1\r\n")
	require.True(t, v.IsNull())
}

func TestAppendCommand(t *testing.T) {
	require.Equal(t, "x*2\r\n$4\r\nECHO\r\n$0\r\n\r\n", string(resp.AppendCommand([]byte("x"), []byte("ECHO"), nil)))
	require.Equal(t, fmt.Sprintf("*1\r\n$12\r\n%s\r\n", "hello world!"), string(resp.AppendCommand(nil, []byte("hello world!"))))
}

// FuzzReadValue: no bytes panic, and a value that was read can be printed and equals itself.
func FuzzReadValue(f *testing.F) {
	for _, s := range []string{
		"*2\r\n$1\r\na\r\n:1\r\n", "%1\r\n+a\r\n_\r\n", "|1\r\n+a\r\n#t\r\n=5\r\ntxt:x\r\n", ",nan\r\n", "~1\r\n(1\r\n", "!1\r\nx\r\n",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		v, err := read(in)
		if err != nil {
			return
		}
		require.NotEmpty(t, v.String())
		require.True(t, v.Equal(v))
	})
}
