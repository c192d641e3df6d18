package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"lockserver/internal/call"
	"lockserver/internal/inspect"
	"lockserver/internal/resp"
	"lockserver/server/cluster"
	"lockserver/server/shardmap"
)

// shardLeaders asks the leaders of the shards of a cluster. After a change of the lead it finds the new one.
type shardLeaders struct {
	r      *remote
	target inspect.Target
	name   string                    // of the cluster
	shards map[string]shardmap.Shard // the newest statement about each shard, by name
	conns  map[string]leaderConn     // to the members that led last, by shard
}

type leaderConn struct {
	*call.Conn
	addr string
}

// movePatience is the largest time for an answer to a command that moves slots.
const movePatience = 30 * time.Second

// findShards asks the first of some servers that answers for the shards of its cluster.
func findShards(ctx context.Context, r *remote, o inspect.Target) (*shardLeaders, error) {
	l := &shardLeaders{r: r, target: o, shards: make(map[string]shardmap.Shard), conns: make(map[string]leaderConn)}
	var err error
	for _, addr := range strings.Split(o.Addr, ",") {
		name, _, shards, one := askForShards(ctx, r, o, addr)
		if one != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", addr, one))
			continue
		}
		l.name = name
		for _, s := range shards {
			l.shards[s.Name] = s
		}
		return l, nil
	}
	return nil, err
}

func (l *shardLeaders) close() {
	for _, c := range l.conns {
		c.Close()
	}
}

// names returns the names of the shards in order.
func (l *shardLeaders) names() (all []string) {
	for name := range l.shards {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}

// addresses returns where clients reach the members of a shard. The leader comes first.
func addresses(s *shardmap.Shard) (all []string) {
	for _, m := range s.Members {
		addr := net.JoinHostPort(m.Host, strconv.Itoa(m.Port))
		if m.ID == s.Leader {
			all = slices.Insert(all, 0, addr)
		} else {
			all = append(all, addr)
		}
	}
	return all
}

// ask sends a command to the leader of a shard, and returns the leader's statement about the shard with the
// reply. An error reply is a call.Error. Other errors say that no leader was reached.
func (l *shardLeaders) ask(ctx context.Context, shard string, words ...string) (own shardmap.Shard, reply resp.Value, err error) {
	known, ok := l.shards[shard]
	if !ok {
		return own, reply, fmt.Errorf("no shard has the name '%s'", shard)
	}
	todo := addresses(&known)
	if c, ok := l.conns[shard]; ok {
		todo = slices.Insert(todo, 0, c.addr)
	}
	asked := make(map[string]bool)
	for len(todo) > 0 {
		addr := todo[0]
		if todo = todo[1:]; asked[addr] {
			continue
		}
		asked[addr] = true
		own, one := l.statement(ctx, shard, addr)
		switch {
		case one != nil:
			err = errors.Join(err, fmt.Errorf("%s: %w", addr, one))
		case own.Leader == "":
			err = errors.Join(err, fmt.Errorf("%s: the shard %s has no leader", addr, shard))
		case addresses(&own)[0] != addr:
			l.forget(shard)
			todo = append(addresses(&own), todo...)
		default:
			l.shards[shard] = own
			if len(words) == 0 {
				return own, reply, nil
			}
			if reply, one = l.conns[shard].Do(words...); one == nil || errors.As(one, new(call.Error)) {
				return own, reply, one
			}
			l.forget(shard)
			err = errors.Join(err, fmt.Errorf("%s: %w", addr, one))
		}
	}
	return own, reply, cmp.Or(err, fmt.Errorf("the shard %s has no leader", shard))
}

// statement asks a member of a shard for its shard. The connection stays open.
func (l *shardLeaders) statement(ctx context.Context, shard, addr string) (own shardmap.Shard, err error) {
	if c, ok := l.conns[shard]; !ok || c.addr != addr {
		l.forget(shard)
		o := l.target
		o.Addr = addr
		c, err := l.r.connect(ctx, o, movePatience)
		if err != nil {
			return own, err
		}
		l.conns[shard] = leaderConn{c, addr}
	}
	v, err := l.conns[shard].Do("CLUSTER", "MAP")
	if err == nil {
		var shards []shardmap.Shard
		_, _, shards, err = shardmap.Read(v.Str)
		if i := slices.IndexFunc(shards, func(s shardmap.Shard) bool { return s.Name == shard }); i >= 0 {
			return shards[i], err
		}
	}
	l.forget(shard)
	return own, cmp.Or(err, fmt.Errorf("the server does not know the shard %s", shard))
}

// forget closes the connection to a shard.
func (l *shardLeaders) forget(shard string) {
	if c, ok := l.conns[shard]; ok {
		c.Close()
		delete(l.conns, shard)
	}
}

// layout asks all shards for their slots. The error says why the slots cannot be moved now: a shard has no
// leader, or a slot does not have one owner.
func (l *shardLeaders) layout(ctx context.Context) (all []shardSlots, err error) {
	v := &groupsView{Name: l.name}
	for _, name := range l.names() {
		own, _, err := l.ask(ctx, name)
		s := shardView{Name: name, ranges: own.Slots}
		if err != nil {
			s.Problem = strings.ReplaceAll(err.Error(), "\n", "; ")
		}
		v.Shards = append(v.Shards, s)
		all = append(all, shardSlots{name, own.Slots})
	}
	v.count()
	return all, v.fault()
}

// movesOf returns the moves that the leader of a shard lists, newest first, with its statement about the
// shard.
func (l *shardLeaders) movesOf(ctx context.Context, shard string) (own shardmap.Shard, all []slotMoveState, err error) {
	own, v, err := l.ask(ctx, shard, "CLUSTER", "GETSLOTMIGRATIONS")
	for _, e := range v.Elems {
		all = append(all, moveStateOf(call.FieldsOf(e)))
	}
	return own, all, err
}

// slotMoveState is a move as CLUSTER GETSLOTMIGRATIONS tells it.
type slotMoveState struct {
	slotMove
	name, state, message   string
	away                   bool
	sent, left, frozenInMS int64
	createdS               int64
}

// over reports whether the move has ended.
func (m *slotMoveState) over() bool {
	return m.state == "success" || m.state == "failed" || m.state == "cancelled"
}

func moveStateOf(f call.Fields) slotMoveState {
	slots, _ := cluster.ParseRanges(f.Text("slot_ranges")) // text that cannot be read is of no move that is sought
	return slotMoveState{slotMove: slotMove{f.Text("source_shard"), f.Text("target_shard"), slots}, name: f.Text("name"), state: f.Text("state"), message: f.Text("message"),
		away: f.Text("operation") == "EXPORT", sent: f.Int("bytes_sent"), left: f.Int("bytes_left"), frozenInMS: f.Int("frozen_ms"), createdS: f.Int("create_time")}
}
