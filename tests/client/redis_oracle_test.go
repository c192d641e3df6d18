//go:build oracle

package client_test

import (
	"context"
	"net"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"lockserver/client"
	"lockserver/internal/testkit"
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
