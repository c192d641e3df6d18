package testkit

import (
	"bufio"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/resp"
)

// value parses a reply from its bytes on the wire.
func value(t *testing.T, wire string) resp.Value {
	t.Helper()
	v, err := resp.ReadValue(bufio.NewReader(strings.NewReader(strings.ReplaceAll(wire, " ", "\r\n") + "\r\n")))
	require.NoError(t, err)
	return v
}

func TestSameReply(t *testing.T) {
	for name, c := range map[string]struct {
		command, a, b string
		same          bool
	}{
		"equal":                       {"GET", "$1 a", "$1 a", true},
		"another text":                {"GET", "$1 a", "$1 b", false},
		"another type":                {"GET", "$1 a", "+a", false},
		"the nulls of version 2":      {"GET", "$-1", "*-1", false},
		"order that counts":           {"MGET", "*2 $1 a $1 b", "*2 $1 b $1 a", false},
		"order that does not":         {"smembers", "*2 $1 a $1 b", "*2 $1 b $1 a", true},
		"a set":                       {"SUNION", "~2 $1 a $1 b", "~2 $1 b $1 a", true},
		"a set and a list":            {"SUNION", "~2 $1 a $1 b", "*2 $1 a $1 b", false},
		"one twice":                   {"KEYS", "*2 $1 a $1 a", "*2 $1 a $1 b", false},
		"pairs":                       {"HGETALL", "*4 $1 a $1 1 $1 b $1 2", "*4 $1 b $1 2 $1 a $1 1", true},
		"pairs as a map":              {"HGETALL", "%2 $1 a $1 1 $1 b $1 2", "%2 $1 b $1 2 $1 a $1 1", true},
		"values of the wrong fields":  {"HGETALL", "*4 $1 a $1 1 $1 b $1 2", "*4 $1 a $1 2 $1 b $1 1", false},
		"errors of an unordered kind": {"KEYS", "-ERRa", "-ERRb", false},
		"flags of keys":               {"COMMAND GETKEYSANDFLAGS", "*1 *2 $1 k *2 +RO +access", "*1 *2 $1 k *2 +access +RO", true},
		"keys with flags in order":    {"COMMAND GETKEYSANDFLAGS", "*2 *2 $1 k *0 *2 $1 l *0", "*2 *2 $1 l *0 *2 $1 k *0", false},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.same, SameReply(strings.Fields(c.command), value(t, c.a), value(t, c.b)))
		})
	}
}

func TestNormaliseLeavesItsArgumentAlone(t *testing.T) {
	v := value(t, "*2 $1 b $1 a")
	require.Equal(t, `["a" "b"]`, Normalise([]string{"KEYS", "*"}, v).String())
	require.Equal(t, `["b" "a"]`, v.String())
}

func TestDiff(t *testing.T) {
	a := Dataset{
		{0, "same"}:     {"string", "v", -1},
		{0, "later"}:    {"string", "v", 1000},
		{0, "mortal"}:   {"string", "v", 1000},
		{0, "value"}:    {"string", "v", -1},
		{1, "moved"}:    {"string", "v", -1},
		{0, "type"}:     {"hash", "[]", -1},
		{0, "onlyhere"}: {"set", "[]", -1},
	}
	b := Dataset{
		{0, "same"}:   {"string", "v", -1},
		{0, "later"}:  {"string", "v", 1005},
		{0, "mortal"}: {"string", "v", -1},
		{0, "value"}:  {"string", "w", -1},
		{2, "moved"}:  {"string", "v", -1},
		{0, "type"}:   {"set", "[]", -1},
	}
	require.Empty(t, a.Diff(a, 0))
	var found []string
	for _, l := range a.Diff(b, 5) {
		place, _, _ := strings.Cut(l, ":")
		found = append(found, place)
	}
	require.Equal(t, []string{`db 0 key "mortal"`, `db 0 key "onlyhere"`, `db 0 key "type"`, `db 0 key "value"`,
		`db 1 key "moved"`, `db 2 key "moved"`}, found)
	require.Len(t, a.Diff(b, 4), len(found)+1, "the one that dies later")
}

func TestLineCanBePasted(t *testing.T) {
	for _, args := range [][]string{
		{"SET", "k", "v"}, {"SET", "", "a b"}, {"ECHO", "\"quoted\" \\ 'single'"}, {"ECHO", "\r\n\x00\xff"}, {"ECHO", "ünïcode"},
	} {
		words, ok := resp.SplitWords(nil, []byte(Line(args)))
		require.True(t, ok, Line(args))
		require.Len(t, words, len(args))
		for i := range args {
			require.Equal(t, args[i], string(words[i]))
		}
	}
}
