package server

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLolwutTellsTheVersion(t *testing.T) {
	c := client(t, start(t, Options{Version: "1.2.3"}))
	require.True(t, strings.HasSuffix(c.Do("LOLWUT", "VERSION", "6", "1").Str, "\nlockserver ver. 1.2.3\n"))
}
