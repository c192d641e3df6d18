// Package groups makes a raft group a shard of a cluster. It reads the slots that the log gives the group,
// and asks the other shards (package shardmap). Package topology gets the result for clients.
//
// It must know nothing of sessions and commands. The server is a ShardServer.
package groups

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"lockserver/internal/call"
	"lockserver/internal/config"
	"lockserver/internal/keyslot"
	"lockserver/server/cluster"
	"lockserver/server/raft"
	"lockserver/server/shardmap"
	"lockserver/server/slotmove"
	"lockserver/server/topology"
	"lockserver/store"
)

// askTimeout is how long a member of another shard may take for one answer.
const askTimeout = 2 * time.Second

// ShardServer is the server of a member. Its methods are called without the lock of the server.
type ShardServer interface {
	// Dial connects to a member of another shard. Login returns the user and the password for it; without a
	// password there is no login.
	Dial(ctx context.Context, host string, port int) (net.Conn, error)
	Login() (user, password string)
	// Background runs f beside everything else. The server does not end before f has.
	Background(f func())
	NowMS() int64
}

// Shard is the raft group of this server, as one shard of a cluster.
type Shard struct {
	host   ShardServer
	names  config.Groups
	member *raft.Member
	group  *topology.Group
	log    *slog.Logger
	shards *shardmap.Map
	// running ends with end.
	running context.Context
	end     context.CancelFunc

	showing sync.Mutex // one view at a time reaches the clients

	mu       sync.Mutex
	links    map[string]*call.Conn // to members of other shards, by address, for Send
	misnamed string                // why the slots of the log do not count for this member; empty: they do
}

// Check returns an error if the directives do not fit together. fits says that the server is a member of a
// raft group, and that its clients see a cluster in which the keys of a command share a slot.
func Check(g *config.Groups, fits bool) error {
	switch {
	case g.Cluster == "" && *g != (config.Groups{}):
		return errors.New("cluster-shard, cluster-slots and cluster-peers need cluster-name")
	case g.Cluster == "":
		return nil
	case !cluster.IsName(g.Cluster) || !cluster.IsName(g.Shard):
		return errors.New("cluster-name and cluster-shard are 1 to 64 letters, digits, dots, hyphens and underscores")
	case !fits:
		return errors.New("cluster-name needs a raft group (raft-id) with raft-clients cluster, and cluster-enabled yes")
	}
	if _, err := claimed(g); err != nil {
		return fmt.Errorf("cluster-slots: %w", err)
	}
	for at := range strings.FieldsSeq(g.Peers) {
		if _, _, err := net.SplitHostPort(at); err != nil {
			return fmt.Errorf("cluster-peers: '%s' is no host:port", at)
		}
	}
	return nil
}

// Claim returns the text that the log of the group gets when the group begins to own slots: see
// raft.MemberOptions.
// It is empty if the directives do not say which slots.
func Claim(g *config.Groups) string {
	slots, err := claimed(g)
	if err != nil || g.Slots == "" {
		return ""
	}
	owned := cluster.Owned{Cluster: g.Cluster, Shard: g.Shard, Slots: slots}
	return owned.String()
}

// noSlots is cluster-slots of a group that joins a cluster as a shard without slots. It gets some by moves.
const noSlots = "none"

// claimed returns the slots of cluster-slots.
func claimed(g *config.Groups) ([]cluster.Range, error) {
	if g.Slots == noSlots {
		return nil, nil
	}
	return cluster.ParseRanges(g.Slots)
}

// New returns the group as a shard, with directives that Check accepts. path is the file that keeps the map;
// empty: there is no file. The group of package topology gets the reply of CLUSTER MAP.
func New(h ShardServer, g *config.Groups, m *raft.Member, group *topology.Group, path string, log *slog.Logger) *Shard {
	s := &Shard{host: h, names: *g, member: m, group: group, log: log}
	s.running, s.end = context.WithCancel(context.Background())
	s.shards = shardmap.New(shardmap.Options{Cluster: g.Cluster, Shard: g.Shard, Peers: strings.Fields(g.Peers), Path: path, Log: log, Dial: s.dial})
	s.shards.Attach(s.show)
	group.UseMap(s.shards.Text)
	return s
}

// Start asks the other shards from now on, until Close.
func (s *Shard) Start() { s.host.Background(func() { s.shards.Run(s.running) }) }

// Close ends what Start has begun. It may be called more than once, and without Start.
func (s *Shard) Close() { s.end() }

// dial connects to a member of another shard, and logs in.
func (s *Shard) dial(ctx context.Context, address string) (*call.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		return nil, err
	}
	conn, err := s.host.Dial(ctx, host, number)
	if err != nil {
		return nil, err
	}
	c := call.New(conn, askTimeout)
	user, password := s.host.Login()
	if password == "" {
		return c, nil
	}
	words := []string{"AUTH", user, password}
	if user == "" {
		words = []string{"AUTH", password}
	}
	if _, err := c.Do(words...); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// Seen records the state of the group, when the member knows a new one.
func (s *Shard) Seen(status *raft.Status) {
	own := shardmap.Shard{Group: status.Group, Term: status.Term, Index: status.AppliedIndex}
	id := func(p raft.Peer) string { return topology.MemberID(s.names.Cluster, s.names.Shard, p.ID) }
	for _, p := range status.Peers {
		host, port, _ := net.SplitHostPort(p.Client)
		number, _ := strconv.Atoi(port)
		own.Members = append(own.Members, shardmap.Member{ID: id(p), Host: host, Port: number})
		if p.ID == status.Leader.ID {
			own.Leader = id(p)
		}
	}
	misnamed := ""
	if generation, owned := s.member.Owned.Slots(); generation > 0 {
		if owned.Cluster != s.names.Cluster || owned.Shard != s.names.Shard {
			misnamed = fmt.Sprintf("by its log this group is the shard '%s' of the cluster '%s', and by the configuration of this member the shard '%s' of '%s': correct cluster-shard and cluster-name",
				owned.Shard, owned.Cluster, s.names.Shard, s.names.Cluster)
		} else {
			own.Generation, own.Slots = generation, owned.Slots
		}
	}
	// plant:slots-own
	s.mu.Lock()
	if s.misnamed != misnamed && misnamed != "" {
		s.log.Error("raft: this member serves no slots: " + misnamed)
	}
	s.misnamed = misnamed
	s.mu.Unlock()
	s.shards.SetOwn(own)
}

// show makes the state of all shards visible to clients.
func (s *Shard) show() {
	s.showing.Lock()
	defer s.showing.Unlock()
	now := s.shards.View()
	// Leader and slots are of one moment: a new leader must not be shown with the slots that it had before.
	v := topology.View{Term: int64(now.Own.Shard.Term), Leader: now.Own.Shard.Leader, AtMS: s.host.NowMS(), Shard: s.names.Shard, Slots: now.Own.Slots, Lost: now.Lost}
	for _, m := range now.Own.Members {
		v.Members = append(v.Members, topology.Member{ID: m.ID, Host: m.Host, Port: m.Port, Up: true, Shard: v.Shard})
	}
	sent := s.sent()
	for _, other := range now.Others {
		for _, to := range sent { // the other shard has not said so yet
			if to.To == other.Name && other.Generation <= to.Generation {
				other.Slots = cluster.Join(cluster.Without(other.Slots, to.Slots), to.Slots)
			}
		}
		for _, m := range other.Members {
			is := topology.Member{ID: m.ID, Host: m.Host, Port: m.Port, Up: other.Up, Shard: other.Name}
			if m.ID == other.Leads {
				is.Leads, is.Slots = true, other.Slots
			}
			v.Members = append(v.Members, is)
		}
	}
	if err := s.group.Update(v); err != nil {
		s.log.Error("raft: clients cannot learn of the cluster's shards", "cause", err)
	}
}

// sent returns where slots of this group went, by its log.
func (s *Shard) sent() []slotmove.Sent {
	if t := s.member.Owned.Table(); t != nil {
		return t.Sent
	}
	return nil
}

// MayOwn returns why the group cannot begin to own slots with a text of Claim: it has keys of other slots.
// nil: it can. The caller holds the lock of the server.
func MayOwn(db *store.DB, text string) error {
	owned, err := cluster.ParseOwned(text)
	if err != nil {
		return err
	}
	db.Keys().Each(func(key string, _ store.Ref) bool {
		n := keyslot.Of([]byte(key))
		has := slices.ContainsFunc(owned.Slots, func(r cluster.Range) bool { return r.Has(n) })
		if !has {
			err = fmt.Errorf("it has keys of other slots, such as the slot %d, which cluster-slots does not have", n)
		}
		return has
	})
	return err
}

// State returns what this member knows of the cluster, with what an operator has to correct.
func (s *Shard) State() raft.ClusterState {
	age, silent := s.shards.Old()
	is := raft.ClusterState{Shard: s.names.Shard, SlotFaults: s.shards.Faults(), MapFaults: silent, MapAgeMS: age.Milliseconds()}
	is.Moves = raft.MovesState(s.group.MoveFigures(s.host.NowMS()))
	for _, r := range s.shards.View().Own.Shard.Slots {
		is.Slots += r.Last - r.First + 1
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.misnamed != "" {
		is.SlotFaults = append(is.SlotFaults, s.misnamed)
	}
	return is
}
