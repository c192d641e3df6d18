package client_test

import (
	"context"
	"fmt"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/client"
	"lockserver/internal/testkit"
)

// use gives a bad value to a call.
type use func(c *client.Client, held *client.Lock) error

// second is the error of a call with two results.
func second[T any](_ T, err error) error { return err }

// third is the error of a call with three results.
func third[T, U any](_ T, _ U, err error) error { return err }

// badValues are calls that are refused, by what is wrong with them.
func badValues() map[string]use {
	calls := map[string]use{
		"MLock no keys":        func(c *client.Client, _ *client.Lock) error { return second(c.MLock(ctx, nil)) },
		"MLock an empty key":   func(c *client.Client, _ *client.Lock) error { return second(c.MLock(ctx, []string{"a", ""})) },
		"Lock Permits(1)":      func(c *client.Client, _ *client.Lock) error { return second(c.Lock(ctx, "k", client.Permits(1))) },
		"Lock Permits(0)":      func(c *client.Client, _ *client.Lock) error { return second(c.Lock(ctx, "k", client.Permits(0))) },
		"Campaign no function": func(c *client.Client, _ *client.Lock) error { return c.Campaign(ctx, "k", nil) },
		"Guard no command":     func(_ *client.Client, l *client.Lock) error { return second(l.Guard(ctx)) },
		"Guard nil":            func(_ *client.Client, l *client.Lock) error { return second(l.Guard(ctx, "SET", "data", nil)) },
		"Acquire 3 permits of 2": func(c *client.Client, _ *client.Lock) error {
			return second(c.Semaphore("s", 2).Acquire(ctx, client.Permits(3)))
		},
		"Semaphore -1": func(c *client.Client, _ *client.Lock) error { return second(c.Semaphore("s", -1).Acquire(ctx)) },
		"Take a cost above the burst": func(c *client.Client, _ *client.Lock) error {
			return second(c.Limiter("l", client.Rate{Burst: 2, Count: 1, Period: time.Second}).Take(ctx, 3))
		},
		"Take two costs": func(c *client.Client, _ *client.Lock) error {
			return second(c.Limiter("l", client.Rate{Burst: 2, Count: 1, Period: time.Second}).Take(ctx, math.MaxInt, math.MaxInt))
		},
		"Buy two numbers": func(c *client.Client, _ *client.Lock) error { return second(c.Sale("v").Buy(ctx, "u", "o", 1, 1)) },
		"Down two numbers": func(c *client.Client, _ *client.Lock) error {
			return second(c.Latch("l").Down(ctx, math.MaxInt, math.MaxInt))
		},
		"Add no fields": func(c *client.Client, _ *client.Lock) error {
			return third(c.Delay("d").Add(ctx, "i", client.After(0)))
		},
		"Add half a pair": func(c *client.Client, _ *client.Lock) error {
			return third(c.Delay("d").Add(ctx, "i", client.After(0), "a"))
		},
		"List a count of -1": func(c *client.Client, _ *client.Lock) error { return second(c.Delay("d").List(ctx, time.Time{}, -1)) },
		"List a year that is not known": func(c *client.Client, _ *client.Lock) error {
			return second(c.Delay("d").List(ctx, time.Unix(math.MaxInt64/2, 0), 1))
		},
	}
	for _, d := range []time.Duration{0, -1, time.Microsecond, math.MinInt64} {
		calls["Lease "+d.String()] = func(c *client.Client, _ *client.Lock) error { return second(c.Lock(ctx, "k", client.Lease(d))) }
		calls["TryLock: Lease "+d.String()] = func(c *client.Client, _ *client.Lock) error { return second(c.TryLock(ctx, "k", client.Lease(d))) }
		calls["Acquire: Lease "+d.String()] = func(c *client.Client, _ *client.Lock) error {
			return second(c.Semaphore("s", 1).Acquire(ctx, client.Lease(d)))
		}
	}
	for _, d := range []time.Duration{0, -time.Second, time.Microsecond, time.Second / 300, time.Second + 1} {
		l := client.Rate{Burst: 1, Count: 1, Period: d}
		calls["Take: a period of "+d.String()] = func(c *client.Client, _ *client.Lock) error { return second(c.Limiter("l", l).Take(ctx)) }
		calls["Wait: a period of "+d.String()] = func(c *client.Client, _ *client.Lock) error { return second(c.Limiter("l", l).Wait(ctx)) }
	}
	for name, due := range map[string]client.Due{
		"none": {}, "After(-1)": client.After(-1), "After(min)": client.After(math.MinInt64), "At(zero)": client.At(time.Time{}),
		"At(max)": client.At(time.Unix(math.MaxInt64/2, 0)), "At(min)": client.At(time.Unix(math.MinInt64/2, 0)),
	} {
		calls["Add "+name] = func(c *client.Client, _ *client.Lock) error { return third(c.Delay("d").Add(ctx, "i", due, "a", "b")) }
		calls["Move "+name] = func(c *client.Client, _ *client.Lock) error { return second(c.Delay("d").Move(ctx, "i", due)) }
	}
	for _, n := range []int{0, -1} {
		name := fmt.Sprint(" ", n)
		calls["Permits"+name] = func(c *client.Client, _ *client.Lock) error {
			return second(c.Semaphore("s", 1).Acquire(ctx, client.Permits(n)))
		}
		calls["Resize"+name] = func(c *client.Client, _ *client.Lock) error { return second(c.Semaphore("s", 1).Resize(ctx, n)) }
		calls["Set"+name] = func(c *client.Client, _ *client.Lock) error { return second(c.Latch("l").Set(ctx, n)) }
		calls["Down"+name] = func(c *client.Client, _ *client.Lock) error { return second(c.Latch("l").Down(ctx, n)) }
		calls["Buy"+name] = func(c *client.Client, _ *client.Lock) error { return second(c.Sale("v").Buy(ctx, "u", "o", n)) }
		calls["Burst"+name] = func(c *client.Client, _ *client.Lock) error {
			return second(c.Limiter("l", client.Rate{Burst: n, Count: 1, Period: time.Second}).Take(ctx))
		}
		calls["Count"+name] = func(c *client.Client, _ *client.Lock) error {
			return second(c.Limiter("l", client.Rate{Burst: 1, Count: n, Period: time.Second}).Take(ctx))
		}
	}
	calls["Take -1"] = func(c *client.Client, _ *client.Lock) error {
		return second(c.Limiter("l", client.Rate{Burst: 1, Count: 1, Period: time.Second}).Take(ctx, -1))
	}
	for what, call := range emptyNames() {
		calls[what+" of an empty name"] = call
	}
	return calls
}

// emptyNames are calls with an empty key or id.
func emptyNames() map[string]use {
	rate := client.Rate{Burst: 1, Count: 1, Period: time.Second}
	return map[string]use{
		"Lock":    func(c *client.Client, _ *client.Lock) error { return second(c.Lock(ctx, "")) },
		"TryLock": func(c *client.Client, _ *client.Lock) error { return second(c.TryLock(ctx, "")) },
		"RLock":   func(c *client.Client, _ *client.Lock) error { return second(c.RLock(ctx, "")) },
		"Campaign": func(c *client.Client, _ *client.Lock) error {
			return c.Campaign(ctx, "", func(context.Context) error { return nil })
		},
		"Acquire":       func(c *client.Client, _ *client.Lock) error { return second(c.Semaphore("", 1).Acquire(ctx)) },
		"Resize":        func(c *client.Client, _ *client.Lock) error { return second(c.Semaphore("", 1).Resize(ctx, 1)) },
		"Set":           func(c *client.Client, _ *client.Lock) error { return second(c.Latch("").Set(ctx, 1)) },
		"Count":         func(c *client.Client, _ *client.Lock) error { return second(c.Latch("").Count(ctx)) },
		"Down":          func(c *client.Client, _ *client.Lock) error { return second(c.Latch("").Down(ctx)) },
		"Latch.Wait":    func(c *client.Client, _ *client.Lock) error { return c.Latch("").Wait(ctx) },
		"Take":          func(c *client.Client, _ *client.Lock) error { return second(c.Limiter("", rate).Take(ctx)) },
		"Limiter.Wait":  func(c *client.Client, _ *client.Lock) error { return second(c.Limiter("", rate).Wait(ctx)) },
		"Buy voucher":   func(c *client.Client, _ *client.Lock) error { return second(c.Sale("").Buy(ctx, "u", "o")) },
		"Buy user":      func(c *client.Client, _ *client.Lock) error { return second(c.Sale("v").Buy(ctx, "", "o")) },
		"Buy order":     func(c *client.Client, _ *client.Lock) error { return second(c.Sale("v").Buy(ctx, "u", "")) },
		"Confirm order": func(c *client.Client, _ *client.Lock) error { return second(c.Sale("v").Confirm(ctx, "u", "")) },
		"Sale.Cancel":   func(c *client.Client, _ *client.Lock) error { return second(c.Sale("v").Cancel(ctx, "", "o")) },
		"Add": func(c *client.Client, _ *client.Lock) error {
			return third(c.Delay("").Add(ctx, "i", client.After(0), "a", "b"))
		},
		"Delay.Cancel": func(c *client.Client, _ *client.Lock) error { return second(c.Delay("d").Cancel(ctx, "")) },
		"Move": func(c *client.Client, _ *client.Lock) error {
			return second(c.Delay("d").Move(ctx, "", client.After(0)))
		},
		"Get":            func(c *client.Client, _ *client.Lock) error { return third(c.Delay("d").Get(ctx, "")) },
		"List":           func(c *client.Client, _ *client.Lock) error { return second(c.Delay("").List(ctx, time.Time{}, 0)) },
		"Count a stream": func(c *client.Client, _ *client.Lock) error { return second(c.Delay("").Count(ctx)) },
	}
}

// TestBadValues: a value that cannot be is refused by the call that it is given to. Nothing changes, and the
// client goes on.
func TestBadValues(t *testing.T) {
	inBubble(t, func(t *testing.T, n *network, c *client.Client, op *testkit.Client) {
		held, err := c.Lock(ctx, "held")
		require.NoError(t, err)
		for what, call := range badValues() {
			require.ErrorIs(t, call(c, held), client.ErrValue, what)
		}
		require.Equal(t, int64(1), op.Do("DBSIZE").Int)
		require.NoError(t, held.Unlock(ctx))
		for _, setting := range []client.Setting{client.Timeout(0), client.Timeout(-1), client.Name("")} {
			_, err = client.New(n.library(t), setting)
			require.ErrorIs(t, err, client.ErrValue)
		}
		for _, err := range []error{second(client.New(nil)), second(client.NewCluster(nil)), second(client.NewWith(nil))} {
			require.ErrorIs(t, err, client.ErrValue)
		}
	})
}

// TestExtremeValues: very long times are what they say, and not times that have passed.
func TestExtremeValues(t *testing.T) {
	inBubble(t, func(t *testing.T, n *network, _ *client.Client, op *testkit.Client) {
		c := n.client(t, client.Timeout(math.MaxInt64))
		held, err := c.Lock(ctx, "k", client.Lease(math.MaxInt64))
		require.NoError(t, err)
		came := make(chan error, 4)
		for _, call := range []func() error{
			func() error {
				l, err := c.Lock(ctx, "k", client.Wait(math.MaxInt64))
				if err == nil {
					err = l.Unlock(ctx)
				}
				return err
			},
			func() error {
				limited, cancel := context.WithDeadline(ctx, time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC))
				defer cancel()
				l, err := c.Lock(limited, "k")
				if err == nil {
					err = l.Unlock(ctx)
				}
				return err
			},
			func() error { return c.Latch("latch").Wait(ctx) },
		} {
			op.Do("LATCH.SET", "latch", "1")
			go func() { came <- call() }()
		}
		_, added, err := c.Delay("d").Add(ctx, "i", client.After(math.MaxInt64), "a", "b")
		require.NoError(t, err)
		require.True(t, added)
		_, added, err = c.Delay("d").Add(ctx, "j", client.At(time.Date(1, 1, 1, 0, 0, 1, 0, time.UTC)), "a", "b")
		require.NoError(t, err)
		require.True(t, added)
		time.Sleep(24 * time.Hour)
		synctest.Wait()
		require.Empty(t, came, "they wait")
		require.NoError(t, held.Context().Err())
		require.Equal(t, int64(1), op.Do("XLEN", "d").Int, "the one that was past")
		require.Equal(t, int64(1), op.Do("DELAY.COUNT", "d").Int)
		op.Do("LATCH.DOWN", "latch")
		require.NoError(t, held.Unlock(ctx))
		for range 3 {
			require.NoError(t, <-came)
		}
		l, err := c.Lock(ctx, "k", client.Lease(1999*time.Microsecond))
		require.NoError(t, err)
		began := time.Now()
		isLoss(t, ends(t, l), "k", l.Token(), "expired")
		require.LessOrEqual(t, time.Since(began), time.Millisecond, "no later than on the server")
	})
}
