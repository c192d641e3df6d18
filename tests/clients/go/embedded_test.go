package clients

import (
	"context"
	"crypto/tls"
	"net"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	lockserver "lockserver/server"
)

// TestNativeEmbedded: go-redis and rueidis with a server inside this process, without a port.
func TestNativeEmbedded(t *testing.T) {
	srv, err := lockserver.New(lockserver.Options{})
	require.NoError(t, err)
	require.NoError(t, srv.Start())
	defer srv.Close()
	protocols(t, func(t *testing.T, p int) {
		ctx := within(t)
		c := redis.NewClient(&redis.Options{Protocol: p,
			Dialer: func(context.Context, string, string) (net.Conn, error) { return srv.Dial() }})
		defer c.Close()
		token, err := c.Do(ctx, "LOCK", "job", "me", "PX", 10_000).Int64()
		require.NoError(t, err)
		require.Positive(t, token)
		require.Equal(t, "1", c.HGet(ctx, "job", "me").Val())
		require.EqualValues(t, 2, c.Eval(ctx, `return redis.call('hlen', KEYS[1])`, []string{"job"}).Val())
		require.EqualValues(t, 1, c.Del(ctx, "job").Val())
	})
	c, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{"embedded:0"},
		DialCtxFn: func(context.Context, string, *net.Dialer, *tls.Config) (net.Conn, error) { return srv.Dial() }})
	require.NoError(t, err)
	defer c.Close()
	get := func() rueidis.RedisResult { return c.DoCache(within(t), c.B().Get().Key("cached").Cache(), time.Hour) }
	require.True(t, rueidis.IsRedisNil(get().Error()))
	require.True(t, get().IsCacheHit())
}
