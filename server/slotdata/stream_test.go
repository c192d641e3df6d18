package slotdata

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/keyslot"
	"lockserver/server/cluster"
	"lockserver/store"
)

// The keys in{n} of the tests are in the slots of the stream, and out{n} are not.
func streamSlots() *Slots {
	n := keyslot.Of([]byte("in"))
	return SlotsOf([]cluster.Range{{First: n, Last: n}})
}

// key returns the key that a word of a test stands for. All keys of a side have one slot.
func key(word string) string {
	for _, side := range []string{"in", "out"} {
		if n, ok := strings.CutPrefix(word, side); ok && (n == "" || n[0] >= '0' && n[0] <= '9') {
			return "{" + side + "}" + n
		}
	}
	return word
}

// effectOf parses "1:SET in1 v", with the database before the colon, or none for database 0.
func effectOf(line string) (e store.Effect) {
	if db, rest, ok := strings.Cut(line, ":"); ok {
		_, _ = fmt.Sscan(db, &e.DB)
		line = rest
	}
	for _, word := range strings.Fields(line) {
		e.Args = append(e.Args, []byte(key(word)))
	}
	return e
}

// narrowed returns the units that a stream sends, and whether it is broken. A unit is a text with effects
// between semicolons. The keys of has exist, with the payload P and the deadline 7.
func narrowed(has []string, units ...string) (sent []string, broken bool) {
	s := NewStream(streamSlots(), func(k []byte) ([]byte, int64) {
		if slices.ContainsFunc(has, func(word string) bool { return key(word) == string(k) }) {
			return []byte("P"), 7
		}
		return nil, 0
	}, func(unit []store.Effect) {
		var lines []string
		for _, e := range unit {
			words := []string{}
			for _, a := range e.Args {
				words = append(words, strings.NewReplacer("{in}", "in", "{out}", "out").Replace(string(a)))
			}
			lines = append(lines, strings.Join(words, " "))
		}
		sent = append(sent, strings.Join(lines, "; "))
	})
	for _, unit := range units {
		var effects []store.Effect
		for line := range strings.SplitSeq(unit, "; ") {
			effects = append(effects, effectOf(line))
		}
		s.Append(effects)
	}
	return sent, s.Broken()
}

func TestStreamNarrowsUnits(t *testing.T) {
	const restored = "RESTORE in2 7 P REPLACE ABSTTL"
	for _, c := range []struct {
		name, unit, want string
		has              []string
	}{
		{name: "a key of the slots", unit: "SET in1 v", want: "SET in1 v"},
		{name: "another key", unit: "SET out1 v"},
		{name: "another database", unit: "1:SET in1 v; 1:RENAME in1 in2; 1:PFMERGE in1 in2; 1:XGROUP DESTROY in1 g; 1:FLUSHDB"},
		{name: "a unit of both", unit: "SET out1 v; HSET in1 f v; DEL out2; PEXPIREAT in1 9", want: "HSET in1 f v; PEXPIREAT in1 9"},
		{name: "the key of a group is the second word", unit: "XGROUP CREATE in1 out1 0 MKSTREAM ENTRIESREAD 0; XGROUP DESTROY out1 in1", want: "XGROUP CREATE in1 out1 0 MKSTREAM ENTRIESREAD 0"},
		{name: "all keys", unit: "SET in1 v; FLUSHALL", want: "SET in1 v; FLUSHALL"},
		{name: "all keys of the database", unit: "FLUSHDB; SET in1 v", want: "FLUSHDB; SET in1 v"},
		{name: "functions", unit: "FUNCTION FLUSH"},

		{name: "RENAME within", unit: "RENAME in1 in2", want: "RENAME in1 in2"},
		{name: "RENAME elsewhere", unit: "RENAME out1 out2"},
		{name: "RENAME to elsewhere", unit: "RENAME in1 out1", want: "DEL in1"},
		{name: "RENAME from elsewhere", unit: "RENAME out1 in2", has: []string{"in2"}, want: restored},
		{name: "RENAME from elsewhere, and a change", unit: "RENAME out1 in2; APPEND in2 x; SET in3 v", has: []string{"in2", "in3"}, want: "SET in3 v; " + restored},
		{name: "RENAME from elsewhere, and on", unit: "RENAME out1 in1; RENAME in1 in2", has: []string{"in2"}, want: "DEL in1; " + restored},
		{name: "RENAME through elsewhere", unit: "RENAME in1 out1; RENAME out1 in2", has: []string{"in2"}, want: "DEL in1; " + restored},
		{name: "a key that went is set again", unit: "RENAME in2 out1; SET in2 v", has: []string{"in2"}, want: restored},

		{name: "COPY within", unit: "COPY in1 in2 DB 0 REPLACE", want: "COPY in1 in2 DB 0 REPLACE"},
		{name: "COPY to elsewhere", unit: "COPY in1 out1 DB 0 REPLACE"},
		{name: "COPY from elsewhere", unit: "COPY out1 in2 DB 0 REPLACE", has: []string{"in2"}, want: restored},
		{name: "COPY to another database", unit: "COPY in1 in2 DB 1 REPLACE", has: []string{"in2"}},
		{name: "COPY from another database", unit: "1:COPY in1 in2 DB 0 REPLACE", has: []string{"in2"}, want: restored},
		{name: "COPY of a changed key", unit: "RENAME out1 in1; COPY in1 in2 DB 0 REPLACE", has: []string{"in2"}, want: "DEL in1; " + restored},
		{name: "MOVE to another database", unit: "MOVE in1 1", want: "DEL in1"},
		{name: "MOVE from another database", unit: "1:MOVE in2 0", has: []string{"in2"}, want: restored},
		{name: "MOVE elsewhere", unit: "2:MOVE in2 1; MOVE out1 1; 1:MOVE out1 0", has: []string{"in2"}},
		{name: "PFMERGE within", unit: "PFMERGE in1 in2 in3", want: "PFMERGE in1 in2 in3"},
		{name: "PFMERGE from elsewhere", unit: "PFMERGE in2 in1 out1", has: []string{"in2"}, want: restored},
		{name: "PFMERGE to elsewhere", unit: "PFMERGE out1 in1"},
		{name: "SWAPDB of other databases", unit: "SWAPDB 1 2; SWAPDB 0 0"},
	} {
		sent, broken := narrowed(c.has, c.unit)
		require.False(t, broken, c.name)
		want := []string{c.want}
		if c.want == "" {
			want = nil
		}
		require.Equal(t, want, sent, "%s: %s", c.name, c.unit)
	}
}

// TestStreamUnitsStandAlone: what one unit has changed does not concern the next one.
func TestStreamUnitsStandAlone(t *testing.T) {
	sent, _ := narrowed([]string{"in2"}, "RENAME out1 in2", "APPEND in2 x", "SET out1 v", "DEL in1; SET in3 v")
	require.Equal(t, []string{"RESTORE in2 7 P REPLACE ABSTTL", "APPEND in2 x", "DEL in1; SET in3 v"}, sent)
}

// TestStreamBreaks: after an effect that cannot be narrowed nothing is sent, and nothing of its unit.
func TestStreamBreaks(t *testing.T) {
	for _, line := range []string{"SWAPDB 0 1", "SWAPDB 2 0", "NEWEFFECT in1 v"} {
		sent, broken := narrowed(nil, "SET in1 v", "SET in2 v; "+line+"; SET in3 v", "SET in4 v")
		require.True(t, broken, line)
		require.Equal(t, []string{"SET in1 v"}, sent, line)
	}
}

// TestEachEffectIsKnown reads the list of effects. An effect that is not known here would break each move.
func TestEachEffectIsKnown(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "store", "effects.go"))
	require.NoError(t, err)
	forms := regexp.MustCompile(`(?:^//\t| {2,})([A-Z][A-Z.]+)`)
	known := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "//\t") {
			continue
		}
		for _, m := range forms.FindAllStringSubmatch(line, -1) {
			name := m[1]
			known[name] = true
			e := effectOf("1:" + name + " 2 3 4 3")
			require.False(t, touched(&e).unknown, name)
		}
	}
	for _, name := range append([]string{"RENAME", "FLUSHDB", "SWAPDB", "XGROUP", "PFMERGE", "COPY", "MOVE", "FUNCTION", "FLUSHALL"}, ofOneKey...) {
		require.True(t, known[name], "%s is not in the list", name)
	}
}
