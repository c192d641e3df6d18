//go:build oracle

package shards

import (
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/keyslot"
	"lockserver/tests/testkit"
)

// keyOf returns a key of a shard.
func keyOf(shard int, name string) string {
	for i := 0; ; i++ {
		if tag := fmt.Sprint(name, i); int(keyslot.Of([]byte(tag)))*count/16384 == shard {
			return "{" + tag + "}"
		}
	}
}

// written is what a shard has acknowledged.
type written struct {
	key     string
	added   int64 // INCR
	token   int64 // the last one of LOCK
	ordered int64 // SECKILL
}

// write adds, locks and buys at a shard until its connection breaks.
func (w *written) write(c *testkit.Client, all *atomic.Int64) {
	for {
		v, err := c.Call("INCR", w.key)
		if err != nil || v.IsError() {
			return
		}
		w.added = v.Int
		all.Add(1)
		if v, err = c.Call("LOCK", w.key+":lock", "ann", "PX", "1000000"); err != nil || v.IsError() {
			return
		}
		w.token = v.Int
		if v, err = c.Call("UNLOCK", w.key+":lock", "ann", "TOKEN", strconv.FormatInt(w.token, 10)); err != nil || v.IsError() {
			return
		}
		if v, err = c.Call("SECKILL", w.key, fmt.Sprint("user-", w.added), fmt.Sprint("order-", w.added)); err != nil || v.IsError() {
			return
		}
		w.ordered++
	}
}

// The process is killed while all shards write, with a log that is on disk before each reply. When it is
// started again each shard has what it has acknowledged, and the tokens of its locks go on rising.
func TestKilled(t *testing.T) {
	dir := t.TempDir()
	args := []string{"--shards", strconv.Itoa(count), "--dir", dir, "--appendonly", "yes", "--appendfsync", "always", "--save", ""}
	var shards [count]written
	for i := range shards {
		shards[i].key = keyOf(i, "n")
	}
	for round := range testkit.Steps(3, 60) {
		p := testkit.StartLockserver(t, dir, args...)
		addrs := shardsAt(t, p.Address())
		var all atomic.Int64
		var writing sync.WaitGroup
		for i := range shards {
			w, c := &shards[i], dial(t, addrs[i])
			if round == 0 {
				require.Equal(t, "+OK", c.Do("SECKILL.CREATE", w.key, "STOCK", "1000000", "STREAM", "orders:"+w.key).String())
			}
			found := c.Do("GET", w.key)
			if round > 0 {
				n, err := strconv.ParseInt("0"+found.Str, 10, 64) // a shard may have written nothing before the first kill
				require.NoError(t, err)
				require.GreaterOrEqual(t, n, w.added, "shard %d lost what it has acknowledged", i)
				require.LessOrEqual(t, n, w.added+1, "at most one command was not answered")
				orders := c.Do("XLEN", "orders:"+w.key).Int
				require.GreaterOrEqual(t, orders, w.ordered)
				require.LessOrEqual(t, orders, w.ordered+1)
				w.ordered = orders
				c.Do("UNLOCK", w.key+":lock", "ann")
				token := c.Do("LOCK", w.key+":lock", "ben", "PX", "1000000").Int
				require.Greater(t, token, w.token, "tokens rise over a crash")
				c.Do("UNLOCK", w.key+":lock", "ben")
			}
			writing.Go(func() { w.write(c, &all) })
		}
		for enough := int64(50 * (round%4 + 1)); all.Load() < enough; {
			addr := addrs[round%count] // each question takes its turn among the writers
			c := dial(t, addr)
			c.Do("PING")
			c.Close()
		}
		p.Kill()
		writing.Wait()
	}
}
