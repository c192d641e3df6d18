package console

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"lockserver/internal/call"
	"lockserver/server/cluster"
	"lockserver/server/shardmap"
)

// The page of the servers that work together: the members of a raft group, the shards of a process or of a
// cluster, and the replicas of a server.

// membersPage is the page.
type membersPage struct {
	Alarms   []alarmView
	Group    *raftView    // nil: the server is in no raft group
	Shards   []shardView  // of this process, if it has several
	Cluster  *clusterView // nil: the group is no shard of a cluster
	Primary  *primaryView // nil: the server is no replica
	Replicas []replicaView
}

// Alone reports whether no other server works with this one.
func (p *membersPage) Alone() bool {
	return p.Group == nil && p.Primary == nil && len(p.Shards) == 0 && len(p.Replicas) == 0
}

// alarmView is all alarms of a kind, with the words of the runbook.
type alarmView struct {
	Kind  string
	Texts []string
	advice
}

// raftView is the raft group as this member sees it. Numbers below 0 are not known.
type raftView struct {
	Name, Self, Role, Leader, LeaderAddress string
	Term, Commit                            int64
	CommitUS                                int64 // from a proposal of this leader to its commit, p99
	Members                                 []groupMember
	NoMembers                               string // why the members are not listed
}

// groupMember is a row of the list of members. Numbers below 0 are not known.
type groupMember struct {
	ID, Role, Client     string
	Self                 bool
	Applied, Lag         int64
	LagMS                int64
	HeardMS              int64 // the time since this member has last heard of it; below 0: never
	TripUS, SyncUS       int64 // p99 of the last minute or two
	Version              string
	DiskFree             int64 // in bytes
	Problem              string
	SnapshotMS, ClockGap int64 // when its last snapshot was made; how far its clock is ahead of this one's
}

// shardView is a shard of this process.
type shardView struct {
	Number, Slots      int
	First, Last        int
	Port               string
	Keys, Clients, Ops int64
	Bytes              int64
	Held, Waiting      int64
	LocksKnown         bool
	Problem            string
}

// clusterView is a cluster of raft groups, as the map of this member has it.
type clusterView struct {
	Name, Own string
	Shards    []mapShard
	Served    int // slots that a shard with a leader owns
	Problem   string
}

// mapShard is a shard in the map.
type mapShard struct {
	Name, Slots, Leader string
	Count               int
	Generation          int64
	Others              []string // addresses of the members that do not lead
	Own                 bool
}

// primaryView is the server that a replica follows.
type primaryView struct {
	Address  string
	Up       bool
	HeardS   int64 // seconds since it was last heard of
	OffsetAt int64
}

// replicaView is a replica of this server.
type replicaView struct {
	Address, State string
	Behind, HeardS int64 // bytes, and seconds since it was last heard of
}

// loadMembers loads the page.
func loadMembers(who *viewer, _ *http.Request) (any, error) {
	parts := who.conn.Parts()
	p := &membersPage{}
	for i, part := range parts {
		v, err := part.Do("INFO", "server", "clients", "memory", "persistence", "stats", "replication", "keyspace", "cluster", "raft")
		if err != nil {
			return nil, err
		}
		info := parseInfo(v.Str)
		if len(parts) > 1 {
			p.Shards = append(p.Shards, newShardView(who, i, part, info))
		}
		if i > 0 {
			continue
		}
		p.readReplication(info)
		if info["raft_id"] != "" {
			p.readAlarms(info)
			p.readGroup(who, info)
			p.readCluster(who, info)
		}
	}
	return p, nil
}

// newShardView reads the figures of one of several shards.
func newShardView(who *viewer, i int, c *call.Conn, info map[string]string) shardView {
	slots := cluster.Split(len(who.shards))[i]
	s := shardView{Number: i + 1, First: slots.First, Last: slots.Last, Slots: slots.Last - slots.First + 1, Port: info["tcp_port"],
		Clients: number(info["connected_clients"]), Ops: number(info["instantaneous_ops_per_sec"]), Bytes: number(info["used_memory"]),
		Keys: number(pairs(info["db0"])["keys"])}
	switch {
	case info["loading"] == "1":
		s.Problem = "it loads its data"
	case info["aof_enabled"] == "1" && info["aof_last_write_status"] != "ok":
		s.Problem = "its log cannot be written"
	case info["rdb_last_bgsave_status"] != "ok":
		s.Problem = "its last snapshot failed"
	}
	if s.LocksKnown = who.may("LOCK.STATS"); s.LocksKnown {
		if v, err := c.Do("LOCK.STATS"); err == nil {
			s.Held, s.Waiting = call.FieldsOf(v).Int("held"), call.FieldsOf(v).Int("waiting")
		}
	}
	return s
}

// readReplication reads the primary of this server, and its replicas.
func (p *membersPage) readReplication(info map[string]string) {
	if host := info["master_host"]; host != "" && info["raft_id"] == "" {
		p.Primary = &primaryView{Address: host + ":" + info["master_port"], Up: info["master_link_status"] == "up", HeardS: number(info["master_last_io_seconds_ago"]),
			OffsetAt: number(info["slave_repl_offset"])}
	}
	for i := range int(number(info["connected_slaves"])) {
		of := pairs(info["slave"+strconv.Itoa(i)])
		p.Replicas = append(p.Replicas, replicaView{Address: of["ip"] + ":" + of["port"], State: of["state"], HeardS: number(of["lag"]),
			Behind: max(0, number(info["master_repl_offset"])-number(of["offset"]))})
	}
}

// readAlarms reads the alarms of this member, those of one kind together.
func (p *membersPage) readAlarms(info map[string]string) {
	for i := range int(number(info["raft_alarms"])) {
		kind, text, _ := strings.Cut(strings.TrimPrefix(info["raft_alarm"+strconv.Itoa(i)], "kind="), ",text=")
		at := slices.IndexFunc(p.Alarms, func(a alarmView) bool { return a.Kind == kind })
		if at < 0 {
			at = len(p.Alarms)
			p.Alarms = append(p.Alarms, alarmView{Kind: kind, advice: runbook()[kind]})
		}
		p.Alarms[at].Texts = append(p.Alarms[at].Texts, text)
	}
}

// readGroup reads the members of the group.
func (p *membersPage) readGroup(who *viewer, info map[string]string) {
	g := &raftView{Name: info["raft_group"], Self: info["raft_id"], Role: info["raft_role"], Leader: info["raft_leader_id"], LeaderAddress: info["raft_leader_address"],
		Term: number(info["raft_term"]), Commit: number(info["raft_commit_index"]), CommitUS: number(info["raft_commit_p99_usec"])}
	p.Group = g
	if !who.may("RAFT", "MEMBERS") {
		g.NoMembers = "The ACL does not let " + who.name + " run RAFT MEMBERS."
		return
	}
	v, err := who.conn.Do("RAFT", "MEMBERS")
	if err != nil {
		g.NoMembers = err.Error()
		return
	}
	for _, e := range v.Elems {
		g.Members = append(g.Members, newGroupMember(call.FieldsOf(e), g.Self))
	}
}

func newGroupMember(f call.Fields, self string) groupMember {
	m := groupMember{ID: f.Text("id"), Role: f.Text("role"), Client: f.Text("client-address"), Version: f.Text("version"), Self: f.Text("id") == self,
		Applied: f.Int("applied-index"), Lag: f.Int("lag"), LagMS: f.Int("lag-ms"), HeardMS: f.Int("last-contact-ms"), DiskFree: f.Int("disk-free"),
		TripUS: f.Int("round-trip-p99-us"), SyncUS: f.Int("log-sync-p99-us"), SnapshotMS: f.Int("last-snapshot-ms"), ClockGap: f.Int("clock-skew-ms")}
	problems := []string{f.Text("unreachable"), f.Text("refused"), f.Text("last-snapshot-error"), f.Text("damaged")}
	if data := f.Text("data"); data == "differs" || data == "undecided" {
		problems = append(problems, "its data "+data)
	}
	m.Problem = strings.Join(slices.DeleteFunc(slices.Compact(problems), func(s string) bool { return s == "" }), "; ")
	return m
}

// readCluster reads the map of a cluster of raft groups. A shard without a leader is an alarm: its slots are
// not served.
func (p *membersPage) readCluster(who *viewer, info map[string]string) {
	if info["cluster_enabled"] != "1" {
		return
	}
	if !who.may("CLUSTER", "MAP") {
		p.Cluster = &clusterView{Problem: "The ACL does not let " + who.name + " run CLUSTER MAP."}
		return
	}
	v, err := who.conn.Do("CLUSTER", "MAP")
	if err != nil {
		return // the group is a cluster by itself
	}
	name, own, shards, err := shardmap.Read(strings.TrimPrefix(v.Str, "txt:"))
	if err != nil {
		p.Cluster = &clusterView{Problem: err.Error()}
		return
	}
	p.Cluster = &clusterView{Name: name, Own: own}
	failed := failedNodes(who)
	for i := range shards {
		if slices.Contains(failed, shards[i].Leader) {
			shards[i].Leader = ""
		}
		s := newMapShard(&shards[i], own)
		if s.Own && p.Group.LeaderAddress == "" {
			s.Leader = ""
		}
		if p.Cluster.Shards = append(p.Cluster.Shards, s); s.Leader != "" {
			p.Cluster.Served += s.Count
		} else {
			p.Alarms = append(p.Alarms, alarmView{Kind: "shard " + s.Name, Texts: []string{"the shard " + s.Name + " has no leader"}, advice: runbook()["shard-down"]})
		}
	}
	slices.SortFunc(p.Cluster.Shards, func(a, b mapShard) int { return cmp.Compare(a.Name, b.Name) })
}

// failedNodes returns the IDs of members that do not serve, as this member knows. The map has only what each
// shard has said last.
func failedNodes(who *viewer) (ids []string) {
	if !who.may("CLUSTER", "SHARDS") {
		return nil
	}
	v, err := who.conn.Do("CLUSTER", "SHARDS")
	if err != nil {
		return nil
	}
	for _, shard := range v.Elems {
		for _, node := range call.FieldsOf(shard).List("nodes") {
			if f := call.FieldsOf(node); f.Text("health") != "online" {
				ids = append(ids, f.Text("id"))
			}
		}
	}
	return ids
}

func newMapShard(of *shardmap.Shard, own string) mapShard {
	s := mapShard{Name: of.Name, Slots: cluster.RangesText(of.Slots), Generation: of.Generation, Own: of.Name == own}
	for _, r := range of.Slots {
		s.Count += r.Last - r.First + 1
	}
	for _, m := range of.Members {
		address := m.Host + ":" + strconv.Itoa(m.Port)
		if m.ID == of.Leader {
			s.Leader = address
		} else {
			s.Others = append(s.Others, address)
		}
	}
	return s
}
