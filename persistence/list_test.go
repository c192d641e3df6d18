package persistence

import (
	"bytes"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/store"
	"lockserver/store/list"
)

// A list comes back from a snapshot unchanged, in each of its forms, even under other limits.
func TestListsThroughASnapshot(t *testing.T) {
	for name, lim := range map[string]list.Limits{
		"small or of nodes":        list.DefaultLimits(),
		"a node for each element":  {Fill: 1},
		"with plain elements":      {Fill: 5, Large: 30},
		"every element is a plain": {Fill: -2, Large: 1},
	} {
		t.Run(name, func(t *testing.T) {
			from := store.New(1, store.Limits{List: lim})
			want := map[string][]string{}
			for _, n := range []int{1, 2, 10, 3000} {
				key := "list" + strconv.Itoa(n)
				e, _ := from.DB(0).OpenList([]byte(key))
				for i := range n {
					element := strings.Repeat("e", i%40+1) + strconv.Itoa(i)
					if i%3 == 0 {
						element = strconv.Itoa(-i << 20)
					}
					e.Push(list.Right, []byte(element))
					want[key] = append(want[key], element)
				}
			}
			var file bytes.Buffer
			cut := from.Cut()
			_, err := Save(&file, cut, SaveOptions{Compress: true, Checksum: true, Version: "7.0.0"})
			require.NoError(t, err)
			cut.Release()

			to := store.New(1, store.Limits{List: list.DefaultLimits()})
			got, err := Load(&file, to, LoadOptions{})
			require.NoError(t, err)
			require.Equal(t, len(want), got.Keys)
			for key, elements := range want {
				l := to.DB(0).Peek([]byte(key)).List()
				var loaded []string
				l.Range(0, l.Len(), list.Right, func(v list.Value) bool {
					loaded = append(loaded, string(v.Append(nil)))
					return true
				})
				require.Equal(t, elements, loaded, key)
			}
		})
	}
}
