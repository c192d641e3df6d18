package raft

import (
	"bytes"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/server"
	"lockserver/server/raft"
)

// heldUntilClosed is an engine that gives its machine all entries when it is being closed.
type heldUntilClosed struct {
	held
	closing *sync.Once
}

// Close implements raft.Engine.
func (h heldUntilClosed) Close() error {
	h.closing.Do(func() { close(h.let) })
	return h.Engine.Close()
}

// TestEntriesWhileTheServerEnds: a member that ends does not apply entries that arrive at that moment. This
// is no fault: no message tells an operator to delete the member's data.
func TestEntriesWhileTheServerEnds(t *testing.T) {
	t.Parallel()
	l := &logs{of: map[string]*bytes.Buffer{}}
	g := prepare(t, 3, l.capture)
	g.wrap = func(id string, e raft.Engine) raft.Engine {
		if id == "c" {
			return heldUntilClosed{held{e, make(chan struct{})}, new(sync.Once)}
		}
		return e
	}
	for _, m := range g.all {
		m.start()
	}
	g.leader(g.all[:2]...)
	for range 10 {
		require.Equal(t, "OK", g.do("SET", "x", "1").Str)
	}
	last := g.all[2]
	eventually(t, "it has entries", func() bool { return last.number("raft_last_index") > 1 })
	require.NoError(t, last.srv.Shutdown(server.ShutdownOptions{}))
	require.Zero(t, l.count(last, "this member has stopped"))
}
