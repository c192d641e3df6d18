//go:build invariants

package dict

import (
	"hash/maphash"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/store/cow"
)

func TestInsertOfPresentKeyPanics(t *testing.T) {
	d := New[int](&cow.Epoch{}, maphash.MakeSeed())
	d.InsertString(d.HashString("a"), "a", 1)
	require.Panics(t, func() { d.InsertString(d.HashString("a"), "a", 2) })
}
