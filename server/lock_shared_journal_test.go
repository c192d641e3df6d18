package server

import (
	"net"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/internal/config"
	"lockserver/tests/testkit"
)

// A shared lock outlives the process in the log, and goes into a dump and out of it, with the lease and
// token of each holder. Holds that ended meanwhile are gone, and new tokens are above theirs.
func TestSharedLocksAreCarried(t *testing.T) {
	t.Parallel()
	clock := NewManualClock(time.UnixMilli(1_750_000_000_000))
	dir := t.TempDir()
	begin := func() *instance {
		return startWith(t, Options{Clock: clock}, func(c *config.Config) { c.Dir, c.AppendOnly = dir, true })
	}
	srv := begin()
	c := testkit.Dial(t, func() (net.Conn, error) { return srv.Dial() })
	c.Do("LOCK", "k", "a", "SHARED", "PX", "1000")
	b := c.Do("LOCK", "k", "b", "SHARED", "PX", "9000").Int
	c.Do("LOCK", "k", "b", "SHARED", "PX", "9000")
	c.Do("LOCK", "up", "a", "SHARED", "PX", "9000")
	up := c.Do("LOCK", "up", "a", "PX", "9000").Int
	c.Do("LOCK", "down", "a", "PX", "9000")
	c.Do("LOCK", "down", "a", "SHARED", "PX", "9000")
	c.Do("UNLOCK", "down", "a")
	c.Do("LOCK", "gone", "a", "SHARED", "PX", "9000")
	c.Do("UNLOCK", "gone", "a")
	want := c.Do("LOCK.INFO", "k").String() + c.Do("LOCK.INFO", "up").String() + c.Do("LOCK.INFO", "down").String()
	dump := c.Do("DUMP", "k").Str
	require.NoError(t, srv.Close())

	srv = begin()
	c = testkit.Dial(t, func() (net.Conn, error) { return srv.Dial() })
	require.Equal(t, want, c.Do("LOCK.INFO", "k").String()+c.Do("LOCK.INFO", "up").String()+c.Do("LOCK.INFO", "down").String())
	clock.Advance(1000 * time.Millisecond)
	require.EqualValues(t, 3, c.Do("EXISTS", "k", "up", "down", "gone").Int)
	require.True(t, c.Do("UNLOCK", "k", "a").IsNull())
	require.Equal(t, "+OK", c.Do("RESTORE", "copy", "8000", dump).String())
	require.True(t, c.Do("UNLOCK", "copy", "a").IsNull(), "its lease is a moment, not a length")
	require.EqualValues(t, 0, c.Do("UNLOCK", "copy", "b", "TOKEN", strconv.FormatInt(b, 10)).Int)
	require.EqualValues(t, 1, c.Do("UNLOCK", "copy", "b", "TOKEN", strconv.FormatInt(b, 10)).Int)
	require.Greater(t, c.Do("LOCK", "other", "x").Int, up)
}
