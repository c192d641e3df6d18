package client_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/client"
	"lockserver/server"
	"lockserver/tests/testkit"
)

// TestInspection: a lock is held, waited for, released by force, shared. The calls say so, and the holder
// hears of it.
func TestInspection(t *testing.T) {
	inBubble(t, func(t *testing.T, n *network, _ *client.Client, op *testkit.Client) {
		c, other := n.client(t, client.Name("one")), n.client(t, client.Name("other"))
		_, ok, err := c.Info(ctx, "k")
		require.NoError(t, err)
		require.False(t, ok)
		locked, err := c.Locked(ctx, "k")
		require.NoError(t, err)
		require.False(t, locked)
		done, err := c.ForceUnlock(ctx, "k")
		require.NoError(t, err)
		require.False(t, done)

		held, err := c.Lock(ctx, "k", client.Lease(30*time.Second))
		require.NoError(t, err)
		began := time.UnixMilli(time.Now().UnixMilli())
		came := lockLater(ctx, other, "k")
		synctest.Wait()
		time.Sleep(time.Second)
		locked, err = other.Locked(ctx, "k")
		require.NoError(t, err)
		require.True(t, locked)
		info, ok, err := other.Info(ctx, "k")
		require.NoError(t, err)
		require.True(t, ok)
		require.Equal(t, "lock", info.Mode)
		require.Len(t, info.Holders, 1)
		h := info.Holders[0]
		require.Contains(t, h.Client, "one:")
		h.Client = ""
		require.Equal(t, client.Holder{Owner: held.Owner(), Token: held.Token(), Holds: 1, Remaining: 29 * time.Second}, h)
		require.Len(t, info.Waiters, 1)
		require.Equal(t, began, info.Waiters[0].Since)
		require.Contains(t, info.Waiters[0].Owner, "other:")
		require.True(t, info.Waiters[0].Deadline.IsZero())

		done, err = c.ForceUnlock(ctx, "k")
		require.NoError(t, err)
		require.True(t, done)
		isLoss(t, ends(t, held), "k", held.Token(), "forced")
		next := <-came
		require.NoError(t, next.err)
		info, _, err = c.Info(ctx, "k")
		require.NoError(t, err)
		require.True(t, info.Holders[0].Renewed)
		require.NoError(t, next.Unlock(ctx))

		for _, by := range []*client.Client{c, other} {
			_, err = by.RLock(ctx, "k")
			require.NoError(t, err)
		}
		info, _, err = c.Info(ctx, "k")
		require.NoError(t, err)
		require.Equal(t, "shared", info.Mode)
		require.Len(t, info.Holders, 2)
		n.loseAnswer()
		done, err = c.ForceUnlock(ctx, "k")
		require.NoError(t, err)
		require.True(t, done)
		locked, err = c.Locked(ctx, "k")
		require.NoError(t, err)
		require.False(t, locked)
	})
}

// TestSemaphoreInfo: the permits of a semaphore, its holders and its waiters are seen.
func TestSemaphoreInfo(t *testing.T) {
	inBubble(t, func(t *testing.T, n *network, c *client.Client, op *testkit.Client) {
		s := c.Semaphore("s", 3)
		_, ok, err := s.Info(ctx)
		require.NoError(t, err)
		require.False(t, ok)
		two, err := s.Acquire(ctx, client.Permits(2))
		require.NoError(t, err)
		came := make(chan error, 1)
		go func() { came <- second(s.Acquire(ctx, client.Permits(3))) }()
		synctest.Wait()
		info, ok, err := s.Info(ctx)
		require.NoError(t, err)
		require.True(t, ok)
		require.Equal(t, []int{3, 1, 2}, []int{info.Limit, info.Available, info.Used})
		require.Equal(t, two.Owner(), info.Holders[0].Owner)
		require.Equal(t, 2, info.Holders[0].Holds)
		require.True(t, info.Holders[0].Renewed)
		require.Equal(t, 3, info.Waiters[0].Permits)
		lock, _, err := c.Info(ctx, "s")
		require.NoError(t, err)
		require.Equal(t, "semaphore", lock.Mode)
		require.Equal(t, 2, lock.Holders[0].Holds)
		require.NoError(t, two.Release(ctx))
		require.NoError(t, <-came)
	})
}

// TestRenew: a lease begins anew, on the server and here. A lock that is lost cannot be renewed.
func TestRenew(t *testing.T) {
	inBubble(t, func(t *testing.T, n *network, c *client.Client, op *testkit.Client) {
		l, err := c.Lock(ctx, "k", client.Lease(10*time.Second))
		require.NoError(t, err)
		many, err := c.MLock(ctx, []string{"a", "b"}, client.Lease(10*time.Second))
		require.NoError(t, err)
		p, err := c.Semaphore("s", 1).Acquire(ctx, client.Lease(10*time.Second))
		require.NoError(t, err)
		renewals := map[string]interface {
			Remaining() time.Duration
		}{"lock": l, "several": many, "permits": p}
		for range 3 {
			time.Sleep(9 * time.Second)
			for name, held := range renewals {
				require.LessOrEqual(t, held.Remaining(), time.Second, name)
				require.Positive(t, held.Remaining(), name)
			}
			require.NoError(t, l.Renew(ctx, 10*time.Second))
			require.NoError(t, many.Renew(ctx, 10*time.Second))
			require.NoError(t, p.Renew(ctx, 10*time.Second))
		}
		n.loseAnswer()
		require.NoError(t, l.Renew(ctx, time.Second), "it is sent again")
		for _, d := range []time.Duration{0, -1, time.Microsecond} {
			require.ErrorIs(t, l.Renew(ctx, d), client.ErrValue)
		}
		began := time.Now()
		isLoss(t, ends(t, l), "k", l.Token(), "expired")
		require.LessOrEqual(t, time.Since(began), time.Second)
		require.Zero(t, l.Remaining())
		require.ErrorIs(t, l.Renew(ctx, time.Second), client.ErrLost)
		op.Do("DEL", "a")
		synctest.Wait()
		require.ErrorIs(t, many.Renew(ctx, time.Second), client.ErrLost)
		require.NoError(t, p.Release(ctx))
		require.ErrorIs(t, p.Renew(ctx, time.Second), client.ErrReleased)
		require.Zero(t, p.Remaining())
	})
}

// TestRemaining: what is left of a lock is never more than the server says, whatever the way of the answers.
func TestRemaining(t *testing.T) {
	inBubble(t, func(t *testing.T, n *network, c *client.Client, op *testkit.Client) {
		l, err := c.Lock(ctx, "k")
		require.NoError(t, err)
		require.ErrorIs(t, l.Renew(ctx, time.Second), client.ErrValue, "the server renews it")
		n.delay(4 * time.Second) // what is sent arrives so much later
		for range 100 {
			time.Sleep(time.Second)
			remaining := l.Remaining()
			require.Positive(t, remaining)
			require.LessOrEqual(t, remaining, time.Duration(op.Do("PTTL", "k").Int)*time.Millisecond)
		}
		n.delay(0)
		time.Sleep(10 * time.Second)
		n.silence()
		time.Sleep(time.Second)
		remaining, began := l.Remaining(), time.Now()
		isLoss(t, ends(t, l), "k", l.Token(), "unreachable")
		require.InDelta(t, remaining, time.Since(began), float64(time.Second))
	})
}

// TestLimitChanges: programs with different limits share a semaphore while they are replaced one by one.
func TestLimitChanges(t *testing.T) {
	inBubble(t, func(t *testing.T, n *network, c *client.Client, op *testkit.Client) {
		early, late := n.client(t).Semaphore("s", 0).Initial(2), n.client(t).Semaphore("s", 0).Initial(3)
		var held []*client.Permit
		for _, s := range []client.Semaphore{early, late} {
			p, err := s.Acquire(ctx)
			require.NoError(t, err)
			held = append(held, p)
		}
		_, err := late.TryAcquire(ctx)
		require.ErrorIs(t, err, client.ErrNotAcquired, "the limit is that of the first")
		changed, err := late.Resize(ctx, 3)
		require.NoError(t, err)
		require.True(t, changed)
		p, err := early.TryAcquire(ctx)
		require.NoError(t, err)
		held = append(held, p)
		_, err = early.TryAcquire(ctx)
		require.ErrorIs(t, err, client.ErrNotAcquired)
		_, err = c.Semaphore("s", 2).TryAcquire(ctx)
		require.ErrorContains(t, err, "LIMITMISMATCH")
		for _, p := range held {
			require.NoError(t, p.Release(ctx))
		}
		for _, limit := range []int{0, -1} {
			_, err = c.Semaphore("s", 2).Initial(limit).TryAcquire(ctx)
			require.ErrorIs(t, err, client.ErrValue)
		}
		_, ok, err := early.Info(ctx)
		require.NoError(t, err)
		require.False(t, ok)
	})
}

// TestSaleCreate: a sale is made, over a lost answer too, and looked at. One that is there is left alone.
func TestSaleCreate(t *testing.T) {
	inBubble(t, func(t *testing.T, n *network, c *client.Client, op *testkit.Client) {
		s := c.Sale("shoe")
		_, ok, err := s.Info(ctx)
		require.NoError(t, err)
		require.False(t, ok)
		begin := time.UnixMilli(time.Now().UnixMilli())
		terms := client.Terms{Stock: 10, Start: begin, End: begin.Add(time.Hour), Limit: 2, Hold: 15 * time.Minute, Stream: "orders",
			Rate: client.Rate{Count: 1, Period: time.Second}, RateAll: true}
		n.loseAnswer()
		made, err := s.Create(ctx, terms)
		require.NoError(t, err)
		require.True(t, made)
		made, err = s.Create(ctx, terms)
		require.NoError(t, err)
		require.True(t, made, "the same sale")
		for _, change := range []func(t *client.Terms){
			func(t *client.Terms) { t.Stock++ }, func(t *client.Terms) { t.Limit++ }, func(t *client.Terms) { t.Hold += time.Second },
			func(t *client.Terms) { t.Stream = "others" }, func(t *client.Terms) { t.End = time.Time{} }, func(t *client.Terms) { t.Rate.Count++ },
			func(t *client.Terms) { t.RateAll = false },
		} {
			other := terms
			change(&other)
			made, err = s.Create(ctx, other)
			require.NoError(t, err)
			require.False(t, made)
		}
		outcome, err := s.Buy(ctx, "ann", "o1")
		require.NoError(t, err)
		require.Equal(t, client.Sold, outcome)
		outcome, err = s.Buy(ctx, "ben", "o2")
		require.NoError(t, err)
		require.Equal(t, client.TooFast, outcome)
		require.Equal(t, "too fast", outcome.String())
		info, ok, err := s.Info(ctx)
		require.NoError(t, err)
		require.True(t, ok)
		require.Equal(t, client.SaleInfo{State: "open", Stock: 9, Total: 10, Sold: 1, Held: 1, Buyers: 1, Start: begin, End: begin.Add(time.Hour), Limit: 2,
			Hold: 15 * time.Minute, Rate: client.Rate{Burst: 1, Count: 1, Period: time.Second}, RateAll: true, Stream: "orders", StreamLength: 1}, info)
		for _, wrong := range []client.Terms{{}, {Stock: -1}, {Stock: 5, Hold: time.Microsecond}, {Stock: 5, Hold: -1}, {Stock: 5, Limit: -1},
			{Stock: 5, Rate: client.Rate{Count: 1, Period: time.Second / 300}}, {Stock: 5, Rate: client.Rate{Count: 1}},
			{Stock: 5, Rate: client.Rate{Count: 1, Burst: -1, Period: time.Second}}} {
			_, err = s.Create(ctx, wrong)
			require.ErrorIs(t, err, client.ErrValue)
		}
		made, err = s.Create(ctx, client.Terms{Stock: 5, Replace: true})
		require.NoError(t, err)
		require.True(t, made)
		info, _, err = s.Info(ctx)
		require.NoError(t, err)
		require.Equal(t, 5, info.Stock)
	})
}

// TestDelayRepeated: calls with a lost answer are sent again, and done once, also when the entry has
// fallen due meanwhile.
func TestDelayRepeated(t *testing.T) {
	inBubble(t, func(t *testing.T, n *network, c *client.Client, op *testkit.Client) {
		d := c.Delay("mails")
		fault := func(command string) { op.Do("TEST.FAULT", "ADD", "DROPAFTER", "MATCH", command, "TIMES", "2") }
		fault("DELAY.ADD")
		id, added, err := d.Add(ctx, "", client.After(0), "to", "ann")
		require.NoError(t, err)
		require.True(t, added)
		require.NotEmpty(t, id)
		time.Sleep(time.Second)
		require.Equal(t, int64(1), op.Do("XLEN", "mails").Int)
		fault("DELAY.ADD")
		_, added, err = d.Add(ctx, "mine", client.After(0), "to", "ben")
		require.NoError(t, err)
		require.True(t, added)
		time.Sleep(time.Second)
		require.Equal(t, int64(2), op.Do("XLEN", "mails").Int)
		_, added, err = d.Add(ctx, "mine", client.After(time.Hour), "to", "ben")
		require.NoError(t, err)
		require.True(t, added, "another call: the id is free")
		_, added, err = d.Add(ctx, "mine", client.After(time.Hour), "to", "ben")
		require.NoError(t, err)
		require.False(t, added)
		fault("DELAY.MOVE")
		done, err := d.Move(ctx, "mine", client.After(0))
		require.NoError(t, err)
		require.True(t, done, "it has fallen due when it is sent again")
		_, added, err = d.Add(ctx, "mine", client.After(time.Hour), "to", "ben")
		require.NoError(t, err)
		require.True(t, added)
		fault("DELAY.CANCEL")
		done, err = d.Cancel(ctx, "mine")
		require.NoError(t, err)
		require.True(t, done)
		done, err = d.Cancel(ctx, "mine")
		require.NoError(t, err)
		require.False(t, done)
		require.Equal(t, int64(3), op.Do("XLEN", "mails").Int)
	}, testMode)
}

// TestTakeIsSentOnce: units are not taken twice when an answer is lost.
func TestTakeIsSentOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, n *network, c *client.Client, op *testkit.Client) {
		l := c.Limiter("api", client.Rate{Burst: 10, Count: 1, Period: time.Hour})
		n.loseAnswer()
		_, err := l.Take(ctx, 3)
		require.ErrorContains(t, err, "may have been done or not")
		time.Sleep(time.Second)
		a, err := l.Take(ctx, 0)
		require.NoError(t, err)
		require.Equal(t, 7, a.Remaining)
	})
}

// testMode lets a test lose the answers of a command.
func testMode(o *server.Options) { o.Directives["test-mode"] = "yes" }
