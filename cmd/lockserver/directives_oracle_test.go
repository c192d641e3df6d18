//go:build oracle && unix

package main

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/tests/testkit"
)

// keptOtherwise are directives that are not compared, and why.
var keptOtherwise = map[string]string{
	"tls-replication": "the Redis may have been built without TLS",
}

// TestDirectivesAreKeptAsByRedis compares what CONFIG GET of both shows of the directives that both have,
// after each way in which they can be given.
func TestDirectivesAreKeptAsByRedis(t *testing.T) {
	oracle := string(testkit.Oracle(t))
	pairs := walked(t)
	k := newKept(t, oracle, scene{}, "")
	k.run(t, reachable...)
	known := k.values(pairs)
	k.end(t)
	pairs = slices.DeleteFunc(pairs, func(pair [2]string) bool {
		_, is := known[pair[0]]
		return !is || keptOtherwise[pair[0]] != ""
	})
	require.Greater(t, len(pairs), 120)
	redis, ours := walk(t, oracle, scene{pairs: pairs}), walk(t, testkit.Lockserver(t), scene{pairs: pairs})
	redis.Rewritten, ours.Rewritten = "", "" // Redis moves lines that it writes anew
	require.Equal(t, redis, ours)
}

// TestDirectivesOfScenesAreKeptAsByRedis is the same for the directives that need more than a value.
func TestDirectivesOfScenesAreKeptAsByRedis(t *testing.T) {
	oracle := string(testkit.Oracle(t))
	for _, s := range scenes(t) {
		if s.ours {
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			redis, ours := walk(t, oracle, s), walk(t, testkit.Lockserver(t), s)
			redis.Rewritten, ours.Rewritten = "", ""
			redis.Before, ours.Before = nil, nil // the default of bind is another one
			require.Equal(t, redis, ours)
		})
	}
}
