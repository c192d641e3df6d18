package commands

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSortScript(t *testing.T) {
	playScript(t, "testdata/sort.script", SortRows, StringRows, KeyRows, ListRows, SetRows, ZSetRows, HashRows)
}

// TestSortStoresWithEffects: the effects of SORT ... STORE are a DEL and an RPUSH, or only a DEL.
func TestSortStoresWithEffects(t *testing.T) {
	f := newFixture(t, SortRows, StringRows, ListRows)
	f.want("3", "RPUSH", "l", "2", "1", "3")
	f.want("+OK", "SET", "d", "v")
	f.store.TakeEffects()
	f.want("3", "SORT", "l", "STORE", "d")
	f.want("0", "SORT", "gone", "STORE", "d")
	var names []string
	for _, e := range f.store.TakeEffects() {
		names = append(names, string(e.Args[0])+" "+string(e.Args[1]))
	}
	require.Equal(t, []string{"DEL d", "RPUSH d", "DEL d"}, names)
}

// FuzzSortWeight: any text has a weight or none. If a text is completely a number, white space before it
// makes no difference.
func FuzzSortWeight(f *testing.F) {
	for _, s := range []string{"", " ", "1", " 1", "1 ", "inf", "nan", "0x10", "1e400", "1e-320", "-0", "1\x00x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		weight, ok := sortWeight([]byte(s))
		if !ok || len(s) == 0 {
			return
		}
		again, ok := sortWeight([]byte("\t " + s))
		if s[0] == 0 {
			return // an empty text, and white space alone, is no number
		}
		if !ok || again != weight {
			t.Fatalf("%q is %v, and %v (%t) behind white space", s, weight, again, ok)
		}
	})
}
