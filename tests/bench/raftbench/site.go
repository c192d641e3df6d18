package raftbench

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"lockserver/tests/bench/benchkit"
)

// site is three machines with the processes of a database, in one or three shards. Machines are processes
// that are killed together.
type site struct {
	name      string
	machines  [members]processes
	addresses []string // of all processes, for clients
	keys      []string // a key of each shard
	// leader returns the machine that leads a shard, or -1.
	leader func(shard int) int
	// steady reports whether each shard has a leader with all of its replicas.
	steady func() bool
	// lead asks that a machine leads a shard.
	lead func(shard, machine int)
}

func (s *site) kill() {
	for _, m := range s.machines {
		m.kill()
	}
}

// crash kills all processes of a machine at the same time.
func (s *site) crash(machine int) {
	for _, p := range s.machines[machine] {
		_ = p.cmd.Process.Signal(syscall.SIGKILL) // end waits for it
	}
	s.machines[machine].kill()
}

// spread waits until all is well, and each machine leads one shard.
func (s *site) spread(ctx context.Context) error {
	return until(ctx, s.name+": the leads are spread", func() bool {
		if !s.steady() {
			return false
		}
		spread := true
		for shard := range s.keys {
			if is := s.leader(shard); len(s.keys) > 1 && is != shard {
				s.lead(shard, shard)
				spread = false
			}
		}
		return spread
	})
}

// until waits for a condition.
func until(ctx context.Context, what string, so func() bool) error {
	ctx, cancel := context.WithTimeoutCause(ctx, backLimit, fmt.Errorf("not so: %s", what))
	defer cancel()
	for !so() {
		if benchkit.Rest(ctx, writePause) != nil {
			return context.Cause(ctx)
		}
	}
	return nil
}

// keysOf are keys of the three shards, which share the slots equally.
var keysOf = []string{"{b}", "{c}", "{a}"}

// slotsOf are these parts.
var slotsOf = [][2]int{{0, 5460}, {5461, 10922}, {10923, 16383}}

// groups starts raft groups as the shards of a cluster.
func (b *bench) groups(ctx context.Context, shards int) (*site, error) {
	s := &site{name: "three groups", keys: keysOf[:shards]}
	if shards == 1 {
		s.name = "one group"
	}
	var all []*group
	for range shards {
		g, err := b.newGroup(ctx)
		if err != nil {
			return nil, err
		}
		all = append(all, g)
		for i, p := range g.processes {
			s.machines[i] = append(s.machines[i], p)
		}
		s.addresses = append(s.addresses, g.clients...)
	}
	for i, g := range all {
		first, last := slotsOf[i][0], slotsOf[i][1]
		if shards == 1 {
			last = slotsOf[members-1][1]
		}
		g.more = []string{"--cluster-enabled", "yes", "--cluster-name", "bench", "--cluster-shard", fmt.Sprint("s", i+1),
			"--cluster-slots", fmt.Sprint(first, "-", last), "--cluster-peers", strings.Join(all[(i+1)%shards].clients, " ")}
		if shards == 1 {
			g.more = g.more[:len(g.more)-2]
		}
		if err := g.start(); err != nil {
			s.kill()
			return nil, err
		}
	}
	s.leader = func(shard int) int { return all[shard].leads() }
	s.lead = func(shard, machine int) {
		if at := s.leader(shard); at >= 0 {
			_, _ = do(all[shard].clients[at], "RAFT", "TRANSFER", fmt.Sprint("m", machine)) // it is asked again
		}
	}
	s.steady = func() bool {
		return !slices.ContainsFunc(all, func(g *group) bool { return !g.isThere() }) &&
			!slices.ContainsFunc(s.addresses, func(a string) bool { return !strings.Contains(clusterInfo(a), "cluster_slots_ok:16384") })
	}
	return s, nil
}

// leads returns the member that leads, or -1.
func (g *group) leads() int {
	return slices.IndexFunc(g.clients, func(address string) bool {
		text, _ := do(address, "INFO", "raft")
		return strings.Contains(text, "raft_role:leader")
	})
}

// do sends a command on a new connection.
func do(address string, words ...string) (string, error) {
	c, err := benchkit.Dial(address)
	if err != nil {
		return "", err
	}
	defer c.Close()
	return c.Do(words...)
}

// nodeTimeoutMS is the time after which a Redis Cluster holds a node for dead. The default is 15000.
const nodeTimeoutMS = "1000"

// redisCluster starts three masters with two replicas each.
func (b *bench) redisCluster(ctx context.Context) (*site, error) {
	s := &site{name: "Redis Cluster", keys: keysOf}
	dir, err := os.MkdirTemp(b.Dir, "redis")
	if err != nil {
		return nil, err
	}
	ports, err := freePorts(2 * members * members)
	if err != nil {
		return nil, err
	}
	at := func(shard, machine int) string { return "127.0.0.1:" + ports[shard*members+machine] }
	for shard := range members {
		for machine := range members {
			n := shard*members + machine
			own := filepath.Join(dir, fmt.Sprint(n))
			if err := os.Mkdir(own, 0o700); err != nil {
				return nil, err
			}
			p := &process{name: fmt.Sprint("redis-", n), log: own + ".log", command: func() *exec.Cmd {
				return exec.CommandContext(ctx, b.Redis, "--port", ports[n], "--cluster-port", ports[members*members+n], "--bind", "127.0.0.1", "--dir", own,
					"--cluster-enabled", "yes", "--cluster-node-timeout", nodeTimeoutMS, "--appendonly", "yes", "--save", "", "--repl-diskless-sync-delay", "0")
			}}
			s.machines[machine] = append(s.machines[machine], p)
			s.addresses = append(s.addresses, at(shard, machine))
			if err := p.start(); err != nil {
				s.kill()
				return nil, err
			}
		}
	}
	info := func(shard, machine int, section string) string {
		text, _ := do(at(shard, machine), "INFO", section)
		return text
	}
	s.leader = func(shard int) int {
		for machine := range members {
			if strings.Contains(info(shard, machine, "replication"), "role:master") {
				return machine
			}
		}
		return -1
	}
	s.lead = func(shard, machine int) { _, _ = do(at(shard, machine), "CLUSTER", "FAILOVER") } // it is asked again
	s.steady = func() bool {
		for shard := range members {
			if !steadyShard(at, shard, s.leader(shard)) {
				return false
			}
		}
		return true
	}
	if err := formRedis(ctx, at, func(n int) string { return ports[members*members+n] }); err != nil {
		s.kill()
		return nil, err
	}
	return s, nil
}

// steadyShard reports whether both replicas of a shard follow its master. A failover may leave a replica of a
// replica behind. It is made one of the master.
func steadyShard(at func(shard, machine int) string, shard, leader int) bool {
	if leader < 0 {
		return false
	}
	steady := true
	for machine := range members {
		text, _ := do(at(shard, machine), "INFO", "replication")
		_, port, _ := strings.Cut(at(shard, leader), ":")
		switch {
		case machine == leader:
			steady = steady && strings.Contains(text, "connected_slaves:2")
		case !strings.Contains(text, "role:slave") || !strings.Contains(text, "master_port:"+port):
			steady = false
			if id, err := do(at(shard, leader), "CLUSTER", "MYID"); err == nil {
				_, _ = do(at(shard, machine), "CLUSTER", "REPLICATE", id) // it is asked again
			}
		}
		steady = steady && (machine == leader || strings.Contains(text, "master_link_status:up")) && strings.Contains(clusterInfo(at(shard, machine)), "cluster_state:ok")
	}
	return steady
}

func clusterInfo(address string) string {
	text, _ := do(address, "CLUSTER", "INFO")
	return text
}

// formRedis makes the cluster out of its nodes: machine 0 has all masters at first.
func formRedis(ctx context.Context, at func(shard, machine int) string, bus func(n int) string) error {
	ask := func(address string, words ...string) (text string, err error) {
		bad := until(ctx, fmt.Sprint(address, " ", words), func() bool {
			text, err = do(address, words...)
			return err == nil
		})
		if bad != nil {
			return "", fmt.Errorf("%w: %w", bad, err)
		}
		return text, nil
	}
	for shard := range members {
		if _, err := ask(at(shard, 0), "CLUSTER", "ADDSLOTSRANGE", strconv.Itoa(slotsOf[shard][0]), strconv.Itoa(slotsOf[shard][1])); err != nil {
			return err
		}
	}
	for n := 1; n < members*members; n++ {
		host, port, _ := strings.Cut(at(n/members, n%members), ":")
		if _, err := ask(at(0, 0), "CLUSTER", "MEET", host, port, bus(n)); err != nil {
			return err
		}
	}
	for shard := range members {
		id, err := ask(at(shard, 0), "CLUSTER", "MYID")
		if err != nil {
			return err
		}
		for machine := 1; machine < members; machine++ {
			if _, err := ask(at(shard, machine), "CLUSTER", "REPLICATE", id); err != nil {
				return err
			}
		}
	}
	return nil
}
