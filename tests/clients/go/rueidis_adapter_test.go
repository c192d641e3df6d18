package clients

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"lockserver/client"
)

// overRueidis is a client.Server by rueidis: all that package client needs of it.
type overRueidis struct {
	rueidis.Client
	options rueidis.ClientOption // which it was made with
}

// Do implements client.Server.
func (r overRueidis) Do(ctx context.Context, args ...any) (any, error) {
	words := make([]string, len(args))
	for i, arg := range args {
		words[i] = fmt.Sprint(arg)
	}
	result := r.Client.Do(ctx, r.B().Arbitrary(words...).Build())
	if rueidis.IsRedisNil(result.Error()) {
		return nil, nil
	}
	if replied, is := rueidis.IsRedisErr(result.Error()); is {
		return nil, client.ReplyError(replied.Error())
	}
	return result.ToAny()
}

// Dial implements client.Server.
func (r overRueidis) Dial(ctx context.Context) (net.Conn, client.Login, error) {
	o := r.options
	login := client.Login{User: o.Username, Password: o.Password, Database: o.SelectDB}
	if o.TLSConfig != nil {
		nc, err := (&tls.Dialer{Config: o.TLSConfig}).DialContext(ctx, "tcp", o.InitAddress[0])
		return nc, login, err
	}
	nc, err := (&net.Dialer{}).DialContext(ctx, "tcp", o.InitAddress[0])
	return nc, login, err
}

// nativeRueidis is the package's client over rueidis, in a database of its own, with a password.
func (s *server) nativeRueidis(t *testing.T) (*client.Client, rueidis.Client) {
	t.Helper()
	var options rueidis.ClientOption
	library := s.rueidis(t, func(o *rueidis.ClientOption) {
		o.Password, o.SelectDB = "secret", 2
		options = *o
	})
	c, err := client.NewWith(overRueidis{library, options})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c, library
}

// TestNativeOverRueidis: locks, guards, losses and orders, by another library than go-redis.
func TestNativeOverRueidis(t *testing.T) {
	s := start(t, "--requirepass", "secret")
	ctx := within(t)
	c, library := s.nativeRueidis(t)
	other, _ := s.nativeRueidis(t)

	lock, err := c.Lock(ctx, "door")
	require.NoError(t, err)
	_, err = other.TryLock(ctx, "door")
	require.ErrorIs(t, err, client.ErrNotAcquired)
	_, err = other.Lock(ctx, "door", client.Wait(20*time.Millisecond))
	require.ErrorIs(t, err, client.ErrNotAcquired)
	reply, err := lock.Guard(ctx, "SET", "n", 41)
	require.NoError(t, err)
	require.Equal(t, "OK", reply)
	reply, err = lock.Guard(ctx, "INCRBY", "n", int64(1))
	require.NoError(t, err)
	require.Equal(t, int64(42), reply)
	reply, err = lock.Guard(ctx, "GET", "absent")
	require.NoError(t, err)
	require.Nil(t, reply)
	_, err = lock.Guard(ctx, "LPUSH", "n", "x")
	var replied client.ReplyError
	require.ErrorAs(t, err, &replied)
	require.Contains(t, string(replied), "WRONGTYPE")
	require.NoError(t, lock.Unlock(ctx))

	both, err := c.MLock(ctx, []string{"a", "b"})
	require.NoError(t, err)
	require.Len(t, both.Tokens(), 2)
	require.NoError(t, both.Unlock(ctx))
	both, err = c.MLock(ctx, []string{"a", "b"})
	require.NoError(t, err)
	require.NoError(t, library.Do(ctx, library.B().Del().Key("b").Build()).Error())
	require.ErrorIs(t, both.Unlock(ctx), client.ErrLost)

	lock, err = c.RLock(ctx, "door")
	require.NoError(t, err)
	forced, err := library.Do(ctx, library.B().Arbitrary("LOCK.FORCE").Keys("door").Build()).AsInt64()
	require.NoError(t, err)
	require.EqualValues(t, 1, forced)
	<-lock.Context().Done()
	require.ErrorIs(t, context.Cause(lock.Context()), client.ErrLost)

	require.NoError(t, library.Do(ctx, library.B().Arbitrary("SECKILL.CREATE").Keys("10").Args("STOCK", "1").Build()).Error())
	outcome, err := c.Sale("10").Buy(ctx, "ann", "order-1")
	require.NoError(t, err)
	require.Equal(t, client.Sold, outcome)
}

// TestNativeOverRueidisRestart: the server goes and comes back within the lease, and the lock is held.
func TestNativeOverRueidisRestart(t *testing.T) {
	s := start(t, "--requirepass", "secret", "--appendonly", "yes", "--appendfsync", "always")
	ctx := within(t)
	c, _ := s.nativeRueidis(t)
	lock, err := c.Lock(ctx, "door")
	require.NoError(t, err)
	s.replace(t)
	eventually(t, func() bool {
		_, err := lock.Guard(ctx, "SET", "n", 1)
		return err == nil
	}, "it is guarded again")
	require.NoError(t, lock.Context().Err())
	require.NoError(t, lock.Unlock(ctx))
}
