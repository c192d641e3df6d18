//go:build raft && unix

package raft

import (
	"cmp"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/tests/fleet"
	"lockserver/tests/testkit"
)

// probe measures the machine until the test ends. The file is beside those of the members.
func probe(t *testing.T, dir string) *machineProbe {
	file, err := os.Create(filepath.Join(dir, "probe"))
	require.NoError(t, err)
	p, stop := &machineProbe{}, make(chan struct{})
	var running sync.WaitGroup
	every := func(period time.Duration, do func(begun time.Time)) {
		running.Go(func() {
			for {
				begun := time.Now()
				select {
				case <-time.After(period):
					do(begun)
				case <-stop:
					return
				}
			}
		})
	}
	every(time.Millisecond, func(begun time.Time) { atLeast(&p.wakeUS, (time.Since(begun) - time.Millisecond).Microseconds()) })
	every(4*time.Millisecond, func(time.Time) {
		begun := time.Now()
		if _, err := file.WriteAt(make([]byte, 512), 0); err == nil && file.Sync() == nil {
			atLeast(&p.syncUS, time.Since(begun).Microseconds())
		}
	})
	t.Cleanup(func() {
		close(stop)
		running.Wait()
		_ = file.Close()
	})
	return p
}

// steps returns the lines about transfers of the members' logs, in order.
func steps(g *fleet.Group) (all []string) {
	for _, p := range g.Members {
		for line := range strings.Lines(p.Log()) {
			if strings.Contains(line, "the lead was handed on") {
				all = append(all, strings.TrimSpace(line))
			}
		}
	}
	slices.Sort(all) // each begins with its time
	return all
}

// TestTransfersOfProcesses is TestTransferLosesNoRequest with processes, disks and sockets. It prints how
// long a request waits at most: the goal is 100 ms. Of the longest waits it prints which step of the transfer
// took how long. It also prints how late the machine itself was: how much longer than its time a sleep was,
// and how long a sync took.
func TestTransfersOfProcesses(t *testing.T) {
	const clients, times = 16, 50
	program := testkit.Lockserver(t)
	g := fleet.Form(t, "raft-election-ms 3000\n", program, program, program)
	leader := g.AwaitLeader()
	require.Positive(t, leader.Try("LOCK", "door", "me", "PX", "600000", "ONCE").Int)
	l := &load{t: t, machine: probe(t, filepath.Dir(leader.Dir()))}
	l.begin(clients, leader.Addr(), func(address string) (*testkit.Client, error) {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			return nil, err
		}
		c := testkit.NewClient(t, conn)
		c.Timeout = patience
		return c, nil
	})
	l.transfers(clients, times, func() {
		old := g.Leader()
		g.Replace(old)
		require.NotEqual(t, old, g.Successor(old))
	})
	said := steps(g)
	require.Len(t, said, times)
	byWait := make([]int, times)
	for i := range byWait {
		byWait[i] = i
	}
	slices.SortFunc(byWait, func(a, b int) int { return cmp.Compare(l.costs[b].waitUS, l.costs[a].waitUS) })
	for _, i := range byWait[:5] {
		c := l.costs[i]
		t.Logf("%.1f ms, sent on %d times; a sleep was up to %.1f ms too long, a sync took up to %.1f ms: %s", inMS(c.waitUS), c.moved, inMS(c.wakeUS), inMS(c.syncUS), said[i])
	}
	g.Same(g.AwaitLeader())
	for _, p := range g.Members {
		require.Equal(t, "0", p.Field("raft_rebuilds"))
		require.Equal(t, "0", p.Field("raft_undone"))
	}
}

func inMS(us int64) float64 { return float64(us) / 1000 }
