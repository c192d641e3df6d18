package glob_test

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/internal/glob"
	"lockserver/internal/resp"
)

var oracle = flag.String("oracle", "", "host:port of an empty Redis 7.4 that makes the golden file anew")

const golden = "testdata/match.golden"

// subjects are the keys that every pattern of the golden file was matched against.
func subjects() [][]byte {
	var keys [][]byte
	for _, s := range []string{
		"", "a", "b", "c", "aa", "ab", "ba", "bb", "abc", "acb", "aab", "bab", "abab", "aabb", "abcabc", "aaaaaa",
		"*", "?", "[", "]", "^", "-", "\\", "a*", "a-b", "[a]", "a]", "]b", "a\\b", "^a", "-a", "A", "Ab", "AB",
		"\x00", "a\x00b", "\x7f", "\x80", "\xff", "a\xff", "\xffb", " ", "a b", "a\nb", "abba", "bcab", "cacb",
	} {
		keys = append(keys, []byte(s))
	}
	return keys
}

// randomPattern combines the special characters of patterns, so most results are odd.
func randomPattern(r *rand.Rand) []byte {
	const alphabet = "aaabbc*?[]^-\\-[]*AB\x80\xff"
	p := make([]byte, 1+r.IntN(9))
	for i := range p {
		p[i] = alphabet[r.IntN(len(alphabet))]
	}
	if r.IntN(3) == 0 { // a whole class
		p = append(append([]byte("*["), p...), ']', '*')
		p = p[r.IntN(2) : len(p)-r.IntN(2)]
	}
	return p
}

// makeGolden asks Redis' KEYS which subjects match random patterns. Each line has the pattern in hexadecimal,
// then 1 or 0 for each subject. KEYS treats the pattern "*" without matching, so it is left out.
func makeGolden(t *testing.T) {
	c, err := net.Dial("tcp", *oracle)
	require.NoError(t, err)
	defer c.Close()
	in := bufio.NewReader(c)
	call := func(args ...[]byte) resp.Value {
		_, err := c.Write(resp.AppendCommand(nil, args...))
		require.NoError(t, err)
		v, err := resp.ReadValue(in)
		require.NoError(t, err)
		return v
	}
	require.Equal(t, "0", call([]byte("DBSIZE")).String(), "the oracle must be empty")
	keys := subjects()
	for _, k := range keys {
		call([]byte("SET"), k, nil)
	}
	r := rand.New(rand.NewPCG(1, 7015))
	var out bytes.Buffer
	for range 1500 {
		p := randomPattern(r)
		if string(p) == "*" {
			continue
		}
		matched := map[string]bool{}
		for _, e := range call([]byte("KEYS"), p).Elems {
			matched[e.Str] = true
		}
		fmt.Fprintf(&out, "%x ", p)
		for _, k := range keys {
			out.WriteByte("01"[map[bool]int{true: 1}[matched[string(k)]]])
		}
		out.WriteByte('\n')
	}
	call([]byte("FLUSHALL"))
	require.NoError(t, os.MkdirAll("testdata", 0o755))
	require.NoError(t, os.WriteFile(golden, out.Bytes(), 0o644))
}

// TestAsRedis compares with the answers of Redis 7.4.1 to KEYS.
func TestAsRedis(t *testing.T) {
	if *oracle != "" {
		makeGolden(t)
	}
	file, err := os.ReadFile(golden)
	require.NoError(t, err)
	keys := subjects()
	lines := strings.Fields(string(file))
	require.Greater(t, len(lines), 2000)
	hits := 0
	for i := 0; i < len(lines); i += 2 {
		pattern, err := hex.DecodeString(lines[i])
		require.NoError(t, err)
		require.Len(t, lines[i+1], len(keys))
		prefix, exact := glob.Literal(pattern)
		for k, key := range keys {
			want := lines[i+1][k] == '1'
			require.Equal(t, want, glob.Match(pattern, key, false), "pattern %q, key %q", pattern, key)
			if want {
				hits++
				require.True(t, bytes.HasPrefix(key, prefix), "pattern %q, key %q, prefix %q", pattern, key, prefix)
			}
			if exact {
				require.Equal(t, bytes.Equal(key, prefix), want, "pattern %q, key %q is literal", pattern, key)
			}
		}
	}
	require.Greater(t, hits, 3000, "the golden file should also have matches")
}

func TestMatch(t *testing.T) {
	long := strings.Repeat("a", 300)
	for _, c := range []struct {
		pattern, s string
		nocase     bool
		want       bool
	}{
		{"", "", false, true},
		{"*", "", false, false}, // as in Redis; KEYS * does not call Match
		{"*", "x", false, true},
		{"", "x", false, false},
		{"h?llo", "hello", false, true},
		{"h[^e]llo", "hello", false, false},
		{"h[a-b]llo", "hbllo", false, true},
		{"h*llo", "heeeello", false, true},
		{"news.*", "news.", false, true},
		{"*.*.c", "a.b.c", false, true},
		{"*ab*ab", "abab", false, true},
		{"*aab", "aaab", false, true},
		{`a\*b`, "a*b", false, true},
		{`a\*b`, "axb", false, false},
		{`a\`, `a\`, false, true},
		{"A?C", "abc", true, true},
		{"A?C", "abc", false, false},
		{"[A]", "a", true, true},
		{`[\A]`, "a", true, false}, // as CONFIG GET [\A]ppendonly finds nothing
		{`\A`, "a", true, true},
		{"[^A]", "a", true, false},
		{"[Y-a]", "a", true, false}, // y..a after the ends lost their case
		{"[a-A]", "a", true, true},
		{"[A-_]", "a", true, false},
		{"[z-a]", "m", false, true},
		{long + "*", long, false, true},
		{strings.Repeat("*a", 1000), strings.Repeat("a", 1000), false, true},
		{strings.Repeat("*a", 1001), strings.Repeat("a", 1001), false, false}, // too many stars for Redis
		{strings.Repeat("*a", 1000) + "*", strings.Repeat("a", 1001), false, true},
		{strings.Repeat("a*", 1000) + "*b", strings.Repeat("a", 1000) + "b", false, true},
		{strings.Repeat("*a", 1001), strings.Repeat("*a", 1001)[:500], false, false},
	} {
		require.Equal(t, c.want, glob.Match([]byte(c.pattern), []byte(c.s), c.nocase), "%+v", c)
	}
}

func TestLiteral(t *testing.T) {
	for _, c := range []struct {
		pattern, prefix string
		exact           bool
	}{
		{"", "", true},
		{"user:1", "user:1", true},
		{"user:*", "user:", false},
		{"*", "", false},
		{"a?", "a", false},
		{"a[b]", "a", false},
		{`a\*b`, "a*b", true},
		{`a\*b*`, "a*b", false},
		{`a\\\[`, `a\[`, true},
		{`a\`, `a\`, true},
		{"a]", "a]", true},
	} {
		prefix, exact := glob.Literal([]byte(c.pattern))
		require.Equal(t, c.prefix, string(prefix), "%q", c.pattern)
		require.Equal(t, c.exact, exact, "%q", c.pattern)
	}
}

// TestLiteralLeavesThePatternAlone: Literal does not write into an escaped pattern.
func TestLiteralLeavesThePatternAlone(t *testing.T) {
	pattern := []byte(`ab\*cd`)
	prefix, _ := glob.Literal(pattern)
	require.Equal(t, "ab*cd", string(prefix))
	require.Equal(t, `ab\*cd`, string(pattern))
}

// TestBomb: matching by backtracking over every star would not end within the age of the universe.
func TestBomb(t *testing.T) {
	s := bytes.Repeat([]byte("a"), 4096)
	start := time.Now()
	require.False(t, glob.Match([]byte(strings.Repeat("a*", 50)+"b"), s, false))
	require.False(t, glob.Match([]byte(strings.Repeat("*a", 500)+"*[b-z]"), s, false))
	require.True(t, glob.Match([]byte(strings.Repeat("*a", 500)+"*"), s, false))
	require.False(t, glob.Match([]byte("*"+strings.Repeat("a", 2000)+"b"), s, false))
	require.Less(t, time.Since(start), time.Minute)
}

// slowMatch is a simple form of Match: a star tries every end. depth counts the stars so far.
func slowMatch(pattern, s []byte, depth int) bool {
	switch {
	case depth > 1000:
		return false
	case len(pattern) == 0 || len(s) == 0:
		return len(s) == 0 && len(bytes.TrimLeft(pattern, "*")) == 0
	case pattern[0] == '*':
		rest := bytes.TrimLeft(pattern, "*")
		if len(rest) == 0 {
			return true
		}
		for from := range s {
			if slowMatch(rest, s[from:], depth+1) {
				return true
			}
		}
		return false
	}
	size, ok := slowElement(pattern, int8(s[0]))
	return ok && slowMatch(pattern[size:], s[1:], depth)
}

// slowElement reports whether the first element of pattern matches c, and returns its length.
func slowElement(pattern []byte, c int8) (size int, ok bool) {
	if pattern[0] == '?' {
		return 1, true
	}
	if pattern[0] != '[' {
		if pattern[0] == '\\' && len(pattern) > 1 {
			return 2, int8(pattern[1]) == c
		}
		return 1, int8(pattern[0]) == c
	}
	p := 1
	negated := p < len(pattern) && pattern[p] == '^'
	if negated {
		p++
	}
	var members [256]bool
	for p < len(pattern) && pattern[p] != ']' {
		from, to, took := int8(pattern[p]), int8(pattern[p]), 1
		switch {
		case pattern[p] == '\\' && p+1 < len(pattern):
			from, to, took = int8(pattern[p+1]), int8(pattern[p+1]), 2
		case p+2 < len(pattern) && pattern[p+1] == '-':
			to, took = int8(pattern[p+2]), 3
		}
		for member := int(min(from, to)); member <= int(max(from, to)); member++ {
			members[uint8(member)] = true
		}
		p += took
	}
	return min(p+1, len(pattern)), members[uint8(c)] != negated
}

// TestAgainstTheSlowWay compares random patterns and texts with many stars and repetitions.
func TestAgainstTheSlowWay(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 41))
	hits := 0
	for range 20_000 {
		pattern, s := randomPattern(r), make([]byte, r.IntN(12))
		for i := range s {
			s[i] = "aab*"[r.IntN(4)]
		}
		for range r.IntN(4) {
			pattern = append(pattern, "a*ba*"[r.IntN(5)])
		}
		want := len(s) > 0 && slowMatch(pattern, s, 0)
		if want {
			hits++
		}
		require.Equal(t, want, glob.Match(pattern, s, false), "pattern %q, text %q", pattern, s)
	}
	require.Greater(t, hits, 1000)
}

func FuzzMatch(f *testing.F) {
	f.Add([]byte("a*[^b-c]?\\"), []byte("abcd"), true)
	f.Add([]byte("[a-"), []byte("-"), false)
	f.Fuzz(func(t *testing.T, pattern, s []byte, nocase bool) {
		prefix, exact := glob.Literal(pattern)
		got := glob.Match(pattern, s, nocase)
		if !nocase && len(s) > 0 && len(pattern)+len(s) < 40 {
			require.Equal(t, slowMatch(pattern, s, 0), got)
		}
		if !nocase && got {
			require.True(t, bytes.HasPrefix(s, prefix))
		}
		if !nocase && exact {
			require.Equal(t, bytes.Equal(s, prefix), got)
		}
		if got && len(s) > 0 && !nocase {
			require.True(t, glob.Match(append([]byte("*"), pattern...), append([]byte("x"), s...), nocase))
		}
	})
}
