package raft

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestLimitersOverLeaders: a client takes from a limiter as fast as it can while one leader after the other
// is cut off. It gets no more units in all than the rate allows, and an idle limiter leaves no key.
func TestLimitersOverLeaders(t *testing.T) {
	t.Parallel()
	g := newGroup(t, 3, nil)
	const burst, perSecond = 5, 50
	g.leader()
	allowed, began := 0, time.Now()
	for range 3 {
		leader := g.leader()
		c := leader.dial()
		for of := 0; of < 2*burst; { // the burst, and some that had to be waited for
			v, err := c.Call("LIMIT.TAKE", "k", fmt.Sprint(burst), fmt.Sprint(perSecond), "1000", "WAIT", "1000")
			if err != nil || v.IsError() { // another leader
				leader = g.leader()
				c = leader.dial()
				continue
			}
			if v.Elems[0].Int == 1 {
				allowed++
				of++
			}
		}
		g.isolate(leader, true)
		g.leader(g.others(leader)...)
		g.isolate(leader, false)
	}
	most := burst + time.Since(began).Seconds()*perSecond
	require.LessOrEqual(t, float64(allowed), most)
	eventually(t, "the limiter is full", func() bool { return g.do("EXISTS", "k").Int == 0 })
	g.same()
}
