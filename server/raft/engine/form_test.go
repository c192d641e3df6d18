package engine

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/server/raft"
)

// TestFormingIsNoLostDisk: a member that is not called yet by the group that was formed with it waits, and
// does not take its disk for a lost one. A member with another disk than the group knows does.
func TestFormingIsNoLostDisk(t *testing.T) {
	for name, c := range map[string]struct {
		disk, says string
		grave      bool
	}{
		"formed": {"", "a has formed a group with this member (id g)", false},
		"lost":   {"before", "a (a:1) has the data of a group (id g). If this member's disk was lost", true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e, m := alone(), stuck{make(chan struct{}, 1), make(chan struct{})}
				close(m.let)
				var log bytes.Buffer
				o := &e.options
				o.ID, o.Peers, o.Log = "b", []raft.Peer{{ID: "a", Raft: "a:1", Client: "a:2"}, {ID: "b", Raft: "b:1", Client: "b:2"}}, slog.New(slog.NewTextHandler(&log, nil))
				o.Hello = func(context.Context, string) (Hello, error) {
					is := o.Identity.incarnation
					if c.disk != "" {
						is = c.disk
					}
					return Hello{Peer: o.Peers[0], Group: "g", Founders: o.Peers, Reported: true, Report: raft.Report{Addresses: []string{"a=a:1/a:2/x", "b=b:1/b:2/" + is}}}, nil
				}
				require.NoError(t, e.Open(m))
				for e.Status().Waiting == "" {
					time.Sleep(tendEvery)
				}
				require.Contains(t, e.Status().Waiting, c.says)
				require.NoError(t, e.Close())
				require.Equal(t, c.grave, strings.Contains(log.String(), "has the data of a group"))
			})
		})
	}
	called := heardOf{peer: raft.Peer{ID: "a", Raft: "a:1"}, Hello: Hello{Peer: raft.Peer{ID: "a"}, Group: "g", Empty: true}}
	require.Contains(t, called.unfit(nil), "has none of its data yet")
	called.err = io.EOF
	require.Contains(t, called.unfit(nil), "does not say who it is")
}

// TestClientAddressesAreLookedAt: the leader asks until a server has answered at an address, and not again.
func TestClientAddressesAreLookedAt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, m := alone(), stuck{make(chan struct{}, 1), make(chan struct{})}
		close(m.let)
		var asked, answers atomic.Int32
		var log bytes.Buffer
		e.options.Log = slog.New(slog.NewTextHandler(&log, nil))
		e.options.ReachClient = func(_ context.Context, at string) error {
			require.Equal(t, "a:2", at)
			if asked.Add(1); answers.Load() > 0 {
				return nil
			}
			return io.EOF
		}
		require.NoError(t, e.Open(m))
		for !e.Leads() {
			time.Sleep(time.Millisecond)
		}
		fault := func() string {
			time.Sleep(2 * surveyEvery)
			synctest.Wait()
			all := e.Status().Observed
			require.Len(t, all, 1)
			return all[0].ClientFault
		}
		require.Equal(t, "a:2: EOF", fault())
		require.Equal(t, 1, strings.Count(log.String(), "no server for clients answers at the client address of a member"))
		answers.Store(1)
		require.Empty(t, fault())
		before := asked.Load()
		require.Empty(t, fault())
		require.Equal(t, before, asked.Load())
		require.NoError(t, e.Close())
	})
}
