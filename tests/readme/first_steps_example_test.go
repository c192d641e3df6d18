package readme

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"lockserver/server"
)

// The code between "snippet" and "end" is in docs/FIRST-STEPS.md, word for word; TestGoSnippets compares
// them.

// snippet
func TestTheNextWorkerTakesOver(t *testing.T) {
	clock := server.NewManualClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	srv, err := server.New(server.Options{Clock: clock, Seed: 1})
	require.NoError(t, err)
	require.NoError(t, srv.Start())
	defer srv.Close()
	client := redis.NewClient(&redis.Options{
		Dialer: func(context.Context, string, string) (net.Conn, error) { return srv.Dial() },
	})
	defer client.Close()

	lock := func(owner string) (int64, error) {
		return client.Do(t.Context(), "LOCK", "job", owner, "PX", 10_000).Int64()
	}
	first, err := lock("worker-1")
	require.NoError(t, err)

	clock.Advance(9_999 * time.Millisecond)
	_, err = lock("worker-2")
	require.ErrorIs(t, err, redis.Nil)

	clock.Advance(time.Millisecond)
	second, err := lock("worker-2")
	require.NoError(t, err)
	require.Greater(t, second, first)
}

// end
