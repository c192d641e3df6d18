package main

import (
	"bufio"
	"context"
	"errors"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/redcon"
)

func TestScatterIsABijection(t *testing.T) {
	for _, total := range []int{1, 2, 1000, 99_999, 100_000} {
		seen := make([]bool, total)
		for n := range total {
			seen[scatter(n, total)] = true
		}
		require.NotContains(t, seen, false, "%d", total)
	}
}

func TestSplitIsWholePipelinesOfPairs(t *testing.T) {
	require.Equal(t, 4000, split(200_000, 50, 1))
	require.Equal(t, 20_000, split(1_000_000, 50, 16))
	require.Equal(t, 2, split(50, 50, 1))
	require.Equal(t, 16, split(1, 50, 16))
	for p := 1; p < 20; p++ {
		n := split(12_345, 7, p)
		require.Zero(t, n%2, "P=%d", p)
		require.Zero(t, n%p, "P=%d", p)
	}
}

// words decodes what the generator sends with another decoder.
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
		key := "key:" + strings.Repeat("0", 9) + strconv.Itoa(1000 + scatter(i, n))[1:]
		require.Equal(t, []string{"LOCK", key, owner, "PX", "30000"}, words(t, acquire(ours, n).append(nil, i)))
		require.Equal(t, []string{"EVALSHA", scriptHash(lockScript), "1", key, "30000", owner}, words(t, acquire(redis, n).append(nil, i)))
		require.Equal(t, []string{"UNLOCK", key, owner}, words(t, release(ours, n).append(nil, i)))
		require.Equal(t, []string{"EVALSHA", scriptHash(unlockScript), "2", key, "redisson_lock__channel:{" + key + "}", "0", "30000", owner},
			words(t, release(redis, n).append(nil, i)))
	}
}

func TestPairsReleaseWhatTheyTook(t *testing.T) {
	const n = 40
	for _, p := range []product{{}, {native: true}} {
		pairs := acquireAndRelease(p, n)
		var keys []string
		for i := 0; i < n; i += 2 {
			take, give := words(t, pairs.append(nil, i)), words(t, pairs.append(nil, i+1))
			at := 1
			if !p.native {
				at = 3
			}
			require.Equal(t, take[at], give[at])
			require.NotContains(t, keys, take[at])
			keys = append(keys, take[at])
			require.Equal(t, acquire(p, n).want(i), pairs.want(i))
			require.Equal(t, ":1", pairs.want(i+1))
		}
	}
}

func TestKeysAreSixteenBytesAndValuesSixtyFour(t *testing.T) {
	w := words(t, setKeys().append(nil, 123_456))
	require.Equal(t, []string{"SET", "key:000000123456", value}, w)
	require.Equal(t, 64, valueBytes)
	seen := make(map[rune]bool)
	for _, c := range value {
		require.False(t, seen[c], "%c would let a snapshot compress it", c)
		seen[c] = true
	}
	require.Len(t, w[1], 16)
	m := mixed(1000)
	require.Equal(t, "SET", words(t, m.append(nil, 2000))[0])
	require.Equal(t, []string{"GET", "key:000000000761"}, words(t, m.append(nil, 2001)))
	require.Equal(t, scatter(1, 1000), 761)
}

func TestPaceSpreadsTheRate(t *testing.T) {
	p := newPace(20_000, 50, 10*time.Second)
	require.Equal(t, 4000, p.count)
	var all []time.Duration
	for i := range 50 {
		for k := range p.count {
			all = append(all, p.due(i, k))
		}
	}
	slices.Sort(all)
	require.Len(t, slices.Compact(slices.Clone(all)), 200_000)
	for i := 1; i < len(all); i++ {
		require.Equal(t, 50*time.Microsecond, all[i]-all[i-1])
	}
	require.Less(t, all[len(all)-1], 10*time.Second)
}

func reader(s string) *bufio.Reader { return bufio.NewReader(strings.NewReader(s)) }

func TestExpect(t *testing.T) {
	r := reader("+OK\r\n:12\r\n$-1\r\n$4\r\nab\r\n\r\n$0\r\n\r\n-ERR no\r\nx")
	require.NoError(t, expect(r, "+OK"))
	require.NoError(t, expect(r, ":"))
	require.NoError(t, expect(r, "$-1"))
	require.NoError(t, expect(r, "$4"))
	require.NoError(t, expect(r, "$"))
	require.EqualError(t, expect(r, ":"), `the reply begins with "-ERR no" instead of ":"`)
	require.Error(t, expect(r, ":"))
	require.Error(t, expect(reader("OK\n"), "O"))
}

func TestReadText(t *testing.T) {
	for in, want := range map[string]string{"+PONG\r\n": "PONG", ":-5\r\n": "-5", "$3\r\na\r\n\r\n": "", "$2\r\nab\r\n": "ab", "$-1\r\n": "",
		"*2\r\n:1\r\n*1\r\n-ERR inner\r\n": ""} {
		got, err := readText(reader(in))
		if in == "$3\r\na\r\n\r\n" {
			want = "a\r\n"
		}
		require.NoError(t, err, in)
		require.Equal(t, want, got, in)
	}
	_, err := readText(reader("-LOADING wait\r\n"))
	require.Equal(t, replyError("LOADING wait"), err)
	for _, in := range []string{"", "?1\r\n", "$x\r\n", "$5\r\nab\r\n", "\r\n", "*1\r\n"} {
		_, err := readText(reader(in))
		require.Error(t, err, "%q", in)
	}
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

// echo answers every PING of a pipeline with a status, on all connections.
func echo(t *testing.T, status string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = c.Close() }()
				for r := bufio.NewReader(c); ; {
					if _, err := r.ReadString('G'); err != nil { // the G of PING
						return
					}
					if _, err := c.Write([]byte(status)); err != nil {
						return
					}
				}
			}()
		}
	}()
	return l.Addr().String()
}

func pings(want string) traffic {
	return traffic{want: always(want), append: func(b []byte, _ int) []byte { return appendBulk(appendArray(b, 1), "PING") }}
}

func TestFleetSendsEveryRequest(t *testing.T) {
	f, err := dialFleet(echo(t, "+PONG\r\n"), 3)
	require.NoError(t, err)
	defer f.close()
	n, err := f.send(t.Context(), pings("+PONG"), 100, 4)
	require.NoError(t, err)
	require.Equal(t, 96, n)
}

func TestFleetSeesWrongReplies(t *testing.T) {
	f, err := dialFleet(echo(t, "-ERR no\r\n"), 2)
	require.NoError(t, err)
	defer f.close()
	_, err = f.send(t.Context(), pings("+PONG"), 100, 4)
	require.ErrorContains(t, err, "-ERR no")
}

func TestFleetEndsWithTheContext(t *testing.T) {
	f, err := dialFleet(echo(t, ""), 2) // never answers
	require.NoError(t, err)
	defer f.close()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err = f.send(ctx, pings("+PONG"), 2, 1)
	require.True(t, errors.Is(err, context.DeadlineExceeded), "%v", err)
}
