package store

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/store/hash"
)

// A lock is made in a piece with space for all of it, so that it does not move while it is made.
func TestExpectLock(t *testing.T) {
	for _, length := range []int{1, 39, 63} {
		for _, renewed := range []bool{false, true} {
			t.Run(fmt.Sprint(length, renewed), func(t *testing.T) {
				s := New(1, Limits{Hash: hash.Limits{Entries: 128, Value: 64}})
				e := s.DB(0).EditHash([]byte("lock"))
				owner := []byte(strings.Repeat("o", length))
				e.ExpectLock(owner, renewed)
				made := e.Hash()
				e.SetInt(owner, 1)
				e.SetInt([]byte(TokenField), math.MaxInt64)
				if renewed {
					e.Set([]byte(WatchdogField), []byte("1"))
				}
				require.Same(t, made, e.Hash())
				e.ExpectLock(owner, true)
				require.Same(t, made, e.Hash(), "one that is there stays what it is")
			})
		}
	}
}
