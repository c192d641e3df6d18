//go:build raft

package raft

import (
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/internal/testkit"
	"lockserver/server"
	"lockserver/server/raft/engine"
	"lockserver/server/topology"
)

// cluster is a client of a group that goes where it is sent.
type cluster struct {
	g    *group
	open map[string]*testkit.Client // by the address of the member
	at   string
}

// do runs a command, and returns its reply, or that the connection broke.
func (c *cluster) do(words ...string) (kind byte, text string) {
	for range 10 {
		if c.open[c.at] == nil {
			for _, m := range c.g.all {
				if m.peer.Client == c.at {
					c.open[c.at] = m.dial()
				}
			}
		}
		v, err := c.open[c.at].Call(words...)
		if err != nil {
			return '-', err.Error()
		}
		if v.Kind == '-' && strings.HasPrefix(v.Str, "MOVED ") {
			c.at = v.Str[strings.LastIndex(v.Str, " ")+1:]
			continue
		}
		return byte(v.Kind), v.Str
	}
	return '-', "it is sent on for ever"
}

// TestTransferLosesNoRequest: while the lead is handed on again and again, each request of clients of a
// cluster is answered, and no connection breaks.
func TestTransferLosesNoRequest(t *testing.T) {
	t.Parallel()
	g := newGroup(t, 3, func(eo *engine.Options, so *server.Options) {
		seenAs(topology.Cluster)(eo, so)
		eo.ElectionMS = 6000 // a busy machine elects no leader by itself
	})
	leader := g.leader()
	eventually(t, "it serves", func() bool { return leader.ask("SET", "x", "1").Str == "OK" })
	var stop atomic.Bool
	var requests, longestUS atomic.Int64
	var clients sync.WaitGroup
	for i := range 6 {
		clients.Go(func() {
			c := &cluster{g: g, open: map[string]*testkit.Client{}, at: leader.peer.Client}
			for n := 0; !stop.Load(); n++ {
				words := []string{"SET", "key" + strconv.Itoa(i), strconv.Itoa(n)}
				if n%2 == 1 {
					words = []string{"GET", "key" + strconv.Itoa(i)}
				}
				begun := time.Now()
				if kind, text := c.do(words...); kind == '-' {
					t.Errorf("%v is answered with %s", words, text)
					return
				}
				if us := time.Since(begun).Microseconds(); us > longestUS.Load() {
					longestUS.Store(us)
				}
				requests.Add(1)
			}
		})
	}
	for range 5 {
		before := requests.Load()
		eventually(t, "requests are answered", func() bool { return requests.Load() > before+50 || t.Failed() })
		old := g.leader()
		require.Equal(t, "OK", old.ask("RAFT", "TRANSFER").Str)
		require.NotEqual(t, old, g.leader())
	}
	stop.Store(true)
	clients.Wait()
	t.Logf("%d requests, of which the longest took %d microseconds", requests.Load(), longestUS.Load())
	g.same()
}
