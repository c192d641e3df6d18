package commands

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/tests/testkit"
)

func TestGeoScript(t *testing.T) {
	playScript(t, "testdata/geo.script", GeoRows, ZSetRows, StringRows, KeyRows)
}

func newGeo(t testing.TB) *fixture { return newFixture(t, GeoRows, ZSetRows, StringRows, KeyRows) }

// TestGeoEffects: the effects of the geo commands are those of the sorted set.
func TestGeoEffects(t *testing.T) {
	f := newGeo(t)
	for _, c := range []struct {
		call    string
		effects []string
	}{
		{"GEOADD g 1 1 a 2 2 b", []string{"0 ZADD g 3377822707026402 a 3378191666521995 b"}},
		{"GEOADD g 1 1 a", nil},
		{"GEOADD g NX 5 5 a", nil},
		{"GEOSEARCH g FROMMEMBER a BYRADIUS 1000 km", nil},
		{"GEOSEARCHSTORE d g FROMMEMBER a BYRADIUS 1 km", []string{"0 ZADD d 3377822707026402 a"}},
		{"GEORADIUSBYMEMBER g a 1 km STOREDIST d", []string{"0 DEL d", "0 ZADD d 0 a"}},
		{"GEORADIUS g 100 50 1 m STORE d", []string{"0 DEL d"}},
		{"GEORADIUS g 100 50 1 m STORE d", nil},
	} {
		f.do(strings.Fields(c.call)...)
		require.Equal(t, c.effects, f.effects(), c.call)
	}
}

// TestGeoOverdue: an overdue key does not exist for these commands.
func TestGeoOverdue(t *testing.T) {
	for _, c := range []struct{ call, reply string }{
		{"GEOPOS g a", "[*nil]"}, {"GEOHASH g a", "[$nil]"}, {"GEODIST g a a", "$nil"}, {"GEOADD g 1 1 a", "1"},
		{"GEOSEARCH g FROMMEMBER a BYRADIUS 1 m", "[]"}, {"GEORADIUSBYMEMBER g a 1 m", "[]"},
		{"GEOSEARCHSTORE g g FROMMEMBER a BYRADIUS 1 m", "0"},
	} {
		f := newGeo(t)
		f.do("GEOADD", "g", "1", "1", "a")
		f.do("PEXPIRE", "g", "10")
		f.nowMS += 11 // not f.advance, which would remove it
		f.store.SetNow(f.nowMS * 1000)
		f.want(c.reply, strings.Fields(c.call)...)
		require.Less(t, f.do("PTTL", "g").Int, int64(0), "%s has kept the deadline", c.call)
	}
}

// TestPartialSort: partialSort puts the right elements at the first places, for all kinds of input, and loses
// none.
func TestPartialSort(t *testing.T) {
	r := testRand(t)
	for range 2000 {
		n := r.IntN(200)
		values := make([]int, n)
		for i := range values {
			values[i] = r.IntN(1 + r.IntN(n+1))
		}
		if r.IntN(4) == 0 {
			slices.Sort(values)
		}
		want := slices.Clone(values)
		slices.Sort(want)
		first := r.IntN(n + 1)
		last := first + r.IntN(n+1-first) - 1
		partialSort(n, first, last, func(i, j int) int { return cmp.Compare(values[i], values[j]) },
			func(i, j int) { values[i], values[j] = values[j], values[i] })
		require.Equal(t, want[first:max(first, last+1)], values[first:max(first, last+1)])
		slices.Sort(values)
		require.Equal(t, want, values)
	}
}

// TestPartialSortIsFast: more than a million comparisons would show that it is quadratic.
func TestPartialSortIsFast(t *testing.T) {
	for name, value := range map[string]func(i int) int{
		"equal": func(int) int { return 0 }, "rising": func(i int) int { return i }, "falling": func(i int) int { return -i },
		"two": func(i int) int { return i % 2 }, "random": func(int) int { return rand.IntN(1000) },
	} {
		values := make([]int, 10000)
		for i := range values {
			values[i] = value(i)
		}
		n := 0
		partialSort(len(values), 0, len(values)-1, func(i, j int) int {
			n++
			return cmp.Compare(values[i], values[j])
		}, func(i, j int) { values[i], values[j] = values[j], values[i] })
		require.Less(t, n, 1_000_000, name)
		require.True(t, slices.IsSorted(values), name)
	}
}

// TestGeoSearchFindsAll: a search finds every member that is near enough, like a comparison of all distances.
// It leaves out the poles, where Redis' bounds are inexact.
func TestGeoSearchFindsAll(t *testing.T) {
	f := newGeo(t)
	r := testRand(t)
	f.rand = r
	const members = 300
	for i := range members {
		f.do("GEOADD", "g", fmt.Sprint(r.Float64()*60-30), fmt.Sprint(r.Float64()*100-50), fmt.Sprint("m", i))
	}
	for range testkit.Steps(20, 60) {
		center, km := fmt.Sprint("m", r.IntN(members)), fmt.Sprint(1+r.IntN(2000))
		want := map[string]bool{}
		for i := range members {
			var d, most float64
			other := fmt.Sprint("m", i)
			_, err := fmt.Sscan(f.do("GEODIST", "g", center, other, "km").Str, &d)
			require.NoError(t, err)
			_, err = fmt.Sscan(km, &most)
			require.NoError(t, err)
			if d <= most {
				want[other] = true
			}
		}
		got := map[string]bool{}
		for _, v := range f.do("GEOSEARCH", "g", "FROMMEMBER", center, "BYRADIUS", km, "km").Elems {
			require.False(t, got[v.Str], "%s twice", v.Str)
			got[v.Str] = true
		}
		require.Equal(t, want, got, "around %s, %s km", center, km)
	}
}

// TestGeoPolygonScript plays what Valkey 9.0 documents about BYPOLYGON.
func TestGeoPolygonScript(t *testing.T) {
	playDocumented(t, "testdata/geo_polygon.script", GeoRows, ZSetRows, KeyRows)
}
