package server

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRestoreServesWhoWaits: a restored list serves its waiters as a list with new elements does, and a
// restored lock counts as held.
func TestRestoreServesWhoWaits(t *testing.T) {
	t.Parallel()
	srv := start(t, Options{})
	c, waiting := client(t, srv), client(t, srv)
	c.Do("RPUSH", "l", "a", "b")
	list := c.Do("DUMP", "l").Str
	waiting.Send("BLPOP", "k", "0")
	awaitParked(t, srv, 1)
	require.Equal(t, "+OK", c.Do("RESTORE", "k", "0", list).String())
	require.Equal(t, `["k" "a"]`, waiting.Receive().String())
	require.Equal(t, `["b"]`, c.Do("LRANGE", "k", "0", "-1").String())

	token := c.Do("LOCK", "door", "alice", "EX", "100").Int
	held := c.Do("DUMP", "door").Str
	require.Equal(t, int64(1), c.Do("UNLOCK", "door", "alice").Int)
	require.Equal(t, "+OK", c.Do("RESTORE", "door", "100000", held).String())
	require.Equal(t, "$nil", c.Do("LOCK", "door", "bob").String())
	require.Equal(t, int64(1), c.Do("UNLOCK", "door", "alice", "TOKEN", strconv.FormatInt(token, 10)).Int)
	checkParking(t, srv)
}
