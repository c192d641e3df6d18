//go:build oracle

package client_test

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"lockserver/client"
	"lockserver/tests/testkit"
)

// TestPlainRedis: a real Redis is recognized at once, before a lock is asked for.
func TestPlainRedis(t *testing.T) {
	plain := testkit.StartRedis(t, "--requirepass", "secret")
	rdb := redis.NewClient(&redis.Options{Password: "secret",
		Dialer: func(context.Context, string, string) (net.Conn, error) { return plain.Dial() }})
	t.Cleanup(func() { _ = rdb.Close() })
	_, err := client.New(rdb)
	require.ErrorIs(t, err, client.ErrNotLockserver)
	require.ErrorContains(t, err, "unknown command 'LOCK.ATTACH'")
}

// TestReplacedByARealRedis is TestReplacedByARedis with a real one. A call begins when the client has seen
// the end of its connection: before that, a command that is sent once fails with it.
func TestReplacedByARealRedis(t *testing.T) {
	plain := testkit.StartRedis(t)
	for name, call := range asking() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, n := start(t, time.Minute)
			apart := make(chan struct{}, 1)
			c := n.client(t, client.Timeout(time.Hour), client.Observe(client.Hooks{Connected: func(err error) {
				if err != nil {
					select {
					case apart <- struct{}{}:
					default:
					}
				}
			}}))
			s := subjectOf(t, c)
			n.becomesRedis(func() net.Conn {
				nc, err := plain.Dial()
				require.NoError(t, err)
				return nc
			})
			<-apart
			require.ErrorIs(t, call(ctx, s), client.ErrNotLockserver)
		})
	}
}
