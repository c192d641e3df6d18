package raft

import (
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/server/raft"
	"lockserver/tests/testkit"
)

// held is an engine that gives its machine no entry before the test lets it.
type held struct {
	raft.Engine
	let chan struct{}
}

// Open implements raft.Engine.
func (h held) Open(m raft.Machine) error { return h.Engine.Open(heldMachine{m, h.let}) }

type heldMachine struct {
	raft.Machine
	let chan struct{}
}

// Apply implements raft.Machine.
func (h heldMachine) Apply(index uint64, entry []byte, again bool) error {
	<-h.let
	return h.Machine.Apply(index, entry, again)
}

// hears waits for a message, and returns what it says.
func hears(t *testing.T, c *testkit.Client) string {
	t.Helper()
	v, err := c.Next()
	require.NoError(t, err)
	require.Len(t, v.Elems, 3)
	return v.Elems[2].Str
}

// TestMessages: a subscriber at any member gets each message that is published at the leader once, in order
// with the writes. A member that reads its log again, as after a start, sends no message again.
func TestMessages(t *testing.T) {
	t.Parallel()
	g := prepare(t, 3, steadily(nil))
	let := make(chan struct{})
	close(let)
	g.wrap = func(_ string, e raft.Engine) raft.Engine { return held{e, let} }
	for _, m := range g.all {
		m.start()
	}
	g.elect()
	leader := g.leader()
	follower := g.others(leader)[0]
	listen := func() *testkit.Client {
		c := follower.dial()
		require.Len(t, c.Do("SUBSCRIBE", "news").Elems, 3)
		return c
	}
	c := listen()
	require.EqualValues(t, 0, leader.ask("PUBLISH", "news", "one").Int)
	require.Equal(t, "one", hears(t, c))
	require.Equal(t, "OK", leader.ask("EVAL", "redis.call('SET', 'x', '1') redis.call('PUBLISH', 'news', 'two') return 'OK'", "0").Str)
	require.Equal(t, "two", hears(t, c))
	sharded := follower.dial()
	require.Equal(t, '-', rune(sharded.Do("PUBLISH", "news", "lost").Kind), "it would reach who listens here alone")
	require.Len(t, sharded.Do("SSUBSCRIBE", "shard").Elems, 3)
	require.EqualValues(t, 0, leader.ask("SPUBLISH", "shard", "three").Int)
	require.Equal(t, "three", hears(t, sharded))
	g.same()

	follower.stop()
	let = make(chan struct{})
	follower.start()
	c = listen()
	close(let)
	g.same()
	require.EqualValues(t, 0, g.do("PUBLISH", "news", "four").Int)
	require.Equal(t, "four", hears(t, c))
}
