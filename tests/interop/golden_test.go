package interop

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const goldenFile = "testdata/redisson.golden"

// recording is a sequence with the observation after each of its steps.
type recording struct {
	sequence
	seen []observation
}

// readGolden returns the recorded stories: those of sequences_test.go.
func readGolden(t *testing.T) []recording {
	t.Helper()
	data, err := os.ReadFile(goldenFile)
	require.NoError(t, err)
	blocks := strings.Split(strings.ReplaceAll(string(data), "\r\n", "\n"), "\n== ")[1:]
	all := sequences(t)
	require.Len(t, blocks, len(all), "record again")
	stories := make([]recording, len(all))
	for i, s := range all {
		lines := strings.Split(strings.TrimSpace(blocks[i]), "\n")
		require.Equal(t, fmt.Sprintf("%s: %s", s.kind, s.name), lines[0], "record again")
		require.Len(t, lines[1:], len(s.steps), "%s: record again", lines[0])
		stories[i].sequence = s
		for j, line := range lines[1:] {
			text, seen, found := strings.Cut(line, " -> ")
			require.True(t, found, line)
			require.Equal(t, s.steps[j].String(), text, "record again")
			stories[i].seen = append(stories[i].seen, parseObservation(t, seen))
		}
	}
	return stories
}

// tokensBefore is the value of RFencedLock's counter at the start of a story: the lock has been used before.
const tokensBefore = 41

// begin sets up a lock of a kind that was used before.
func begin(n *native, k kind) comparison {
	if k == fenced {
		n.Do("SET", tokenKey, strconv.Itoa(tokensBefore))
		return comparison{kind: k, token: tokensBefore}
	}
	return comparison{kind: k}
}

// TestNativeLeavesWhatTheScriptsLeave plays every story by native commands.
func TestNativeLeavesWhatTheScriptsLeave(t *testing.T) {
	for _, s := range readGolden(t) {
		t.Run(fmt.Sprintf("%s/%s", s.kind, s.name), func(t *testing.T) {
			n := startNative(t, "", time.UnixMilli(1_750_000_000_000))
			cmp := begin(n, s.kind)
			for i, st := range s.steps {
				cmp.compare(t, st, s.seen[i], n.do(st))
			}
		})
	}
}

// TestNativeGoesOnWhereTheScriptsStopped recreates the lock after each step of a story, and plays the
// remaining steps by native commands.
func TestNativeGoesOnWhereTheScriptsStopped(t *testing.T) {
	for _, s := range readGolden(t) {
		t.Run(fmt.Sprintf("%s/%s", s.kind, s.name), func(t *testing.T) {
			n := startNative(t, "", time.UnixMilli(1_750_000_000_000))
			for cut := range s.steps {
				left := s.seen[cut]
				if left.watched || len(left.waiting) > 0 {
					continue // the story depends on the client that renews or waits
				}
				n.Do("FLUSHALL")
				n.recreate(left)
				cmp := comparison{kind: s.kind, token: left.token, bare: left.lock != "none"}
				for i := cut + 1; i < len(s.steps); i++ {
					cmp.compare(t, s.steps[i], s.seen[i], n.do(s.steps[i]))
				}
			}
		})
	}
}

// recreate creates the lock of an observation by plain commands.
func (n *native) recreate(o observation) {
	n.t.Helper()
	if words := strings.Fields(o.lock); words[0] == "hash" {
		for _, field := range words[1:] {
			owner, holds, _ := strings.Cut(field, "=")
			n.Do("HSET", key, owner, holds)
		}
		n.Do("PEXPIRE", key, strconv.FormatInt(o.leaseMS-1, 10)) // a key lives through the millisecond of its deadline
	}
	if o.token != 0 {
		n.Do("SET", tokenKey, strconv.FormatInt(o.token, 10))
	}
}
