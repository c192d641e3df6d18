//go:build netns

package vanish

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/internal/resp"
	"lockserver/tests/testkit"
)

// slotsOf has the slots of each shard. Each machine has one member of each shard.
var slotsOf = [...]string{"0-5460", "5461-10922", "10923-16383"}

// machines is a cluster of raft groups on three hosts. Each host is a machine with a member of each group.
type machines struct {
	*lan
	t       *testing.T
	members [members][len(slotsOf)]*member
}

// member is a process: the member of a shard on a machine.
type member struct {
	*testkit.Process
	client string // its address for clients
	socket string // its address for this process, whatever is cut
}

// portOf returns the port for clients of each member of a shard, and raftOf that for its other members.
func portOf(shard int) string { return fmt.Sprint(6381 + shard) }
func raftOf(shard int) string { return fmt.Sprint(7001 + shard) }

// newMachines starts the cluster. There is a host for clients, and more if asked.
func newMachines(t *testing.T, more int) *machines {
	t.Helper()
	m := &machines{lan: newLAN(t, members+1+more), t: t}
	for machine := range m.members {
		for shard := range m.members[machine] {
			m.members[machine][shard] = m.prepare(machine, shard)
		}
	}
	for machine := range m.members {
		m.start(machine)
	}
	return m
}

// prepare prepares a member. The members of all shards have the same ids.
func (m *machines) prepare(machine, shard int) *member {
	var group, others []string
	for i := range members {
		group = append(group, fmt.Sprintf("%c=%s:%s/%s:%s", 'a'+i, address(i), raftOf(shard), address(i), portOf(shard)))
		others = append(others, address(i)+":"+portOf((shard+1)%len(slotsOf)))
	}
	dir, err := os.MkdirTemp("", "ls") // short, because the path of a socket is limited
	require.NoError(m.t, err)
	m.t.Cleanup(func() { _ = os.RemoveAll(dir) })
	p := &member{client: address(machine) + ":" + portOf(shard), socket: filepath.Join(dir, "s")}
	p.Process = m.hosts[machine].prepare(m.t, testkit.Command{Dir: dir, Ready: func() bool { return p.ask("PING").Kind != 0 }},
		"--bind", address(machine), "--port", portOf(shard), "--protected-mode", "no",
		"--unixsocket", p.socket, "--enable-debug-command", "yes", "--raft-id", string(rune('a'+machine)),
		"--raft-listen", address(machine)+":"+raftOf(shard), "--raft-tls", "no", "--raft-members", strings.Join(group, " "),
		"--cluster-enabled", "yes", "--cluster-name", "shop", "--cluster-shard", fmt.Sprint("s", shard+1),
		"--cluster-slots", slotsOf[shard], "--cluster-peers", strings.Join(others, " "))
	return p
}

// ask sends a member a command past the network. Without a reply the value has no kind.
func (p *member) ask(words ...string) (v resp.Value) {
	nc, err := net.Dial("unix", p.socket)
	if err != nil {
		return v
	}
	defer func() { _ = nc.Close() }()
	v, _ = caller{nc, bufio.NewReader(nc), callWithin}.call(words...)
	return v
}

// leads reports whether a member leads its shard, and in which term.
func (p *member) leads() (term string, ok bool) {
	info := p.ask("RAFT", "INFO").Str
	_, rest, _ := strings.Cut(info, "raft_term:")
	term, _, _ = strings.Cut(rest, "\r\n")
	return term, strings.Contains(info, "raft_role:leader")
}

// start starts all processes of a machine.
func (m *machines) start(machine int) {
	m.t.Helper()
	for _, p := range m.members[machine] {
		require.NoError(m.t, p.Launch())
	}
	for _, p := range m.members[machine] {
		require.NoError(m.t, p.AwaitReady())
	}
}

// eventually waits for a condition. A cluster may need several elections for it.
func (m *machines) eventually(what string, so func() bool) {
	m.t.Helper()
	require.Eventually(m.t, so, 2*time.Minute, 20*time.Millisecond, what)
}

// leader returns the machine that leads a shard, and the term; -1 if none of the given machines does.
func (m *machines) leader(shard int, of ...int) (machine int, term string) {
	for _, i := range of {
		if term, leads := m.members[i][shard].leads(); leads {
			return i, term
		}
	}
	return -1, ""
}

// spread waits until each machine leads one shard. An operator's tool asks for it.
func (m *machines) spread() {
	m.t.Helper()
	var last string
	m.eventually("each machine leads one shard", func() bool {
		cmd := exec.Command("ip", "netns", "exec", m.hosts[outside].namespace, testkit.Lockserver(m.t), "cluster", "balance", "--addr", m.members[0][0].client)
		out, _ := cmd.CombinedOutput() // it may come while a shard has no leader
		if last != string(out) {
			m.t.Logf("cluster balance: %s", strings.TrimSpace(string(out)))
			last = string(out)
		}
		var all []int
		for shard := range slotsOf {
			i, _ := m.leader(shard, 0, 1, 2)
			all = append(all, i)
		}
		slices.Sort(all)
		return slices.Equal(all, []int{0, 1, 2})
	})
}

// together runs a function for each process of a machine, at the same time.
func (m *machines) together(machine int, do func(p *member)) {
	var all sync.WaitGroup
	for _, p := range m.members[machine] {
		all.Go(func() { do(p) })
	}
	all.Wait()
}

// isolate cuts a machine off from the other machines, and from clients as well if asked.
func (m *machines) isolate(machine int, clients bool) {
	for other := range m.hosts {
		if other < outside || clients {
			m.cut(machine, other, true)
			m.cut(other, machine, true)
		}
	}
}

// same waits until the members of each shard have the same data.
func (m *machines) same() {
	m.t.Helper()
	for shard := range slotsOf {
		m.eventually("the members have the same data", func() bool {
			all := map[string]bool{}
			for machine := range members {
				all[m.members[machine][shard].ask("DEBUG", "DIGEST").Str] = true
			}
			return len(all) == 1 && !all[""]
		})
	}
}

// trouble is a way in which a machine fails, and how it is mended.
type trouble struct {
	name       string
	begin, end func(m *machines, machine int)
}

// troubles are all ways in which a machine fails.
var troubles = []trouble{
	{"killed", func(m *machines, machine int) { m.together(machine, func(p *member) { p.Kill() }) }, (*machines).start},
	{"paused", func(m *machines, machine int) {
		m.together(machine, func(p *member) { _ = p.Pause() })
	}, func(m *machines, machine int) {
		m.together(machine, func(p *member) { _ = p.Continue() })
	}},
	{"cut off", func(m *machines, machine int) { m.isolate(machine, true) }, func(m *machines, _ int) { m.mend() }},
	{"cut off from the other machines", func(m *machines, machine int) { m.isolate(machine, false) }, func(m *machines, _ int) { m.mend() }},
}

// doorsOf and countersOf are how many locks and numbers the visitors of each shard use.
const doorsOf, countersOf = 2, 3

// crowd are the visitors of a cluster, and what they use.
type crowd struct {
	tally
	of       *machines
	counters [len(slotsOf)][countersOf]counter
	counting [len(slotsOf)][countersOf]visitor // the visitor that counts each number up
	doors    [len(slotsOf)][doorsOf]door
	stop     chan struct{}
	all      sync.WaitGroup
}

// newCrowd starts the visitors. Each shard has a visitor for each number, two for each lock, and a reader.
func newCrowd(m *machines) *crowd {
	c := &crowd{of: m, stop: make(chan struct{})}
	for shard := range slotsOf {
		for i := range c.counters[shard] {
			n := &c.counters[shard][i]
			n.key = keyOf(shard, i)
			c.live(&c.counting[shard][i], func(v *visitor, _ int) { n.count(v) })
		}
		c.live(&visitor{}, func(v *visitor, turn int) { c.counters[shard][turn%countersOf].read(v) })
		for i := range c.doors[shard] {
			d := &c.doors[shard][i]
			d.lock = keyOf(shard, countersOf+i)
			d.list = d.lock + ":list"
			for owner := range 2 {
				c.live(&visitor{}, func(v *visitor, turn int) { d.visit(v, fmt.Sprint(owner, "-", turn)) })
			}
		}
	}
	return c
}

// live lets a visitor do something again and again.
func (c *crowd) live(v *visitor, do func(v *visitor, turn int)) {
	v.tally, v.of, v.at = &c.tally, c.of, c.of.members[0][0].client
	c.all.Go(func() {
		for turn := 0; ; turn++ {
			select {
			case <-c.stop:
				v.leave("")
				return
			case <-time.After(rest):
				do(v, turn)
			}
		}
	})
}

// served waits until each number of each shard was counted up several times.
func (c *crowd) served(what string) {
	c.of.t.Helper()
	for shard := range slotsOf {
		for i := range c.counters[shard] {
			n := &c.counters[shard][i]
			before := n.acked.Load()
			c.of.eventually(what+": "+n.key, func() bool { return n.acked.Load() > before+10 })
		}
	}
}

// calm returns what a visitor has seen of trouble so far.
type calm struct{ refused, redirected, lost int64 }

func (v *visitor) calm() calm { return calm{v.refused.Load(), v.redirected.Load(), v.lost.Load()} }

// suffer lets a machine fail, and mends it. Each shard serves without it. The clients of the shards that it
// does not lead see nothing, unless these have had an election as well, as on a busy machine.
func (c *crowd) suffer(what trouble, machine int) {
	m := c.of
	m.t.Helper()
	var terms [len(slotsOf)]string
	var before [len(slotsOf)][countersOf]calm
	others := slices.DeleteFunc([]int{0, 1, 2}, func(i int) bool { return i == machine })
	for shard := range slotsOf {
		_, terms[shard] = m.leader(shard, others...)
	}
	c.served("before it is " + what.name) // all visitors have found these leaders
	for shard := range slotsOf {
		for i := range c.counting[shard] {
			before[shard][i] = c.counting[shard][i].calm()
		}
	}
	ask := c.acquaint(machine)
	what.begin(m, machine)
	for shard := range slotsOf {
		m.eventually("another machine leads", func() bool {
			i, _ := m.leader(shard, others...)
			return i >= 0
		})
	}
	c.served(what.name)
	for shard := range slotsOf {
		_, term := m.leader(shard, others...)
		for i := range c.counting[shard] {
			now := c.counting[shard][i].calm()
			if terms[shard] == "" || term != terms[shard] || now.lost != before[shard][i].lost {
				continue
			}
			require.Equal(m.t, before[shard][i], now, "a machine is %s that does not lead the shard %d", what.name, shard+1)
		}
	}
	answered := ask()
	what.end(m, machine)
	answered()
	m.spread()
	c.served(what.name + ", and is back")
}

// acquaint connects a visitor with each member of a machine, for each number. The visitors read the numbers
// when ask is called, and answered waits for the replies. A member that led before its trouble may not know
// yet that another leads, and has old numbers.
func (c *crowd) acquaint(machine int) (ask func() (answered func())) {
	var visits []func()
	for shard := range slotsOf {
		for i := range c.counters[shard] {
			v := &visitor{tally: &c.tally, of: c.of, at: c.of.members[machine][shard].client}
			require.NoError(c.of.t, v.connect())
			v.conn.within = 10 * callWithin // TCP may send the request again when the network is mended
			visits = append(visits, func() {
				c.counters[shard][i].read(v)
				v.leave("")
			})
		}
	}
	return func() (answered func()) {
		var all sync.WaitGroup
		for _, visit := range visits {
			all.Go(visit)
		}
		return all.Wait
	}
}

// check compares what the cluster has with what was acknowledged. No visitor is there any more.
func (c *crowd) check() {
	t := c.of.t
	t.Helper()
	v := &visitor{tally: &c.tally, of: c.of, at: c.of.members[0][0].client}
	read := func(words ...string) (value resp.Value) {
		c.of.eventually(words[1]+" is read", func() (ok bool) {
			var err error
			value, err = v.ask(words...)
			return err == nil
		})
		return value
	}
	for shard := range slotsOf {
		for i := range c.counters[shard] {
			c.counters[shard][i].read(v)
		}
		for i := range c.doors[shard] {
			d := &c.doors[shard][i]
			last, has := int64(0), map[int64]bool{}
			for _, e := range read("LRANGE", d.list, "0", "-1").Elems {
				token, err := strconv.ParseInt(e.Str, 10, 64)
				require.NoError(t, err)
				if token <= last {
					c.violated("%s has %d behind %d", d.list, token, last)
				}
				last, has[token] = token, true
			}
			require.NotEmpty(t, d.pushed)
			for _, token := range d.pushed {
				if !has[token] {
					c.violated("%s has not the token %d, which was acknowledged", d.list, token)
				}
			}
		}
	}
}

// TestMachines (D145): three raft groups are the shards of a cluster, and three machines have a member of
// each. Machines are killed, paused and cut off under load. No acknowledged write is lost, no read is old,
// no lock has two holders, and its tokens rise. The short form lets each trouble come once. MINUTES=n goes
// on for so long, and until there were 20,000 requests for each minute. SEED determines the machines.
func TestMachines(t *testing.T) {
	t.Parallel()
	seed, err := strconv.ParseUint("0"+os.Getenv("SEED"), 10, 64)
	require.NoError(t, err)
	minutes, err := strconv.ParseFloat("0"+os.Getenv("MINUTES"), 64)
	require.NoError(t, err)
	random := rand.New(rand.NewPCG(seed, 60))
	m := newMachines(t, 0)
	m.spread()
	c := newCrowd(m)
	end := sync.OnceFunc(func() { close(c.stop); c.all.Wait() })
	t.Cleanup(end)
	c.served("at first")
	rounds := 0
	for begun := time.Now(); rounds < len(troubles) || time.Since(begun).Minutes() < minutes || float64(c.requests.Load()) < 20_000*minutes; rounds++ {
		what, machine := troubles[rounds%len(troubles)], random.IntN(members)
		t.Logf("%v: machine %d is %s, after %d requests", time.Since(begun).Round(time.Second), machine, what.name, c.requests.Load())
		c.suffer(what, machine)
		require.Empty(t, c.found())
	}
	end()
	c.check()
	require.Empty(t, c.found())
	m.same()
	require.Less(t, c.most, tooMany, c.way)
	t.Logf("%d machines failed under %d requests: %d locks were given, %d tokens written, %d numbers read",
		rounds, c.requests.Load(), c.granted.Load(), c.pushed.Load(), c.tally.read.Load())
	t.Logf("%d redirections of one request at most (%s), more than %d of %d requests", c.most, c.way, usualRedirections, c.long)
}
