package client_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"lockserver/client"
	"lockserver/internal/call"
	"lockserver/internal/resp"
)

// TestBrokenConnections: connections break at random moments; no lock is held twice, and none stays behind.
func TestBrokenConnections(t *testing.T) {
	t.Parallel()
	srv, n := start(t, 10*time.Second)
	const workers, rounds = 8, 30
	programs := []*client.Client{n.client(t), n.client(t)}
	var inside [3]atomic.Int32
	var done, lost atomic.Int32
	stop := make(chan struct{})
	var breaker, group sync.WaitGroup
	broken := 0
	breaker.Go(func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(2 * time.Millisecond):
				broken += n.breakSome(0.2)
			}
		}
	})
	for w := range workers {
		group.Go(func() {
			for i := range rounds {
				key := (w + i) % len(inside)
				l, err := programs[w%2].Lock(ctx, strconv.Itoa(key))
				if err != nil {
					continue // there was no answer in time
				}
				if inside[key].Add(1) != 1 && l.Context().Err() == nil {
					t.Errorf("lock %d is held twice", key)
				}
				time.Sleep(time.Millisecond)
				inside[key].Add(-1)
				done.Add(1)
				if err := l.Unlock(ctx); errors.Is(err, client.ErrLost) {
					t.Log(err)
					lost.Add(1)
				}
			}
		})
	}
	group.Wait()
	close(stop)
	breaker.Wait()
	t.Logf("%d connections were broken, %d locks held, %d lost", broken, done.Load(), lost.Load())
	require.Greater(t, broken, 50)
	require.Greater(t, done.Load(), int32(workers*rounds/2))
	require.Zero(t, lost.Load(), "the server was there all the time")
	op := operator(t, srv)
	require.Eventually(t, func() bool { return len(op.Do("LOCK.LIST").Elems) == 0 }, 30*time.Second, 10*time.Millisecond)
}

func TestCampaign(t *testing.T) {
	srv, n := start(t, time.Minute)
	c := n.client(t)
	led := make(chan struct{})
	var terms atomic.Int32
	over := make(chan error)
	go func() {
		over <- c.Campaign(ctx, "leader", func(ctx context.Context) error {
			if terms.Add(1) == 2 {
				return errors.New("enough")
			}
			led <- struct{}{}
			<-ctx.Done()
			return ctx.Err()
		})
	}()
	<-led
	limited, cancel := context.WithCancel(ctx)
	other := make(chan error)
	go func() {
		other <- n.client(t).Campaign(limited, "leader", func(context.Context) error { return errors.New("never") })
	}()
	op := operator(t, srv)
	require.Eventually(t, func() bool { return len(op.Do("LOCK.WAITERS").Elems) > 0 }, 30*time.Second, time.Millisecond)
	cancel()
	require.ErrorIs(t, <-other, context.Canceled)
	op.Do("LOCK.FORCE", "leader")
	require.EqualError(t, <-over, "enough")
	require.Equal(t, int32(2), terms.Load())
}

// TestCampaignEndsAbnormally: a leader that panics or ends its goroutine leads no longer.
func TestCampaignEndsAbnormally(t *testing.T) {
	srv, n := start(t, time.Minute)
	c := n.client(t)
	op := operator(t, srv)
	for name, end := range map[string]func(){"panic": func() { panic("of the task") }, "Goexit": runtime.Goexit} {
		ended := make(chan any)
		go func() {
			var recovered any
			defer func() { ended <- recovered }()
			defer func() { recovered = recover() }()
			_ = c.Campaign(ctx, "leader", func(context.Context) error {
				end()
				return nil
			})
		}()
		recovered := <-ended
		if name == "panic" {
			require.Equal(t, "of the task", recovered, "the panic is the caller's")
		}
		require.EqualValues(t, 0, op.Do("EXISTS", "leader").Int, name)
	}
}

func TestLocker(t *testing.T) {
	srv, n := start(t, time.Minute)
	l := n.client(t).Locker(ctx, "k")
	count := 0
	var group sync.WaitGroup
	for range 5 {
		group.Go(func() {
			for range 5 {
				l.Lock()
				count++
				l.Unlock()
			}
		})
	}
	group.Wait()
	require.Equal(t, 25, count)
	l.Lock()
	operator(t, srv).Do("LOCK.FORCE", "k")
	require.Panics(t, l.Unlock)
}

func TestSale(t *testing.T) {
	srv, n := start(t, time.Minute)
	require.Equal(t, "+OK", operator(t, srv).Do("SECKILL.CREATE", "{10}", "STOCK", "4", "LIMIT", "3", "HOLD", "60000", "STREAM", "orders:{10}").String())
	sale := n.client(t).Sale("{10}")
	for range 2 {
		outcome, err := sale.Buy(ctx, "ann", "o1", 3)
		require.NoError(t, err)
		require.Equal(t, client.Sold, outcome)
	}
	outcome, err := sale.Buy(ctx, "ann", "o2")
	require.NoError(t, err)
	require.Equal(t, client.BoughtAlready, outcome)
	require.Equal(t, "bought already", outcome.String())
	for range 2 {
		done, err := sale.Cancel(ctx, "ann", "o1")
		require.NoError(t, err)
		require.True(t, done)
	}
	done, err := sale.Confirm(ctx, "ann", "o1")
	require.NoError(t, err)
	require.False(t, done)
	for i, expected := range []client.Outcome{client.Sold, client.SoldOut} {
		outcome, err = sale.Buy(ctx, "user"+strconv.Itoa(i), "order"+strconv.Itoa(i), 3)
		require.NoError(t, err)
		require.Equal(t, expected, outcome)
	}
	for range 2 {
		done, err = sale.Confirm(ctx, "user0", "order0")
		require.NoError(t, err)
		require.True(t, done)
	}
	for _, order := range []string{"order0", "none"} {
		done, err = sale.Cancel(ctx, "user0", order)
		require.NoError(t, err)
		require.False(t, done)
	}
	_, err = sale.Confirm(ctx, "user1", "order0")
	require.ErrorContains(t, err, "belongs to another user")
	_, err = n.client(t).Sale("{none}").Buy(ctx, "ann", "o1")
	require.ErrorContains(t, err, "no such seckill")
}

// TestSaleOverBrokenConnections: an order that is asked for until it is answered is sold once.
func TestSaleOverBrokenConnections(t *testing.T) {
	t.Parallel()
	srv, n := start(t, time.Minute)
	op := operator(t, srv)
	const workers, orders, stock = 8, 50, 250
	op.Do("SECKILL.CREATE", "10", "STOCK", strconv.Itoa(stock), "HOLD", "60000")
	sale := n.client(t).Sale("10")
	var sold, confirmed, broken atomic.Int32
	var group sync.WaitGroup
	for w := range workers {
		group.Go(func() {
			for i := range orders {
				if i%3 == 0 { // while the others ask
					broken.Add(int32(n.breakSome(0.5)))
				}
				user, order := fmt.Sprint("user-", w, "-", i), fmt.Sprint("order-", w, "-", i)
				outcome, err := sale.Buy(ctx, user, order)
				for ; err != nil; outcome, err = sale.Buy(ctx, user, order) {
				}
				if outcome != client.Sold {
					continue
				}
				sold.Add(1)
				done, err := sale.Confirm(ctx, user, order)
				for ; err != nil; done, err = sale.Confirm(ctx, user, order) {
				}
				if done {
					confirmed.Add(1)
				}
				if gone, err := sale.Cancel(ctx, user, order); err == nil && gone {
					t.Errorf("%s is confirmed, and cancelled", order)
				}
			}
		})
	}
	group.Wait()
	require.Greater(t, broken.Load(), int32(10))
	require.Equal(t, int32(stock), sold.Load())
	require.Equal(t, int32(stock), confirmed.Load(), "whatever was asked for twice")
	info := call.FieldsOf(op.Do("SECKILL.INFO", "10"))
	require.Equal(t, int64(0), info.Int("stock"))
	require.Equal(t, int64(stock), info.Int("confirmed"))
	t.Logf("%d connections were broken", broken.Load())
}

// answerAsRedis is a server that knows no native command, and answers OK to all others.
func answerAsRedis(nc net.Conn) {
	for in := bufio.NewReader(nc); ; {
		command, err := resp.ReadValue(in)
		if err != nil {
			return
		}
		name := strings.ToUpper(command.Elems[0].Str)
		reply := "+OK\r\n"
		switch {
		case name == "HELLO":
			reply = "%1\r\n$6\r\nserver\r\n$5\r\nredis\r\n"
		case strings.Contains(name, ".") || slices.Contains([]string{"LOCK", "UNLOCK", "MLOCK", "MUNLOCK", "RENEW", "GUARD", "SECKILL"}, name):
			reply = "-ERR unknown command '" + name + "', with args beginning with: \r\n"
		}
		_, _ = nc.Write([]byte(reply))
	}
}

// TestAnotherServer: a server without the native commands is recognized at once.
func TestAnotherServer(t *testing.T) {
	rdb := redis.NewClient(&redis.Options{Dialer: func(context.Context, string, string) (net.Conn, error) {
		near, far := net.Pipe()
		go answerAsRedis(far)
		return near, nil
	}})
	t.Cleanup(func() { _ = rdb.Close() })
	_, err := client.New(rdb)
	require.ErrorIs(t, err, client.ErrNotLockserver)
}
