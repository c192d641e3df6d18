//go:build oracle

package interop

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/tests/testkit"
)

var (
	update = flag.Bool("update", false, "write "+goldenFile+" from the redis-server that ORACLE names")
	seed   = flag.Uint64("seed", 0, "of the random sequences; 0: that of testkit.Seed")
)

// liveRounds is the number of random sequences that are played on both servers.
const liveRounds = 40

// play plays a whole sequence by the scripts.
func play(t *testing.T, r *testkit.Redis, s sequence) recording {
	t.Helper()
	rd := startRedisson(t, r, s.kind)
	story := recording{sequence: s}
	for _, st := range s.steps {
		story.seen = append(story.seen, rd.do(st))
	}
	return story
}

// TestGoldenIsRedis: the golden file agrees with the installed Redis.
func TestGoldenIsRedis(t *testing.T) {
	redis := testkit.StartRedis(t)
	var stories []recording
	for _, s := range sequences(t) {
		stories = append(stories, play(t, redis, s))
	}
	if *update {
		require.NoError(t, os.WriteFile(goldenFile, []byte(format(stories)), 0o644))
	}
	for i, s := range readGolden(t) {
		for j, st := range s.steps {
			want, got := s.seen[j], stories[i].seen[j]
			require.InDelta(t, want.leaseMS, got.leaseMS, toleranceMS, "%s: step %d: %s", s.name, j, st)
			got.leaseMS = want.leaseMS
			require.Equal(t, want, got, "%s: step %d: %s", s.name, j, st)
		}
	}
}

// TestRandomSequences plays new random sequences on both servers.
func TestRandomSequences(t *testing.T) {
	from := testkit.SeedOr(*seed)
	t.Logf("-seed %d", from)
	redis := testkit.StartRedis(t)
	for round := range uint64(liveRounds) {
		s := randomSequence(from+round, []kind{rlock, spin, fenced}[round%3])
		t.Run(fmt.Sprintf("%s/%s", s.kind, s.name), func(t *testing.T) {
			story := play(t, redis, s)
			n := startNative(t, "", time.UnixMilli(1_750_000_000_000))
			cmp := begin(n, s.kind)
			for i, st := range s.steps {
				cmp.compare(t, st, story.seen[i], n.do(st))
			}
		})
	}
}

// format returns the text of the golden file.
func format(stories []recording) string {
	var b strings.Builder
	b.WriteString("# What Redisson's locks leave on redis-server 7.4. Recorded, see doc.go.\n")
	for _, s := range stories {
		fmt.Fprintf(&b, "\n== %s: %s\n", s.kind, s.name)
		for i, st := range s.steps {
			fmt.Fprintf(&b, "%s -> %s\n", st, s.seen[i])
		}
	}
	return b.String()
}
