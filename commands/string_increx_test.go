package commands

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestIncrexScript plays what Redis 8.8 documents.
func TestIncrexScript(t *testing.T) {
	playDocumented(t, "testdata/increx.script", StringRows, KeyRows, ListRows)
}

// TestIncrexEffects: the journal gets a SET, or nothing if nothing changed.
func TestIncrexEffects(t *testing.T) {
	f := newStrings(t)
	at := fmt.Sprint(f.nowMS + 5000)
	for _, c := range []struct {
		call    string
		effects []string
	}{
		{"INCREX k", []string{"0 SET k 1 KEEPTTL"}},
		{"INCREX k UBOUND 1 EX 10", nil},
		{"INCREX k PX 5000", []string{"0 SET k 2 PXAT " + at}},
		{"INCREX k PX 9000 ENX BYINT 4", []string{"0 SET k 6 KEEPTTL"}},
		{"INCREX k PERSIST BYFLOAT 0.5", []string{"0 SET k 6.5"}},
		{"INCREX k BYFLOAT 1 PXAT 1", []string{"0 DEL k"}},
	} {
		f.do(strings.Fields(c.call)...)
		require.Equal(t, c.effects, f.effects(), c.call)
	}
}

// TestIncrexDoesNotAllocate: a counter at its bound is refused without an allocation, because that is the
// most frequent case for a rate limiter.
func TestIncrexDoesNotAllocate(t *testing.T) {
	f := newStrings(t)
	f.do("SET", "k", "100")
	require.Zero(t, f.allocsOf(strings.Fields("INCREX k BYINT 1 UBOUND 100 EX 60 ENX")...))
}
