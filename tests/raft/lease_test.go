package raft

import (
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/server"
	"lockserver/server/raft/engine"
)

// TestReadsByLease: with raft-reads lease a read asks no other member, and returns all acknowledged writes.
// It waits for writes that are under way. A leader answers no client if the others have not answered it for
// as long as its lease. By default the others prove each read.
func TestReadsByLease(t *testing.T) {
	t.Parallel()
	for name, lease := range map[string]bool{"lease": true, "proved": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGroup(t, 3, func(_ *engine.Options, so *server.Options) { so.RaftOptions.LeaseReads = lease })
			old := g.doneBy("SET", "x", "old")
			require.Equal(t, "old", old.ask("GET", "x").Str)
			before := old.number("raft_read_proofs")
			const reads = 50
			for range reads {
				require.Equal(t, "old", old.ask("GET", "x").Str)
			}
			if asked := old.number("raft_read_proofs") - before; lease {
				require.Less(t, asked, reads/2, "nobody has to be asked") // but for questions like this one
			} else {
				require.GreaterOrEqual(t, asked, reads)
			}

			writes, c := old.dial(), old.dial()
			g.isolate(old, true)
			writes.Send("SET", "x", "lost")
			for {
				v, err := c.Call("GET", "x")
				if err != nil || v.IsError() {
					break
				}
				require.Equal(t, "old", v.Str, "what is on no other disk is not told")
			}
			g.leader(g.others(old)...)
			require.Equal(t, "OK", g.do("SET", "x", "new").Str)
			require.NotEqual(t, "old", old.ask("GET", "x").Str, "its lease is over")
			g.isolate(old, false)
			g.same()
		})
	}
}
