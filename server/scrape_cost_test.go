package server

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/tests/testkit"
)

// figuresLook returns how many locks one scrape looks at.
func figuresLook(srv *instance) int64 {
	looked := func() (n int64) {
		srv.executor.look(func() { n = srv.executor.Store.HeldLooked() })
		return n
	}
	before := looked()
	srv.Figures()
	return looked() - before
}

// TestScrapeLooksAtFewLocks: the figures of a scrape are counters, apart from the longest hold. The search
// for that looks at one group of keys, however many locks are held. When many locks were released since, it
// looks at a bounded number.
func TestScrapeLooksAtFewLocks(t *testing.T) {
	s := toNowhere(t)
	srv, isServer := s.executor.host.(*instance)
	require.True(t, isServer)
	var scratch batch
	held := 0
	many := testkit.Steps(20_000, 100_000)
	for _, locks := range []int{1_000, many} {
		for ; held < locks; held += 100 {
			var request []byte
			for i := range 100 {
				request = appendCommand(request, "LOCK", fmt.Sprint("order:", held+i), "worker", "PX", "3600000")
			}
			s.Feed(request, &scratch, nil)
		}
		require.Equal(t, held, s.executor.Store.DB(0).Keys().Holders())
		require.LessOrEqual(t, figuresLook(srv), int64(2*64), "of %d", locks) // INFO and the metric
	}
	for i := range many / 10 * 9 {
		s.Feed(appendCommand(nil, "UNLOCK", fmt.Sprint("order:", i), "worker"), &scratch, nil)
	}
	require.LessOrEqual(t, figuresLook(srv), int64(2*64*heldGroups))
}
