package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestLogTail: the last whole lines are kept, within a bound, and all lines are written on.
func TestLogTail(t *testing.T) {
	var to bytes.Buffer
	tail := &logTail{to: &to, most: 30}
	var all strings.Builder
	for i := range 100 {
		line := fmt.Sprintf("line %d\n", i)
		all.WriteString(line)
		n, err := tail.Write([]byte(line))
		require.NoError(t, err)
		require.Equal(t, len(line), n)
		kept := string(tail.Lines())
		require.LessOrEqual(t, len(kept), 30)
		require.True(t, strings.HasSuffix(all.String(), kept))
		require.True(t, strings.HasPrefix(kept, "line "), kept)
		require.Greater(t, len(kept)+len(line), min(30, all.Len())-len(line), "as much as fits")
	}
	require.Equal(t, all.String(), to.String())
	_, err := tail.Write([]byte(strings.Repeat("x", 40) + "\n"))
	require.NoError(t, err)
	require.Empty(t, tail.Lines(), "it does not fit")
	_, err = tail.Write([]byte("next\n"))
	require.NoError(t, err)
	require.Equal(t, "next\n", string(tail.Lines()))
}
