package raft

import (
	"errors"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/server/raft"
)

// refusing is an engine that refuses some barriers, as the library does while it hands the lead on.
type refusing struct {
	raft.Engine
	left *atomic.Int64
}

func (r refusing) Barrier() error {
	if r.left.Add(-1) >= 0 {
		return errors.New("leadership transfer in progress")
	}
	return r.Engine.Barrier()
}

// TestLeaderIsRefusedABarrier: an elected member is asked to hand the lead on before it serves, and the hand-
// over fails. Then the member serves. Otherwise it would lead and serve no client until it dies.
func TestLeaderIsRefusedABarrier(t *testing.T) {
	t.Parallel()
	g := prepare(t, 3, nil)
	var left atomic.Int64
	left.Store(3)
	g.wrap = func(_ string, e raft.Engine) raft.Engine { return refusing{e, &left} }
	for _, m := range g.all {
		m.start()
	}
	require.Equal(t, "OK", g.do("SET", "x", "1").Str)
	require.Negative(t, left.Load(), "they were asked for")
}
