//go:build raft && unix

package raft

import (
	"fmt"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/tests/fleet"
	"lockserver/tests/testkit"
)

// writers write until they are stopped, and then require all acknowledged writes.
type writers struct {
	stop   atomic.Bool
	acked  atomic.Int64
	fleet  sync.WaitGroup
	lookUp []func()
}

// begin starts clients, each with keys of its own. A request that is not acknowledged is sent again.
func (w *writers) begin(t *testing.T, count int, g *fleet.Group) {
	dial := func(address string) (*testkit.Client, error) {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			return nil, err
		}
		c := testkit.NewClient(t, conn)
		c.Timeout = patience
		return c, nil
	}
	for i := range count {
		c := &cluster{dial: dial, open: map[string]*testkit.Client{}, at: g.Members[i%len(g.Members)].Addr()}
		acked := int64(0)
		again := func(n int64, words ...string) (kind byte, text string) {
			for turn := n; ; turn++ {
				if kind, text, _ = c.do(words...); kind != '-' {
					return kind, text
				}
				c.close()
				time.Sleep(20 * time.Millisecond) // there may be no leader
				c.at = g.Members[turn%int64(len(g.Members))].Addr()
				if w.stop.Load() && words[0] == "SET" {
					return kind, text
				}
			}
		}
		w.fleet.Go(func() {
			for n := int64(1); !w.stop.Load(); n++ {
				if kind, text := again(n, "SET", fmt.Sprint("key", i, ":", n), strconv.FormatInt(n, 10)); kind != '-' {
					if text != "OK" {
						t.Errorf("SET is answered with %s", text)
						return
					}
					acked = n
					w.acked.Add(1)
				}
			}
		})
		w.lookUp = append(w.lookUp, func() {
			for n := int64(1); n <= acked; n++ {
				_, text := again(n, "GET", fmt.Sprint("key", i, ":", n))
				require.Equal(t, strconv.FormatInt(n, 10), text)
			}
			c.close()
		})
	}
}

// more waits until writes are acknowledged.
func (w *writers) more(t *testing.T) {
	t.Helper()
	before := w.acked.Load()
	eventually(t, "writes are acknowledged", func() bool { return w.acked.Load() > before+20 || t.Failed() })
}

// end stops the writers, and looks for what was acknowledged.
func (w *writers) end(t *testing.T) {
	t.Helper()
	w.stop.Store(true)
	w.fleet.Wait()
	for _, look := range w.lookUp {
		look()
	}
	t.Logf("%d acknowledged writes", w.acked.Load())
}
