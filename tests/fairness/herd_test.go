package fairness

import (
	"net"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/internal/resp"
)

// crowd is a number of waiters, and counts all bytes sent to them.
type crowd struct {
	conns   []net.Conn
	bytes   []atomic.Int64 // by waiter
	replies atomic.Int64   // reads that returned data
}

// gather makes n clients wait for the lock k, in order.
func gather(t *testing.T, r *running, n int) *crowd {
	t.Helper()
	c := &crowd{bytes: make([]atomic.Int64, n)}
	for i := range n {
		conn, err := r.dial()
		require.NoError(t, err)
		t.Cleanup(func() { _ = conn.Close() })
		_, err = conn.Write(resp.AppendCommand(nil, []byte("LOCK"), []byte("k"), []byte(strconv.Itoa(i)), []byte("PX"), []byte("60000"),
			[]byte("WAIT"), []byte("0")))
		require.NoError(t, err)
		c.conns = append(c.conns, conn)
		if i%50 == 0 { // the first of each fifty is in the queue before the others connect
			r.awaitWaiters(t, i+1)
		}
		go func() {
			buf := make([]byte, 4096)
			for {
				got, err := conn.Read(buf)
				if err != nil {
					return
				}
				c.bytes[i].Add(int64(got))
				c.replies.Add(1)
			}
		}()
	}
	r.awaitWaiters(t, n)
	return c
}

// answered returns the waiters that have got bytes.
func (c *crowd) answered() map[int]int64 {
	answered := map[int]int64{}
	for i := range c.bytes {
		if n := c.bytes[i].Load(); n > 0 {
			answered[i] = n
		}
	}
	return answered
}

// TestReleaseWakesOneOfAThousand: a thousand clients wait for one lock. A release sends one of them one
// reply, and the others nothing.
func TestReleaseWakesOneOfAThousand(t *testing.T) {
	onEveryTransport(t, func(t *testing.T, r *running) {
		const waiters, rounds = 1000, 8
		holder := r.connect(t)
		require.Positive(t, holder.Do("LOCK", "k", "holder", "PX", "60000").Int)
		c := gather(t, r, waiters)
		require.Empty(t, c.answered())
		const oneReply = int64(len(":1750000000000000\r\n"))
		require.EqualValues(t, 1, holder.Do("UNLOCK", "k", "holder").Int)
		for round := 1; round <= rounds; round++ {
			require.Eventually(t, func() bool { return len(c.answered()) >= round }, *patience, time.Millisecond)
			r.awaitWaiters(t, waiters-round)
			time.Sleep(soon)
			answered := c.answered()
			require.Len(t, answered, round, "after %d releases", round)
			require.EqualValues(t, round, c.replies.Load())
			for i, n := range answered {
				require.Equal(t, oneReply, n, "waiter %d", i)
			}
			require.EqualValues(t, 1, r.admin.Do("LOCK.FORCE", "k").Int)
		}
	})
}
