// Package shop tests a shop's lock, sale and session with a clock that the test controls.
package shop

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"lockserver/lockservertest"
)

func dial(t *testing.T, srv *lockservertest.Server) *redis.Client {
	client := redis.NewClient(&redis.Options{Addr: srv.Addr, MaxRetries: 1})
	t.Cleanup(func() { _ = client.Close() })
	return client
}

func TestALockEndsWithItsLease(t *testing.T) {
	srv := lockservertest.Run(t)
	shop, ctx := dial(t, srv), context.Background()
	srv.Freeze()
	first, err := shop.Do(ctx, "LOCK", "till", "ann", "PX", 30000).Int64()
	require.NoError(t, err)
	second := make(chan int64, 1)
	go func() {
		token, _ := shop.Do(ctx, "LOCK", "till", "ben", "PX", 30000, "WAIT", 60000).Int64()
		second <- token
	}()
	for !strings.Contains(srv.Do("INFO", "clients"), "blocked_clients:1") {
	}
	srv.Advance(30*time.Second - time.Millisecond)
	require.Empty(t, second)
	srv.Advance(time.Millisecond)
	require.Greater(t, <-second, first, "fencing tokens rise")
	srv.Check("", "UNLOCK", "till", "ann") // ben holds it
}

func TestAnOrderThatIsNotPaidGoesBack(t *testing.T) {
	srv := lockservertest.Run(t)
	shop, ctx := dial(t, srv), context.Background()
	srv.Freeze()
	require.NoError(t, shop.Do(ctx, "SECKILL.CREATE", "shoe", "STOCK", 1, "HOLD", 900_000).Err())
	srv.Check("0", "SECKILL", "shoe", "ann", "order-1")
	srv.Check("1", "SECKILL", "shoe", "ben", "order-2") // sold out
	srv.Advance(15 * time.Minute)
	srv.Check("0", "SECKILL", "shoe", "ben", "order-2")
	srv.Check("0", "SECKILL.CONFIRM", "shoe", "ann", "order-1") // too late
}

func TestALostReplySellsNothingTwice(t *testing.T) {
	srv := lockservertest.Run(t)
	shop, ctx := dial(t, srv), context.Background()
	srv.Do("SECKILL.CREATE", "shoe", "STOCK", "5", "HOLD", "900000")
	srv.Fault(lockservertest.Fault{Kind: lockservertest.DropAfter, Command: "seckill", Times: 1})
	sold, err := shop.Do(ctx, "SECKILL", "shoe", "ann", "order-1").Int64()
	require.NoError(t, err)
	require.Zero(t, sold)
	srv.Check("4", "GET", "seckill:stock:shoe")
}

func TestASessionLivesAsLongAsItIsUsed(t *testing.T) {
	srv := lockservertest.Run(t)
	shop, ctx := dial(t, srv), context.Background()
	srv.Freeze()
	require.NoError(t, shop.Set(ctx, "session:1", "ann", 30*time.Minute).Err())
	srv.Advance(29 * time.Minute)
	require.NoError(t, shop.Expire(ctx, "session:1", 30*time.Minute).Err()) // as by the next request
	srv.Advance(29 * time.Minute)
	srv.Check("ann", "GET", "session:1")
	srv.Advance(time.Minute + time.Millisecond) // a key lives through the millisecond of its deadline
	srv.Check("0", "EXISTS", "session:1")
}
