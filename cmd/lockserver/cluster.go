package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"lockserver/internal/inspect"
	"lockserver/server/cluster"
	"lockserver/server/raft"
	"lockserver/server/raft/engine"
	"lockserver/server/shardmap"
)

// groupsView is the known state of a cluster in which each shard is a raft group.
type groupsView struct {
	Name   string      `json:"cluster"`
	Shards []shardView `json:"shards"`
	// Unserved are the slots that no shard serves, and Twice those that two shards claim, as ranges.
	Unserved string `json:"slots_not_served"`
	Twice    string `json:"slots_with_two_owners"`
}

// shardView is the known state of a shard. Its slots and their generation are those of its own log, if a
// member has answered.
type shardView struct {
	Name       string         `json:"shard"`
	Slots      string         `json:"slots"`
	Generation int64          `json:"generation"`
	Problem    string         `json:"problem,omitempty"` // the reason why the shard serves no clients, or was not reached
	Group      *inspect.Group `json:"group,omitempty"`
	ranges     []cluster.Range
}

// lookAtGroups asks the first of some servers that answers for the shards of its cluster, and then each shard
// for its state.
func lookAtGroups(ctx context.Context, r *remote, o inspect.Target) (*groupsView, error) {
	var err error
	for _, addr := range strings.Split(o.Addr, ",") {
		name, _, shards, one := askForShards(ctx, r, o, addr)
		if one != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", addr, one))
			continue
		}
		v := &groupsView{Name: name, Shards: make([]shardView, len(shards))}
		slices.SortFunc(shards, func(a, b shardmap.Shard) int { return cmp.Compare(a.Name, b.Name) })
		var asked sync.WaitGroup
		for i, s := range shards {
			asked.Go(func() { v.Shards[i] = lookAtShard(ctx, r, o, s) })
		}
		asked.Wait()
		v.count()
		return v, nil
	}
	return nil, err
}

// askForShards returns what a server knows of the shards of its cluster, and the name of its own shard.
func askForShards(ctx context.Context, r *remote, o inspect.Target, addr string) (name, own string, shards []shardmap.Shard, err error) {
	o.Addr = addr
	c, err := r.connect(ctx, o, healthTimeout)
	if err != nil {
		return "", "", nil, err
	}
	defer c.Close()
	v, err := c.Do("CLUSTER", "MAP")
	if err != nil {
		return "", "", nil, err
	}
	return shardmap.Read(v.Str)
}

// lookAtShard asks a shard for its state. s is the statement of another shard about it.
func lookAtShard(ctx context.Context, r *remote, o inspect.Target, s shardmap.Shard) shardView {
	var addrs []string
	for _, m := range s.Members {
		addr := net.JoinHostPort(m.Host, strconv.Itoa(m.Port))
		if m.ID == s.Leader {
			addrs = slices.Insert(addrs, 0, addr)
		} else {
			addrs = append(addrs, addr)
		}
	}
	v := shardView{Name: s.Name, Generation: s.Generation, ranges: s.Slots, Slots: cluster.RangesText(s.Slots)}
	var err error
	if v.Group, err = inspect.LookAtGroup(ctx, o, addrs); err == nil {
		err = v.Group.Leaderless()
	}
	if err == nil {
		var statements []shardmap.Shard
		_, _, statements, err = askForShards(ctx, r, o, v.Group.AskedAt)
		if i := slices.IndexFunc(statements, func(own shardmap.Shard) bool { return own.Name == s.Name }); i >= 0 {
			v.Generation, v.ranges, v.Slots = statements[i].Generation, statements[i].Slots, cluster.RangesText(statements[i].Slots)
		}
	}
	if err != nil {
		v.Problem = strings.ReplaceAll(err.Error(), "\n", "; ")
	}
	return v
}

// count finds the slots that no shard serves, and those of two shards.
func (v *groupsView) count() {
	var served, twice []cluster.Range
	for _, s := range v.Shards {
		if s.Problem != "" {
			continue
		}
		free := cluster.Without(s.ranges, served)
		twice = cluster.Join(twice, cluster.Without(cluster.Without(s.ranges, free), twice))
		served = cluster.Join(served, free)
	}
	v.Unserved = cluster.RangesText(cluster.Without([]cluster.Range{cluster.All()}, served))
	v.Twice = cluster.RangesText(twice)
}

// fault returns what keeps the cluster from serving each slot once, or nil.
func (v *groupsView) fault() (err error) {
	for _, s := range v.Shards {
		if s.Problem != "" {
			err = errors.Join(err, fmt.Errorf("the shard %s: %s", s.Name, s.Problem))
		}
	}
	if v.Unserved != "" {
		err = errors.Join(err, fmt.Errorf("no shard serves the slots %s", v.Unserved))
	}
	if v.Twice != "" {
		err = errors.Join(err, fmt.Errorf("two shards claim the slots %s", v.Twice))
	}
	return err
}

// print writes the shards, each with a table of its members.
func (v *groupsView) print(w io.Writer, asJSON bool) error {
	if asJSON {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(v)
	}
	fmt.Fprintf(w, "cluster %s, %d shards\n", v.Name, len(v.Shards))
	for _, s := range v.Shards {
		fmt.Fprintf(w, "\nshard %s, slots %s, generation %d\n", s.Name, cmp.Or(s.Slots, "none"), s.Generation)
		if s.Group != nil {
			if err := s.Group.Print(w); err != nil {
				return err
			}
		}
	}
	return nil
}

// clusterStatus is `lockserver status --cluster`. The error says which slots are not served.
func clusterStatus(ctx context.Context, r *remote, o inspect.Target, asJSON bool, stdout io.Writer) error {
	v, err := lookAtGroups(ctx, r, o)
	if err != nil {
		return err
	}
	return errors.Join(v.print(stdout, asJSON), v.fault())
}

// saveCluster saves a backup of each shard as DIR/<shard>.rdb, and checks that they have each slot once.
func saveCluster(ctx context.Context, r *remote, o inspect.Target, dir string, stdout io.Writer) error {
	v, err := lookAtGroups(ctx, r, o)
	if err == nil {
		err = v.fault()
	}
	if err != nil {
		return fmt.Errorf("nothing was saved: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, s := range v.Shards {
		o.Addr = s.Group.AskedAt
		c, err := r.connect(ctx, o, snapshotPatience)
		if err != nil {
			return fmt.Errorf("the shard %s: %w", s.Name, err)
		}
		stop := context.AfterFunc(ctx, c.Close)
		path := filepath.Join(dir, s.Name+".rdb")
		made, err := save(c, path)
		stop()
		c.Close()
		if err != nil {
			return fmt.Errorf("%s was not written: %w", path, err)
		}
		printBackup(stdout, path, &made)
		fmt.Fprintln(stdout)
	}
	set, err := readSet(dir)
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "cluster:      %s, %d shards, each slot once\n", set.name, len(set.files))
	return nil
}

// backupSet is the backups of all shards of a cluster, in one directory.
type backupSet struct {
	name  string
	files map[string]*engine.BackupFile // by the name of the shard
}

// readSet reads the backups of a directory. The error says which file is damaged, or that the backups do not
// have each slot exactly once.
func readSet(dir string) (set backupSet, err error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.rdb"))
	if err != nil {
		return set, err
	}
	if len(paths) == 0 {
		return set, fmt.Errorf("%s has no backups of shards (*.rdb)", dir)
	}
	set.files = make(map[string]*engine.BackupFile)
	owners, rest := make(map[string][]cluster.Range), []cluster.Range{cluster.All()}
	for _, path := range paths {
		b, err := engine.ReadBackup(path)
		if err != nil {
			return set, err
		}
		owned, _, err := slotsIn(&b)
		if err != nil {
			return set, fmt.Errorf("%s: %w", path, err)
		}
		if path != filepath.Join(dir, owned.Shard+".rdb") {
			return set, fmt.Errorf("%s is the backup of the shard %s", path, owned.Shard)
		}
		if set.name == "" {
			set.name = owned.Cluster
		}
		if owned.Cluster != set.name {
			return set, fmt.Errorf("%s is of the cluster %s, and other files of %s", path, owned.Cluster, set.name)
		}
		for name, ranges := range owners {
			if both := cluster.Without(ranges, cluster.Without(ranges, owned.Slots)); len(both) > 0 {
				return set, fmt.Errorf("the backups of the shards %s and %s both have the slots %s", min(name, owned.Shard), max(name, owned.Shard), cluster.RangesText(both))
			}
		}
		owners[owned.Shard], set.files[owned.Shard] = owned.Slots, &b
		rest = cluster.Without(rest, owned.Slots)
	}
	if len(rest) > 0 {
		return set, fmt.Errorf("no backup in %s has the slots %s", dir, cluster.RangesText(rest))
	}
	return set, nil
}

// slotsIn returns the slots of the shard that a backup is of, and their generation.
func slotsIn(b *engine.BackupFile) (owned cluster.Owned, generation int64, err error) {
	name, table, err := raft.ReadSlots(b.Slots)
	if err == nil && table == nil {
		err = errors.New("it is not a backup of a shard of a cluster")
	}
	if err != nil {
		return owned, 0, err
	}
	return cluster.Owned{Cluster: name, Shard: table.Shard, Slots: table.Owned}, table.Generation, nil
}

// clusterSnapshotStatus prints the backups of a directory.
func clusterSnapshotStatus(dir string, stdout io.Writer) error {
	set, err := readSet(dir)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(set.files)) {
		printBackup(stdout, filepath.Join(dir, name+".rdb"), set.files[name])
		fmt.Fprintln(stdout)
	}
	fmt.Fprintf(stdout, "cluster:      %s, %d shards, each slot once\n", set.name, len(set.files))
	return nil
}

// transferPatience is the largest time for a transfer of the lead.
const transferPatience = 30 * time.Second

// balance is `lockserver cluster balance`.
func balance(ctx context.Context, args []string, stdout io.Writer) error {
	var v clusterVerb
	slots := v.set("balance").Bool("slots", false, "")
	if err := v.parse(args); err != nil {
		return err
	}
	if *slots {
		return v.move(ctx, stdout, func(all []shardSlots) ([]slotMove, error) { return planBalance(all), nil })
	}
	return balanceLeads(ctx, &v.remote, v.target, v.dry, stdout)
}

// balanceLeads evens out the leads of machines.
func balanceLeads(ctx context.Context, r *remote, o inspect.Target, dry bool, stdout io.Writer) error {
	v, err := lookAtGroups(ctx, r, o)
	if err == nil {
		err = v.fault()
	}
	if err != nil {
		return fmt.Errorf("no lead was moved: %w", err)
	}
	moves := v.spread()
	for _, m := range moves {
		fmt.Fprintf(stdout, "shard %s: the lead goes from %s to %s\n", m.shard, m.from, m.to)
		if dry {
			continue
		}
		o.Addr = m.leader
		c, err := r.connect(ctx, o, transferPatience)
		if err == nil {
			_, err = c.Do("RAFT", "TRANSFER", m.member)
			c.Close()
		}
		if err != nil {
			return fmt.Errorf("the shard %s: %w", m.shard, err)
		}
	}
	if len(moves) == 0 {
		fmt.Fprintln(stdout, "the leads are spread evenly")
	}
	return nil
}

// leadMove is a transfer of a shard's lead to a member on another machine.
type leadMove struct{ shard, leader, member, from, to string }

// spread returns the transfers that even out the leads. Afterwards no lead is left that a machine with at
// least two leads less could take over. A machine is the host in the address for clients.
func (v *groupsView) spread() (moves []leadMove) {
	leads := make(map[string]int)                       // by machine
	from := make([]*inspect.GroupMember, len(v.Shards)) // the leaders
	for i, s := range v.Shards {
		for m := range s.Group.Members {
			if member := &s.Group.Members[m]; member.Role == "leader" {
				from[i] = member
				leads[machineOf(member)]++
			}
		}
	}
	to := slices.Clone(from)
	for {
		best, shard, next := 1, -1, (*inspect.GroupMember)(nil)
		for i, s := range v.Shards {
			for m := range s.Group.Members {
				member := &s.Group.Members[m]
				if member.Role != "leader" && (member.Role != "follower" || member.Learner || member.Problem != "") {
					continue
				}
				if gain := leads[machineOf(to[i])] - leads[machineOf(member)]; gain > best {
					best, shard, next = gain, i, member
				}
			}
		}
		if shard < 0 {
			break
		}
		leads[machineOf(to[shard])]--
		leads[machineOf(next)]++
		to[shard] = next
	}
	for i, s := range v.Shards {
		if to[i] != from[i] {
			moves = append(moves, leadMove{s.Name, from[i].Client, to[i].ID, machineOf(from[i]), machineOf(to[i])})
		}
	}
	return moves
}

// machineOf returns the host of a member's address for clients.
func machineOf(m *inspect.GroupMember) string {
	host, _, err := net.SplitHostPort(m.Client)
	if err != nil {
		return m.Client
	}
	return host
}
