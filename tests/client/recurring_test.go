package client_test

import (
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/client"
	"lockserver/tests/testkit"
)

// TestRecurring: a recurring entry is due at each time of its rule, and says for which time.
func TestRecurring(t *testing.T) {
	inBubble(t, func(t *testing.T, n *network, c *client.Client, op *testkit.Client) {
		d := c.Delay("reports")
		second := time.UnixMilli(time.Now().UnixMilli())
		until := second.Add(24 * time.Hour)
		minutes := client.Rule{First: client.At(second.Add(time.Hour)), Every: time.Minute, Times: 3, Until: until, Missed: client.MissedAll}
		for i := range 2 {
			n.loseAnswer()
			id, added, err := d.AddRecurring(ctx, "beat", minutes, "kind", "beat")
			require.NoError(t, err)
			require.Equal(t, "beat", id)
			require.Equal(t, i == 0, added)
		}
		e, ok, err := d.Get(ctx, "beat")
		require.NoError(t, err)
		require.True(t, ok)
		beat := client.Pending{ID: "beat", Due: second.Add(time.Hour), Fields: []string{"kind", "beat"},
			Rule: &client.Rule{Every: time.Minute, Times: 3, Until: time.UnixMilli(until.UnixMilli()), Missed: client.MissedAll}}
		require.Equal(t, beat, e)

		id, added, err := d.AddRecurring(ctx, "", client.Rule{Cron: "0 9 * * 1-5", Zone: "Europe/Berlin", Missed: client.MissedSkip}, "kind", "daily")
		require.NoError(t, err)
		require.True(t, added)
		list, err := d.List(ctx, time.Time{}, 0)
		require.NoError(t, err)
		require.Len(t, list, 2)
		require.Equal(t, beat, list[0])
		berlin, err := time.LoadLocation("Europe/Berlin")
		require.NoError(t, err)
		require.Equal(t, 9, list[1].Due.In(berlin).Hour())
		require.Equal(t, &client.Rule{Cron: "0 9 * * 1-5", Zone: "Europe/Berlin", Missed: client.MissedSkip}, list[1].Rule)
		done, err := d.Cancel(ctx, id)
		require.NoError(t, err)
		require.True(t, done)

		time.Sleep(time.Hour + time.Minute)
		e, _, err = d.Get(ctx, "beat")
		require.NoError(t, err)
		require.Equal(t, second.Add(time.Hour+2*time.Minute), e.Due)
		require.Equal(t, 1, e.Rule.Times)
		time.Sleep(time.Hour)
		_, ok, err = d.Get(ctx, "beat")
		require.NoError(t, err)
		require.False(t, ok, "the rule has ended")
		require.Equal(t, int64(3), op.Do("XLEN", "reports").Int)
		for i, each := range op.Do("XRANGE", "reports", "-", "+").Elems {
			fields := each.Elems[1].Elems
			require.Equal(t, client.DueField, fields[2].Str)
			require.Equal(t, strconv.FormatInt(second.Add(time.Hour+time.Duration(i)*time.Minute).UnixMilli(), 10), fields[3].Str)
		}

		_, added, err = d.AddRecurring(ctx, "hourly", client.Rule{Every: time.Hour}, "kind", "hourly")
		require.NoError(t, err)
		require.True(t, added)
		e, _, err = d.Get(ctx, "hourly")
		require.NoError(t, err)
		require.WithinDuration(t, time.Now().Add(time.Hour), e.Due, time.Millisecond, "one interval from now")
		require.Equal(t, client.MissedOnce, e.Rule.Missed)
		for what, rule := range map[string]client.Rule{"CRON": {Cron: "61 * * * *"}, "zone": {Cron: "0 9 * * *", Zone: "Berlin"}, "never": {Every: time.Hour, Until: time.UnixMilli(1)}} {
			_, _, err = d.AddRecurring(ctx, "wrong", rule, "a", "b")
			var refused client.ReplyError
			require.ErrorAs(t, err, &refused, what)
			require.ErrorContains(t, err, what)
		}
		count, err := d.Count(ctx)
		require.NoError(t, err)
		require.Equal(t, 1, count)
	})
}

// TestEntryDue: the time of a run is read from the last field alone, because the server adds that field.
func TestEntryDue(t *testing.T) {
	at, recurring := client.Entry{Fields: []string{"a", "b", client.DueField, "1500"}}.Due()
	require.True(t, recurring)
	require.Equal(t, time.UnixMilli(1500), at)
	for _, fields := range [][]string{nil, {"a", "1500"}, {client.DueField, "1500", "a", "b"}, {client.DueField, "soon"}} {
		_, recurring := client.Entry{Fields: fields}.Due()
		require.False(t, recurring, "%q", fields)
	}
}

// TestPriority: the waiting call with the highest priority is served first. Locks of one key and of
// several, and permits have priorities. A broken connection changes no priority.
func TestPriority(t *testing.T) {
	inBubble(t, func(t *testing.T, n *network, c *client.Client, op *testkit.Client) {
		held, err := c.MLock(ctx, []string{"k", "other"})
		require.NoError(t, err)
		permit, err := c.Semaphore("permits", 1).Acquire(ctx)
		require.NoError(t, err)
		came := make(chan string, 8)
		var calls sync.WaitGroup
		wait := func(name string, option client.Option) {
			l, err := c.Lock(ctx, "k", option)
			require.NoError(t, err)
			came <- name
			require.NoError(t, l.Unlock(ctx))
		}
		calls.Go(func() { wait("0", client.Priority(0)) })
		synctest.Wait()
		calls.Go(func() { wait("2", client.Priority(2)) })
		synctest.Wait()
		calls.Go(func() {
			l, err := c.MLock(ctx, []string{"k", "other"}, client.Priority(client.MaxPriority), client.Wait(time.Hour))
			require.NoError(t, err)
			came <- "9"
			require.NoError(t, l.Unlock(ctx))
		})
		synctest.Wait()
		calls.Go(func() { wait("2 again", client.Priority(2)) })
		synctest.Wait()
		n.breakSome(1)
		time.Sleep(time.Second)
		info, ok, err := c.Info(ctx, "k")
		require.NoError(t, err)
		require.True(t, ok)
		var priorities []int
		for _, w := range info.Waiters {
			priorities = append(priorities, w.Priority)
		}
		require.Equal(t, []int{9, 2, 2, 0}, priorities)
		require.NoError(t, held.Unlock(ctx))
		for _, name := range []string{"9", "2", "2 again", "0"} {
			require.Equal(t, name, <-came)
		}

		for i := range 2 {
			calls.Go(func() {
				p, err := c.Semaphore("permits", 1).Acquire(ctx, client.Priority(i))
				require.NoError(t, err)
				came <- strconv.Itoa(i)
				require.NoError(t, p.Release(ctx))
			})
			synctest.Wait()
		}
		_, err = c.TryLock(ctx, "k", client.Priority(5))
		require.NoError(t, err, "a call that does not wait may have a priority")
		require.NoError(t, permit.Release(ctx))
		require.Equal(t, "1", <-came)
		require.Equal(t, "0", <-came)
		calls.Wait()
	})
}
