//go:build oracle

package commands

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/tests/testkit"
)

// TestHyperLogLogBytesLikeRedis: the bytes of the values are those of Redis after every command. There are
// sparse values with opcodes that are split and joined, values that become dense, and stored estimates.
func TestHyperLogLogBytesLikeRedis(t *testing.T) {
	redis := startOracle(t)
	seed := testkit.Seed(t)
	r := rand.New(rand.NewPCG(seed, 0))
	for round := range 12 {
		f := newHyperLogLogs(t)
		reset(redis)
		elements := []int{10, 500, 5000, 1_000_000}[round%4]
		for range 150 {
			key, other, third := fmt.Sprint("k", r.IntN(4)), fmt.Sprint("k", r.IntN(4)), fmt.Sprint("k", r.IntN(5))
			call := []string{"PFADD", key}
			switch r.IntN(8) {
			case 0, 1:
				call = []string{"PFCOUNT", key}
			case 2:
				call = []string{"PFMERGE", key, other, third}
			case 3:
				call = []string{"PFCOUNT", key, other, third}
			case 4:
				if r.IntN(20) == 0 {
					call = []string{"PFDEBUG", "TODENSE", key}
				}
			default:
				for range r.IntN(60) {
					call = append(call, fmt.Sprint(r.IntN(elements)))
				}
			}
			require.Equal(t, redis.do(call...).String(), f.do(call...).String(), "%q", call)
			require.Equal(t, redis.do("GET", key), f.do("GET", key), "after %q", call)
		}
		for i := range 4 {
			key := fmt.Sprint("k", i)
			for _, call := range [][]string{{"PFDEBUG", "ENCODING", key}, {"PFDEBUG", "DECODE", key}, {"PFDEBUG", "GETREG", key},
				{"GET", key}, {"PFCOUNT", key}} {
				require.Equal(t, redis.do(call...), f.do(call...), "%q", call)
			}
		}
	}
}

// TestRareElementsLikeRedis: a register above 32 makes a sparse value dense. One in eight thousand million
// elements causes that; these were constructed for it (their ranks are 32, 33, 40 and 51).
func TestRareElementsLikeRedis(t *testing.T) {
	redis := startOracle(t)
	f := newHyperLogLogs(t)
	reset(redis)
	elements := []string{
		"\x5d\x61\x68\xbf\x3a\xfe\xc0\x0a",
		"\x49\x9b\xde\x5f\x61\xa0\x9c\x55",
		"\x8e\x69\xd3\xa6\xfc\xcd\xf5\x5e",
		"\x66\x26\x6b\x49\xb0\x72\x0c\x47",
	}
	for i, element := range elements {
		for _, call := range [][]string{{"PFADD", "k", element}, {"GET", "k"}, {"PFDEBUG", "ENCODING", "k"},
			{"PFADD", fmt.Sprint("k", i), element}, {"GET", fmt.Sprint("k", i)}, {"PFDEBUG", "ENCODING", fmt.Sprint("k", i)}} {
			require.Equal(t, redis.do(call...), f.do(call...), "%q", call)
		}
	}
	f.want("+sparse", "PFDEBUG", "ENCODING", "k0")
	f.want("+dense", "PFDEBUG", "ENCODING", "k1")
}
