package commands

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSScanWalksALargeSet(t *testing.T) {
	f := newFixture(t, SetRows)
	for _, prefix := range []string{"", "m"} {
		fillSet(f, "s", prefix, 1234)
		seen, _ := walk(f, fields("SSCAN s"), fields("COUNT 50")...)
		require.Len(t, seen, 1234)
		for i := range 1234 {
			require.Equal(t, 1, seen[prefix+strconv.Itoa(i)])
		}
		seen, _ = walk(f, fields("SSCAN s"), fields("MATCH *99")...)
		require.Len(t, seen, 12)
		f.do("SPOP", "s", "1234")
	}
}

// TestSScanOfAChangingSet: a member that stays in the set during the whole scan is returned at least once,
// whatever members come and go.
func TestSScanOfAChangingSet(t *testing.T) {
	f := newFixture(t, SetRows)
	r := testRand(t)
	fillSet(f, "s", "m", 2000)
	seen := map[string]bool{}
	gone := map[string]bool{}
	for cursor := "0"; ; {
		reply := f.do("SSCAN", "s", cursor, "COUNT", "20")
		for _, m := range bulks(reply.Elems[1]) {
			seen[m] = true
		}
		if cursor = reply.Elems[0].Str; cursor == "0" {
			break
		}
		for range 5 {
			m := "m" + strconv.Itoa(r.IntN(2000))
			gone[m] = true
			f.do("SREM", "s", m)
			f.do("SADD", "s", "new"+strconv.Itoa(r.IntN(1000)))
		}
	}
	for i := range 2000 {
		m := "m" + strconv.Itoa(i)
		require.True(t, seen[m] || gone[m], "%q was missed", m)
	}
}
