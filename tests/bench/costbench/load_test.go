package costbench

import (
	"strconv"
	"strings"
	"testing"

	"lockserver/tests/bench/benchkit"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/redcon"
)

// words decodes the generator's requests with another decoder.
func words(t *testing.T, b []byte) []string {
	t.Helper()
	_, args, _, rest, err := redcon.ReadNextCommand(b, nil)
	require.NoError(t, err)
	require.Empty(t, rest)
	var list []string
	for _, a := range args {
		list = append(list, string(a))
	}
	return list
}

func TestTrafficIsTheSameForBoth(t *testing.T) {
	const n = 100
	redis, ours := product{}, product{native: true}
	for i := range n {
		key := "key:" + strings.Repeat("0", 9) + strconv.Itoa(1000 + benchkit.Scatter(i, n))[1:]
		require.Equal(t, []string{"LOCK", key, owner, "PX", leaseMS}, words(t, acquire(ours, n).Append(nil, i)))
		require.Equal(t, []string{"EVALSHA", scriptHash(lockScript), "1", key, leaseMS, owner}, words(t, acquire(redis, n).Append(nil, i)))
		require.Equal(t, []string{"UNLOCK", key, owner}, words(t, release(ours, n).Append(nil, i)))
		require.Equal(t, []string{"EVALSHA", scriptHash(unlockScript), "2", key, "redisson_lock__channel:{" + key + "}", "0", leaseMS, owner},
			words(t, release(redis, n).Append(nil, i)))
	}
}

func TestPairsReleaseWhatTheyTook(t *testing.T) {
	const n = 40
	for _, p := range []product{{}, {native: true}} {
		pairs := acquireAndRelease(p, n)
		var keys []string
		for i := 0; i < n; i += 2 {
			take, give := words(t, pairs.Append(nil, i)), words(t, pairs.Append(nil, i+1))
			at := 1
			if !p.native {
				at = 3
			}
			require.Equal(t, take[at], give[at])
			require.NotContains(t, keys, take[at])
			keys = append(keys, take[at])
			require.Equal(t, acquire(p, n).Want(i), pairs.Want(i))
			require.Equal(t, ":1", pairs.Want(i+1))
		}
	}
}

func TestKeysAreSixteenBytesAndValuesSixtyFour(t *testing.T) {
	w := words(t, setKeys().Append(nil, 123_456))
	require.Equal(t, []string{"SET", "key:000000123456", value}, w)
	require.Equal(t, 64, valueBytes)
	seen := make(map[rune]bool)
	for _, c := range value {
		require.False(t, seen[c], "%c would let a snapshot compress it", c)
		seen[c] = true
	}
	require.Len(t, w[1], 16)
	m := mixed(1000)
	require.Equal(t, "SET", words(t, m.Append(nil, 2000))[0])
	require.Equal(t, []string{"GET", "key:000000000761"}, words(t, m.Append(nil, 2001)))
	require.Equal(t, benchkit.Scatter(1, 1000), 761)
}

func TestParseBenchmark(t *testing.T) {
	const head = `"test","rps","avg_latency_ms","min_latency_ms","p50_latency_ms","p95_latency_ms","p99_latency_ms","max_latency_ms"` + "\n"
	rps, err := parseBenchmark(head + `"SET key:__rand_int__ x","555555.56","1.214","0.384","1.191","1.807","2.503","2.727"` + "\n")
	require.NoError(t, err)
	require.Equal(t, 555555.56, rps)
	for _, out := range []string{"", head, "nonsense\n"} {
		_, err := parseBenchmark(out)
		require.Error(t, err, "%q", out)
	}
}
