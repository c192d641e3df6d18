package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/call"
	"lockserver/internal/resp"
	"lockserver/server"
	"lockserver/server/cluster"
	"lockserver/server/shardmap"
	"lockserver/server/topology"
)

// playedSource plays the leader of a source. Each call of a step changes it.
type playedSource struct {
	own   shardmap.Shard
	moves []slotMoveState
	begun int
	steps []func(s *playedSource) error // before each question for the moves
	onAsk func(s *playedSource) error   // in place of a successful CLUSTER MIGRATESLOTS
}

func (s *playedSource) movesOf(context.Context, string) (shardmap.Shard, []slotMoveState, error) {
	if len(s.steps) > 0 {
		step := s.steps[0]
		s.steps = s.steps[1:]
		if err := step(s); err != nil {
			return shardmap.Shard{}, nil, err
		}
	}
	return s.own, slices.Clone(s.moves), nil
}

func (s *playedSource) ask(_ context.Context, _ string, words ...string) (own shardmap.Shard, reply resp.Value, err error) {
	s.begun++
	if s.onAsk != nil {
		return own, reply, s.onAsk(s)
	}
	return own, reply, s.start(words[3:])
}

// start begins a move of the slots in CLUSTER MIGRATESLOTS.
func (s *playedSource) start(words []string) error {
	var slots []cluster.Range
	for len(words) > 2 {
		first, _ := strconv.Atoi(words[0])
		last, _ := strconv.Atoi(words[1])
		slots, words = append(slots, cluster.Range{First: first, Last: last}), words[2:]
	}
	m := slotMoveState{slotMove: slotMove{"s1", words[1], slots}, name: fmt.Sprint("s1/", len(s.moves)+1), state: "streaming", away: true, sent: 2048}
	s.moves = slices.Insert(s.moves, 0, m)
	return nil
}

// end ends the newest move.
func (s *playedSource) end(state, message string) {
	if len(s.moves) == 0 || s.moves[0].over() {
		return
	}
	s.moves[0].state, s.moves[0].message = state, message
	if state == "success" {
		s.own.Slots = cluster.Without(s.own.Slots, s.moves[0].slots)
	}
}

// TestMoveOfPortions: portions follow one after the other, and go on when another member leads the source.
func TestMoveOfPortions(t *testing.T) {
	nothing := func(*playedSource) error { return nil }
	ends := func(state, message string) func(s *playedSource) error {
		return func(s *playedSource) error {
			s.end(state, message)
			return nil
		}
	}
	lost := func(*playedSource) error { return call.ErrLost }
	newLeader := func(s *playedSource) error {
		s.own.Leader = "b"
		return nil
	}
	const one = "1/1  s1 to s2, slots 0-9: moved"
	const figures = " (s1/1, 2.0 KB, commands waited for 0 ms)\n"
	for name, tt := range map[string]struct {
		steps     []func(s *playedSource) error
		onAsk     func(s *playedSource) error
		out, fail string
		begun     int
	}{
		"at once":                {steps: []func(s *playedSource) error{nothing, ends("success", "")}, out: one + figures, begun: 1},
		"the source is silent":   {steps: []func(s *playedSource) error{lost, nothing, lost, lost, ends("success", "")}, out: one + figures, begun: 1},
		"it fails":               {steps: []func(s *playedSource) error{nothing, ends("failed", "too slow")}, fail: "the move s1/1 has failed: too slow", begun: 1},
		"it is cancelled":        {steps: []func(s *playedSource) error{nothing, nothing, ends("cancelled", "")}, fail: "the move s1/1 was cancelled", begun: 1},
		"it fails with a leader": {steps: []func(s *playedSource) error{nothing, nothing, func(s *playedSource) error { s.end("failed", "x"); return newLeader(s) }, ends("success", "")}, out: "1/1  s1 to s2, slots 0-9: moved (s1/2, 2.0 KB, commands waited for 0 ms)\n", begun: 2},
		"a new leader has forgotten it": {steps: []func(s *playedSource) error{nothing, nothing, func(s *playedSource) error {
			s.end("success", "")
			s.moves = nil
			return newLeader(s)
		}}, out: one + "\n", begun: 1},
		"the reply is lost": {steps: []func(s *playedSource) error{nothing, ends("success", "")}, out: one + figures, begun: 1,
			onAsk: func(s *playedSource) error {
				return errors.Join(call.ErrLost, s.start([]string{"0", "9", "NODE", "s2"}))
			}},
		"the source refuses": {steps: nil, fail: "ERR the disk is full", begun: 1, onAsk: func(*playedSource) error { return call.Error("ERR the disk is full") }},
		"no leader for a while": {steps: []func(s *playedSource) error{nothing, nothing, nothing, nothing, ends("success", "")}, out: one + figures, begun: 4,
			onAsk: func(s *playedSource) error {
				if s.begun < 4 {
					return call.Error("CLUSTERDOWN no leader")
				}
				return s.start([]string{"0", "9", "NODE", "s2"})
			}},
		"another move is under way": {steps: []func(s *playedSource) error{func(s *playedSource) error { return s.start([]string{"20", "29", "NODE", "s3"}) }, ends("success", ""), ends("success", "")},
			out: "1/1  s1 to s2, slots 0-9: moved (s1/2, 2.0 KB, commands waited for 0 ms)\n", begun: 1},
		"the move is under way already": {steps: []func(s *playedSource) error{func(s *playedSource) error { return s.start([]string{"0", "9", "NODE", "s2"}) }, ends("success", "")}, out: one + figures},
		"the slots are gone":            {steps: []func(s *playedSource) error{func(s *playedSource) error { s.own.Slots = nil; return nil }}, out: one + "\n"},
		"half of the slots are gone":    {steps: []func(s *playedSource) error{func(s *playedSource) error { s.own.Slots[0].First = 5; return nil }}, fail: "the source does not have all of the slots any more"},
	} {
		t.Run(name, func(t *testing.T) {
			s := &playedSource{own: shardmap.Shard{Leader: "a", Slots: []cluster.Range{{First: 0, Last: 99}}}, steps: tt.steps, onAsk: tt.onAsk}
			var out bytes.Buffer
			err := (&slotMover{leaders: s, out: &out}).run(t.Context(), []slotMove{{"s1", "s2", []cluster.Range{{First: 0, Last: 9}}}})
			if tt.fail != "" {
				require.EqualError(t, err, "slots 0-9 from s1 to s2: "+tt.fail)
			} else {
				require.NoError(t, err)
			}
			require.Equal(t, tt.out, out.String())
			require.Equal(t, tt.begun, s.begun)
		})
	}
}

// TestPartOfAMove: an error behind the first portion says how many slots were moved.
func TestPartOfAMove(t *testing.T) {
	s := &playedSource{own: shardmap.Shard{Leader: "a", Slots: []cluster.Range{{First: 0, Last: 99}}}}
	for range 2 {
		s.steps = append(s.steps, func(*playedSource) error { return nil }, func(s *playedSource) error { s.end("success", ""); return nil })
	}
	s.steps = append(s.steps, func(s *playedSource) error {
		s.moves = nil
		s.own.Slots = []cluster.Range{{First: 0, Last: 4}}
		return nil
	})
	var out bytes.Buffer
	moves := portions([]slotMove{{"s1", "s2", []cluster.Range{{First: 0, Last: 29}}}}, 10)
	err := (&slotMover{leaders: s, out: &out, live: true}).run(t.Context(), moves)
	require.NoError(t, err, "the third portion has left")
	s.own.Slots = []cluster.Range{{First: 0, Last: 24}}
	s.steps = nil
	moves = portions([]slotMove{{"s1", "s2", []cluster.Range{{First: 25, Last: 34}, {First: 20, Last: 24}}}}, 10)
	moves[1].slots = []cluster.Range{{First: 20, Last: 29}}
	err = (&slotMover{leaders: s, out: &out}).run(t.Context(), moves)
	require.ErrorAs(t, err, new(*errPartly))
	require.ErrorContains(t, err, "10 of 20 slots were moved. The same command goes on")
	require.Contains(t, out.String(), "\r\x1b[K[##########")
}

// TestInterruptedMove: an interruption leaves the move to the servers.
func TestInterruptedMove(t *testing.T) {
	s := &playedSource{own: shardmap.Shard{Slots: []cluster.Range{{First: 0, Last: 99}}}}
	ctx, cancel := context.WithCancel(t.Context())
	s.steps = []func(s *playedSource) error{func(*playedSource) error { return nil }, func(*playedSource) error { return nil }, func(*playedSource) error { cancel(); return nil }}
	err := (&slotMover{leaders: s, out: new(bytes.Buffer)}).run(ctx, []slotMove{{"s1", "s2", []cluster.Range{{First: 0, Last: 9}}}})
	require.ErrorContains(t, err, "interrupted: the move s1/1 goes on")
}

// playedCluster has two shards, each with one server. Slots that move are moved at once.
type playedCluster struct {
	mu     sync.Mutex
	groups [2]*topology.Group
	addrs  [2]string
	slots  [2][]cluster.Range
	moves  []topology.Move
	open   bool // moves do not end
}

type playedShard struct {
	c *playedCluster
	i int
}

func shardName(i int) string { return fmt.Sprint("s", i+1) }

func (s playedShard) Begin(slots []cluster.Range, shard string) (string, error) {
	c := s.c
	c.mu.Lock()
	defer c.mu.Unlock()
	m := topology.Move{Name: fmt.Sprintf("%s/%d", shardName(s.i), len(c.moves)+1), Away: true, Slots: slots, Source: shardName(s.i), Target: shard, BegunMS: int64(len(c.moves)+1) * 1000}
	if !c.open {
		m.State = topology.Succeeded
		c.slots[s.i] = cluster.Without(c.slots[s.i], slots)
		c.slots[1-s.i], _ = cluster.Ordered(slices.Concat(c.slots[1-s.i], slots))
	}
	c.moves = slices.Insert(c.moves, 0, m)
	c.update()
	return m.Name, nil
}

func (s playedShard) Cancel() error {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	s.c.moves[0].State = topology.Cancelled
	return nil
}

func (s playedShard) Moves() (all []topology.Move) {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	for _, m := range s.c.moves {
		m.Away = m.Source == shardName(s.i)
		all = append(all, m)
	}
	return all
}

// text is the reply of CLUSTER MAP.
func (s playedShard) text() string {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	var shards []map[string]any
	for i, addr := range s.c.addrs {
		host, port, _ := net.SplitHostPort(addr)
		number, _ := strconv.Atoi(port)
		shards = append(shards, map[string]any{"name": shardName(i), "generation": 1, "slots": cluster.RangesText(s.c.slots[i]), "leader": topology.NodeID(shardName(i)),
			"members": []map[string]any{{"id": topology.NodeID(shardName(i)), "host": host, "port": number}}})
	}
	b, _ := json.Marshal(map[string]any{"version": 1, "cluster": "shop", "shard": shardName(s.i), "shards": shards})
	return string(b)
}

// update shows the slots to clients. The caller holds the lock.
func (c *playedCluster) update() {
	for i, g := range c.groups {
		v := topology.View{Shard: shardName(i), Slots: c.slots[i], Leader: topology.NodeID(shardName(i))}
		for k := range c.groups {
			v.Members = append(v.Members, topology.Member{ID: topology.NodeID(shardName(k)), Host: "127.0.0.1", Port: 7000 + k, Up: true, Shard: shardName(k), Leads: true, Slots: c.slots[k]})
		}
		_ = g.Update(v)
	}
}

func newPlayedCluster(t *testing.T) *playedCluster {
	c := new(playedCluster)
	c.slots = [2][]cluster.Range{{cluster.All()}, nil}
	for i := range c.groups {
		self := topology.NodeID(shardName(i))
		c.groups[i] = topology.New(topology.GroupOptions{Strict: true, Self: func(net.Addr) string { return self }})
		c.groups[i].UseMover(playedShard{c, i})
		c.groups[i].UseMap(playedShard{c, i}.text)
	}
	c.update()
	for i, g := range c.groups {
		o := server.Options{Group: g}
		srv, err := server.New(o)
		require.NoError(t, err)
		require.NoError(t, srv.Start())
		t.Cleanup(func() { require.NoError(t, srv.Close()) })
		c.addrs[i] = srv.Addr().String()
	}
	return c
}

// TestClusterVerbs: the verbs move slots of a cluster, and their exit codes and words say what was done.
func TestClusterVerbs(t *testing.T) {
	c := newPlayedCluster(t)
	run := func(words ...string) (code int, out, errs string) {
		var stdout, stderr bytes.Buffer
		code = runCluster(append(words, "--addr", c.addrs[1]), &stdout, &stderr)
		return code, stdout.String(), stderr.String()
	}
	does := func(want string, words ...string) {
		t.Helper()
		code, out, errs := run(words...)
		require.Zero(t, code, errs)
		require.Empty(t, errs)
		require.Contains(t, out, want)
	}
	fails := func(want string, words ...string) {
		t.Helper()
		code, out, errs := run(words...)
		require.Equal(t, 1, code, out)
		require.Contains(t, errs, want)
	}
	does("no moves\n", "moves")
	fails("no slots are moving", "cancel")
	does("s1 to s2: 8192 slots, 8192-16383\n", "balance", "--slots", "--dry-run")
	does("1/1  s1 to s2, slots 0-100 200: moved (s1/1", "move", "--slots", "0-100,200", "--to", "s2")
	does("no slot has to move", "move", "--slots", "0-100", "--to", "s2")
	fails("the slots 300 are those of the shard s1", "move", "--slots", "300", "--from", "s2", "--to", "s2")
	does("4/4  s1 to s2, slots ", "balance", "--slots", "--portion", "2048")
	does("no slot has to move", "balance", "--slots")
	does("2/2  s2 to s1, slots ", "drain", "--shard", "s2", "--portion", "5000")
	require.Empty(t, c.slots[1])
	does("s1 to s2, slots 16374-16383: moved", "move", "--count", "10", "--from", "s1", "--to", "s2")
	_, out, _ := run("moves")
	require.Regexp(t, `(?m)^MOVE +FROM +TO +SLOTS +STATE`, out)
	require.Regexp(t, `(?m)^s1/1 +s1 +s2 +0-100 200 +success +0.0 KB`, out)
	c.open = true
	_, err := playedShard{c, 0}.Begin([]cluster.Range{{First: 1, Last: 2}}, "s2")
	require.NoError(t, err)
	does("from s1 to s2: cancelled\n", "cancel")
	for _, tt := range [][]string{{"--to names the shard", "move", "--slots", "1"}, {"either --slots or --count", "move", "--to", "s2"}, {"--count needs --from", "move", "--count", "2", "--to", "s2"},
		{"--shard names", "drain"}, {"no shard has the name 's9'", "drain", "--shard", "s9"}, {"balance, move, drain, moves or cancel", "spread"}, {"'x': try", "moves", "x"},
		{"--portion", "balance", "--slots", "--portion", "0"}, {"--portion", "balance", "--slots", "--portion", "-1"}} {
		fails(tt[0], tt[1:]...)
	}
	does("Usage: lockserver cluster balance", "move", "--help")
}

// TestDefaultPortion: a portion has a bounded number of slots, and about a bounded number of keys.
func TestDefaultPortion(t *testing.T) {
	for _, tt := range []struct {
		keys        int64
		slots, want int
	}{{0, 8192, 512}, {1000, 8192, 512}, {1_000_000, 8192, 409}, {1_000_000, 256, 12}, {1_000_000, 1, 1}, {1 << 40, 16384, 1}} {
		require.Equal(t, tt.want, portionOf(tt.keys, tt.slots), "%d keys in %d slots", tt.keys, tt.slots)
	}
}
