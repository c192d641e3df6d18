//go:build raft

package raft

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/server/topology"
	"lockserver/tests/testkit"
)

// endingWaits is the number of waits of a connection that end. One slice of work ends fewer.
const endingWaits = 600

// TestQueuedWaitsEndWithTheLead: a leader loses its lead, and ends each wait with NOTIFY for locks of all
// kinds and for semaphores. It hands the lead on or is cut off, in some runs after a grant that is not
// committed. No wait is left without an answer: its client gets exactly one outcome, or its connection is
// closed. The keys have no deadlines, so the new leader changes none of them. Thus the change of leaders
// itself must end the waits.
func TestQueuedWaitsEndWithTheLead(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"hand-over", "cut-off", "cut-off-before-the-commit"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			endQueuedWaits(t, way)
		})
	}
}

// queuedClients are clients with waits at one leader.
type queuedClients struct {
	asks     *testkit.Client // is attached to nothing
	attached *testkit.Client // is attached to its owners by a prefix
	listens  *testkit.Client // has version 2 of the protocol, and subscribes to the channel of an owner
	waits    map[string]bool // of asks: the refusals that it expects
}

func endQueuedWaits(t *testing.T, way string) {
	g := newSteady(t, 3, seenAs(topology.Cluster)) // its clients keep their connections
	leader := g.leader()
	eventually(t, "the leader knows that it leads", func() bool { return leader.ask("SEM.ACQUIRE", "sem", "holder", "LIMIT", "1", "ONCE").Kind == ':' })
	c := queueAt(t, leader)
	switch way {
	case "hand-over":
		require.Equal(t, "+OK", leader.ask("RAFT", "TRANSFER").String())
	case "cut-off":
		g.isolate(leader, true)
	default:
		g.isolate(leader, true)
		gives := leader.dial()
		t.Cleanup(gives.Close)
		gives.Send("HDEL", "{k}0", "holder")
	}

	c.noneIsSilent(t, way == "cut-off-before-the-commit")
	next := g.leader(g.others(leader)...)
	for _, m := range []*member{leader, next} {
		eventually(t, "no wait is left", func() bool { return m.info("locks", "lock_waiters_notify") == "0" })
	}
}

// queueAt lets clients ask for locks that are held, and for permits that are in use.
func queueAt(t *testing.T, leader *member) *queuedClients {
	connect := func(proto int) *testkit.Client {
		client := leader.dial()
		t.Cleanup(client.Close)
		if proto == 3 {
			client.Hello(3)
		}
		return client
	}
	c := &queuedClients{connect(3), connect(3), connect(2), map[string]bool{}}
	require.Equal(t, "0", c.attached.Do("LOCK.ATTACH", "PREFIX", "program1").String())
	c.listens.Do("SUBSCRIBE", "__lock__:o0")
	queue := func(client *testkit.Client, all [][]string) {
		for _, v := range client.Pipeline(all) {
			require.Equal(t, "+QUEUED", v.String())
		}
	}
	refused := func(key, owner string) { c.waits[fmt.Sprintf(`>["lock-refused" %s "failover" %q]`, key, owner)] = true }
	var hold, ask, askToo [][]string
	for i := range endingWaits {
		key, owner := fmt.Sprint("{k}", i), fmt.Sprint("o", i)
		hold = append(hold, []string{"HSET", key, "holder", "1"})
		ask = append(ask, []string{"LOCK", key, owner, "WAIT", strconv.Itoa(i % 2 * 3600000), "NOTIFY"})
		askToo = append(askToo, []string{"LOCK", key, "program1:" + owner, "WAIT", "0", "NOTIFY"})
		refused(strconv.Quote(key), owner)
	}
	gives := connect(3)
	for _, v := range gives.Pipeline(hold) {
		require.Equal(t, "1", v.String())
	}
	queue(c.asks, append(ask, []string{"MLOCK", "2", "{k}1", "{k}2", "many", "WAIT", "0", "NOTIFY"},
		[]string{"LOCK", "{k}1", "reader", "SHARED", "WAIT", "0", "NOTIFY"}, []string{"SEM.ACQUIRE", "sem", "permit", "WAIT", "0", "NOTIFY"}))
	queue(c.attached, askToo)
	refused(`["{k}1" "{k}2"]`, "many")
	refused(`"{k}1"`, "reader")
	refused(`"sem"`, "permit")
	return c
}

// noneIsSilent requires that a wait of each client ends. With dropped, all connections must be closed,
// because their clients may have read replies that are not committed.
func (c *queuedClients) noneIsSilent(t *testing.T, dropped bool) {
	for len(c.waits) > 0 {
		v, err := c.asks.Next()
		if dropped && err != nil {
			require.NotErrorIs(t, err, os.ErrDeadlineExceeded, "%d waits are silent", len(c.waits))
			break
		}
		require.NoError(t, err, "%d waits are silent", len(c.waits))
		require.True(t, c.waits[v.String()], "%s is sent twice, or is wrong", v)
		delete(c.waits, v.String())
	}
	if !dropped {
		require.Equal(t, "+PONG", c.asks.Do("PING").String(), "no wait has two outcomes")
	}
	for _, client := range []*testkit.Client{c.attached, c.listens} {
		var err error
		for err == nil {
			_, err = client.Next()
		}
		require.False(t, errors.Is(err, os.ErrDeadlineExceeded), "it is not closed, so its client does not ask the new leader")
	}
}
