//go:build oracle

package commands

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/tests/testkit"
)

// TestGeoLikeRedis: random searches get the same replies in the same order from Redis and from us. They cover
// the whole world, including the poles and the date line, and many members at the same distance.
func TestGeoLikeRedis(t *testing.T) {
	redis := startOracle(t)
	seed := testkit.Seed(t)
	r := rand.New(rand.NewPCG(seed, 0))
	for round := range 10 {
		f := newGeo(t)
		reset(redis)
		spread := []float64{180, 180, 10, 0.01, 1}[round%5]
		number := func(most float64) string {
			switch r.IntN(12) {
			case 0:
				return fmt.Sprint(most)
			case 1:
				return fmt.Sprint(-most)
			case 2:
				return strconv.Itoa(r.IntN(3) - 1)
			}
			return fmt.Sprint((r.Float64()*2 - 1) * math.Min(most, spread))
		}
		both := func(call ...string) {
			require.Equal(t, redis.do(call...).String(), f.do(call...).String(), "%q", call)
		}
		for i := range 30 + r.IntN(200) {
			both("GEOADD", "g", number(180), number(85.05112878), fmt.Sprint("m", i%120))
		}
		unit := func() string { return []string{"m", "km", "ft", "mi"}[r.IntN(4)] }
		size := func() string {
			return fmt.Sprint(math.Pow(10, r.Float64()*8) * []float64{1, 1, 0}[min(2, r.IntN(20)/9)])
		}
		for range 150 {
			member := fmt.Sprint("m", r.IntN(120))
			call := []string{"GEOSEARCH", "g", "FROMLONLAT", number(180), number(85.05112878)}
			if r.IntN(2) == 0 {
				call = []string{"GEOSEARCH", "g", "FROMMEMBER", member}
			}
			if r.IntN(2) == 0 {
				call = append(call, "BYRADIUS", size(), unit())
			} else {
				call = append(call, "BYBOX", size(), size(), unit())
			}
			for _, option := range [][]string{{"WITHDIST"}, {"WITHCOORD"}, {"WITHHASH"}, {"ASC"}, {"DESC"},
				{"COUNT", strconv.Itoa(1 + r.IntN(60))}, {"COUNT", strconv.Itoa(1 + r.IntN(20)), "ANY"}} {
				if r.IntN(4) == 0 {
					call = append(call, option...)
				}
			}
			both(call...)
			both("GEOHASH", "g", member)
			both("GEOPOS", "g", member)
			both("GEODIST", "g", member, fmt.Sprint("m", r.IntN(120)), unit())
		}
	}
}

// TestGeoStoredDistancesLikeRedis counts how many of the distances that STOREDIST stores are equal to those
// of Redis in all digits. See D42.
func TestGeoStoredDistancesLikeRedis(t *testing.T) {
	redis := startOracle(t)
	seed := testkit.Seed(t)
	r := rand.New(rand.NewPCG(seed, 0))
	f := newGeo(t)
	reset(redis)
	for i := range 300 {
		call := []string{"GEOADD", "g", fmt.Sprint(r.Float64()*360 - 180), fmt.Sprint(r.Float64()*170 - 85), fmt.Sprint("m", i)}
		require.Equal(t, redis.do(call...), f.do(call...))
	}
	same, all := 0, 0
	for i := range 100 {
		call := []string{"GEOSEARCHSTORE", "d", "g", "FROMMEMBER", fmt.Sprint("m", i), "BYRADIUS", "30000", "km", "STOREDIST"}
		require.Equal(t, redis.do(call...), f.do(call...))
		theirs, ours := redis.do("ZRANGE", "d", "0", "-1", "WITHSCORES").Elems, f.do("ZRANGE", "d", "0", "-1", "WITHSCORES").Elems
		require.Len(t, ours, len(theirs))
		for j := 0; j < len(theirs); j += 2 {
			require.Equal(t, theirs[j], ours[j])
			if theirs[j+1].Str == ours[j+1].Str {
				same++
			}
			all++
			a, err := strconv.ParseFloat(theirs[j+1].Str, 64)
			require.NoError(t, err)
			b, err := strconv.ParseFloat(ours[j+1].Str, 64)
			require.NoError(t, err)
			require.InEpsilon(t, a+1, b+1, 1e-12)
		}
	}
	t.Logf("%d of %d distances have the same digits", same, all)
}
