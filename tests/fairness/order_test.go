package fairness

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/internal/resp"
	"lockserver/tests/testkit"
)

// field returns a field of INFO.
func field(info, name string) string {
	_, rest, _ := strings.Cut(info, "\r\n"+name+":")
	value, _, _ := strings.Cut(rest, "\r\n")
	return value
}

// releases are the ways in which a lock becomes free. Each is done by its holder, c, or by another client
// with the right to do it.
var releases = []struct {
	name    string
	release func(t *testing.T, c *testkit.Client, owner string)
}{
	{"UNLOCK", func(t *testing.T, c *testkit.Client, owner string) {
		require.EqualValues(t, 1, c.Do("UNLOCK", "k", owner).Int)
	}},
	{"DEL", func(t *testing.T, c *testkit.Client, _ string) { require.EqualValues(t, 1, c.Do("DEL", "k").Int) }},
	{"LOCK.FORCE", func(t *testing.T, c *testkit.Client, _ string) {
		require.EqualValues(t, 1, c.Do("LOCK.FORCE", "k").Int)
	}},
	{"the lease ends", func(t *testing.T, c *testkit.Client, owner string) {
		require.EqualValues(t, 1, c.Do("RENEW", "k", owner, "PX", "2").Int)
	}},
	{"RENAME", func(t *testing.T, c *testkit.Client, owner string) {
		require.Equal(t, "OK", c.Do("RENAME", "k", "away:"+owner).Str)
	}},
	{"FLUSHALL", func(t *testing.T, c *testkit.Client, _ string) { require.Equal(t, "OK", c.Do("FLUSHALL").Str) }},
	{"MUNLOCK", func(t *testing.T, c *testkit.Client, owner string) {
		require.EqualValues(t, 1, c.Do("MUNLOCK", "1", "k", owner).Elems[0].Int)
	}},
}

// TestHundredWaitersGetItInOrder: a hundred clients queue for one lock, one after the other, some with MLOCK.
// They get it in that order, however it becomes free, and tokens rise along the queue. No other client gets
// in between, not even in the batch that frees the lock.
func TestHundredWaitersGetItInOrder(t *testing.T) {
	onEveryTransport(t, func(t *testing.T, r *running) {
		const waiters = 100
		holder := r.connect(t)
		last := holder.Do("LOCK", "k", "holder", "PX", "60000").Int
		require.Positive(t, last)
		queue := make([]*testkit.Client, waiters)
		for i := range queue {
			queue[i] = r.connect(t)
			if i%9 == 4 {
				queue[i].Send("MLOCK", "2", "k", "other:"+strconv.Itoa(i), strconv.Itoa(i), "PX", "60000", "WAIT", "0")
			} else {
				queue[i].Send("LOCK", "k", strconv.Itoa(i), "PX", "60000", "WAIT", "0")
			}
			r.awaitWaiters(t, i+1)
		}
		barging := holder.Pipeline([][]string{{"UNLOCK", "k", "holder"}, {"LOCK", "k", "barging"}, {"LOCK", "k", "holder"}})
		require.EqualValues(t, 1, barging[0].Int)
		require.True(t, barging[1].IsNull() && barging[2].IsNull(), "%v", barging)
		for i, c := range queue {
			token := tokenOf(c.Receive())
			require.Greater(t, token, last, "waiter %d", i)
			last = token
			r.awaitWaiters(t, waiters-1-i)
			require.True(t, r.admin.Do("LOCK", "k", "barging").IsNull(), "after waiter %d", i)
			releases[i%len(releases)].release(t, c, strconv.Itoa(i))
		}
	})
}

// tokenOf returns the token in a reply of LOCK, or the first token in a reply of MLOCK.
func tokenOf(v resp.Value) int64 {
	if v.Kind == resp.Array {
		return v.Elems[0].Int
	}
	return v.Int
}

// TestOrderOfThoseWhoStay: when waiters leave the queue, for any reason, the order of the others does not
// change.
func TestOrderOfThoseWhoStay(t *testing.T) {
	onEveryTransport(t, func(t *testing.T, r *running) {
		const waiters = 60
		holder := r.connect(t)
		require.Positive(t, holder.Do("LOCK", "k", "holder", "PX", "60000").Int)
		queue := make([]*testkit.Client, waiters)
		stays := waiters
		for i := range queue {
			queue[i] = r.connect(t)
			id := strconv.FormatInt(queue[i].Do("CLIENT", "ID").Int, 10)
			wait := "0"
			if i%4 == 1 {
				wait = "5"
			}
			queue[i].Send("LOCK", "k", strconv.Itoa(i), "PX", "60000", "WAIT", wait)
			switch i % 4 {
			case 1:
				require.True(t, queue[i].Receive().IsNull())
			case 2:
				r.awaitWaiters(t, len(staying(i))+1)
				queue[i].Close()
			case 3:
				r.awaitWaiters(t, len(staying(i))+1)
				r.admin.Do("CLIENT", "KILL", "ID", id)
			}
			stays = len(staying(i + 1))
			r.awaitWaiters(t, stays)
		}
		require.EqualValues(t, 1, holder.Do("UNLOCK", "k", "holder").Int)
		for n, i := range staying(waiters) {
			require.Positive(t, queue[i].Receive().Int)
			r.awaitWaiters(t, stays-1-n)
			require.EqualValues(t, 1, queue[i].Do("UNLOCK", "k", strconv.Itoa(i)).Int)
		}
	})
}

// staying returns those of the first n waiters that do not leave.
func staying(n int) (list []int) {
	for i := range n {
		if i%4 == 0 {
			list = append(list, i)
		}
	}
	return list
}

// soon is a time after which a wrong event would have happened.
const soon = 30 * time.Millisecond
