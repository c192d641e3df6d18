package list

import (
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/store/cow"
	"lockserver/store/listpack"
)

func newList(ep *cow.Epoch) *Edit {
	e := New(ep, nil)
	return &e
}

// check verifies the invariants in the comments of the fields.
func check(t testing.TB, l *Edit, lim Limits) {
	t.Helper()
	if l.nodes() == nil {
		if l.small() != nil {
			require.NoError(t, listpack.Validate(l.small()))
			require.Positive(t, l.small().Len(), "a list without elements has no listpack")
		}
		return
	}
	require.Nil(t, l.small())
	require.NotEmpty(t, l.nodes().segs)
	total, bytes := 0, 0
	for _, s := range l.nodes().segs {
		require.NotEmpty(t, s.nodes)
		require.LessOrEqual(t, len(s.nodes), maxSegment)
		length := 0
		for _, n := range s.nodes {
			length += n.len()
			bytes += n.size()
			if n.plain {
				require.True(t, lim.isLarge(n.lp))
				continue
			}
			require.NoError(t, listpack.Validate(n.lp))
			require.Positive(t, n.len())
			require.LessOrEqual(t, n.len(), lim.count())
			// An element of Set or Insert may make a node larger than the limit.
			require.LessOrEqual(t, len(n.lp), emptyBytes+n.len()*(lim.bytes()+maxElement))
		}
		require.Equal(t, length, s.length)
		total += length
	}
	require.Equal(t, total, l.nodes().length)
	require.Equal(t, bytes, l.nodes().bytes)
}

// content returns all elements from left to right.
func content(l *Edit) []string {
	got := []string{}
	l.Range(0, l.Len(), Right, func(v Value) bool {
		got = append(got, string(v.Append(nil)))
		return true
	})
	return got
}
