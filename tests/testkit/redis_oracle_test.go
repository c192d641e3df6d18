//go:build oracle

package testkit

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestStartRedisAndReadDataset(t *testing.T) {
	r := StartRedis(t, "--databases", "4")
	c := r.Client(t)
	for _, version := range []int{2, 3} {
		c.Hello(version)
		c.Do("FLUSHALL")
		require.Empty(t, ReadDataset(c))
		at := time.Now().Add(time.Hour).UnixMilli()
		c.Do("SELECT", "0")
		c.Do("SET", "s", "v\r\n", "PXAT", strconv.FormatInt(at, 10))
		c.Do("HSET", "h", "b", "2", "a", "1")
		c.Do("SADD", "t", "b", "a")
		c.Do("RPUSH", "l", "x", "y")
		c.Do("ZADD", "z", "1", "m")
		c.Do("SELECT", "3")
		c.Do("XADD", "x", "5-1", "f", "v")
		c.Do("XADD", "x", "5-2", "f", "v")
		c.Do("XDEL", "x", "5-2")
		data := ReadDataset(c)
		require.Len(t, data, 6)
		require.Equal(t, Entry{"string", `"v\r\n"`, at}, data[Place{0, "s"}])
		require.Equal(t, Entry{"hash", `["a" "1" "b" "2"]`, -1}, data[Place{0, "h"}])
		require.Equal(t, Entry{"set", `["a" "b"]`, -1}, data[Place{0, "t"}])
		require.Equal(t, Entry{"list", `["x" "y"]`, -1}, data[Place{0, "l"}])
		require.Contains(t, data[Place{0, "z"}].Value, `"m"`)
		stream := data[Place{3, "x"}]
		require.Equal(t, "stream", stream.Type)
		for _, part := range []string{`last-generated-id="5-2"`, `max-deleted-entry-id="5-2"`, `entries-added=2`, `[["5-1" ["f" "v"]]]`} {
			require.Contains(t, stream.Value, part)
		}
	}
	r.Kill()
	r.Kill()
	_, err := r.Dial()
	require.Error(t, err)
}
