package client

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
)

func TestReadReply(t *testing.T) {
	t.Parallel()
	for wire, want := range map[string]any{
		"+OK\r\n":                         "OK",
		"-ERR no\r\n":                     ReplyError("ERR no"),
		":-7\r\n":                         int64(-7),
		"_\r\n":                           nil,
		"$-1\r\n":                         nil,
		"*-1\r\n":                         nil,
		"#t\r\n":                          true,
		"#f\r\n":                          false,
		",1.5\r\n":                        "1.5",
		"(12345678901234567890\r\n":       "12345678901234567890",
		"$0\r\n\r\n":                      "",
		"$4\r\na\r\nb\r\n":                "a\r\nb",
		"=8\r\ntxt:word\r\n":              "word",
		"!5\r\nERR x\r\n":                 ReplyError("ERR x"),
		"*2\r\n:1\r\n*1\r\n$1\r\na\r\n":   []any{int64(1), []any{"a"}},
		"%1\r\n+k\r\n:1\r\n":              []any{"k", int64(1)},
		"~1\r\n+k\r\n":                    []any{"k"},
		">2\r\n+lock-lost\r\n+k\r\n":      push{"lock-lost", "k"},
		"|1\r\n+ttl\r\n:1\r\n$1\r\nv\r\n": "v",
	} {
		in := bufio.NewReader(strings.NewReader(wire + "+next\r\n"))
		if got, err := readReply(in); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q is read as %#v, %v; want %#v", wire, got, err, want)
		}
		if next, err := readReply(in); err != nil || next != "next" {
			t.Errorf("the reply behind %q is read as %#v, %v", wire, next, err)
		}
		for cut := 1; cut < len(wire); cut++ {
			if got, err := readReply(bufio.NewReader(strings.NewReader(wire[:cut]))); !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("%q is read as %#v, %v", wire[:cut], got, err)
			}
		}
	}
}

func TestMalformedReplies(t *testing.T) {
	t.Parallel()
	for _, wire := range []string{
		"\r\n", "OK\r\n", "+OK\n", ":1x\r\n", ":\r\n", "$-2\r\n", "$1\r\nab\r\n", "$99999999999\r\n", "=3\r\ntxt\r\n",
		"*-2\r\n", "*1048577\r\n", "*x\r\n", strings.Repeat("*1\r\n", 100) + ":1\r\n", "+" + strings.Repeat("x", 1<<17) + "\r\n",
	} {
		if got, err := readReply(bufio.NewReader(strings.NewReader(wire))); !errors.Is(err, errMalformed) {
			t.Errorf("%.20q is read as %#v, %v", wire, got, err)
		}
	}
	if _, err := readReply(bufio.NewReader(strings.NewReader(""))); err != io.EOF {
		t.Errorf("nothing is read as %v", err)
	}
}

// FuzzReadReply: whatever arrives is a reply or an error, and what was read is a beginning of what arrived.
func FuzzReadReply(f *testing.F) {
	f.Add([]byte("*2\r\n:1\r\n$1\r\na\r\n"))
	f.Add([]byte(">4\r\n+lock-lost\r\n$1\r\nk\r\n:7\r\n+forced\r\n"))
	f.Add([]byte("|1\r\n+a\r\n_\r\n%1\r\n#t\r\n=5\r\ntxt:x\r\n"))
	f.Fuzz(func(t *testing.T, wire []byte) {
		rest := bytes.NewReader(wire)
		in := bufio.NewReader(rest)
		first, err := readReply(in)
		if err != nil {
			return
		}
		read := len(wire) - rest.Len() - in.Buffered()
		again, err := readReply(bufio.NewReader(bytes.NewReader(wire[:read])))
		if err != nil || !reflect.DeepEqual(first, again) {
			t.Errorf("%q is %#v, and read alone %#v, %v", wire[:read], first, again, err)
		}
	})
}
