package testkit

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/resp"
)

// Entries returns the values of a map by their keys. In version 2 of the protocol the map is an array of keys
// and values in turn.
func Entries(t testing.TB, v resp.Value) map[string]resp.Value {
	t.Helper()
	require.Contains(t, []resp.Kind{resp.Map, resp.Array}, v.Kind, v)
	m := map[string]resp.Value{}
	for i := 0; i < len(v.Elems); i += 2 {
		m[v.Elems[i].Str] = v.Elems[i+1]
	}
	return m
}

// InfoNumber returns a number of INFO.
func InfoNumber(t testing.TB, c *Client, name string) int64 {
	t.Helper()
	for line := range strings.SplitSeq(c.Do("INFO", "all").Str, "\r\n") {
		if text, ok := strings.CutPrefix(line, name+":"); ok {
			n, err := strconv.ParseInt(text, 10, 64)
			require.NoError(t, err)
			return n
		}
	}
	require.Fail(t, "INFO has no "+name)
	return 0
}
