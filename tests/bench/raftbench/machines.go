package raftbench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"lockserver/tests/bench/benchkit"
)

// Machines is a separate suite. It measures how long a shard does not answer after the machine of its leader
// was killed, and what the other shards see of it.
func Machines() benchkit.Suite {
	b := &bench{}
	return benchkit.Suite{
		Name: "machines", Asks: "how long does a shard not answer whose machine is killed, beside a Redis Cluster?", Written: benchkit.Apart, Needs: []string{benchkit.NeedsRedis},
		Prepare: func(_ context.Context, r benchkit.Run) ([]string, error) {
			b.Run, b.sizes = r, fullSizes()
			if r.Quick {
				b.sizes = quickSizes()
			}
			return []string{"- All servers are on the same disk"}, nil
		},
		Sections: []benchkit.Section{{Name: "killed", Measures: "a machine that is killed again and again, under load", Run: b.machines}},
	}
}

const (
	// clientsOf is the number of clients of each shard.
	clientsOf = 8
	// mostRedirected is how often a request may be redirected after a failover.
	mostRedirected = 2
	// writePause is the pause of a client between two requests, and between two looks at a condition.
	writePause = 10 * time.Millisecond
)

// machines kills one machine after the other.
func (b *bench) machines(ctx context.Context) error {
	b.Report.Text(fmt.Sprintf("## A machine that is killed\n\nThree raft groups of three are the shards of a cluster. Each of three machines has a member of each, and leads one: a machine is processes that are killed together (`kill -9`). "+
		"Beside them one group, and a Redis Cluster with three masters and two replicas each (cluster-node-timeout %s ms, whose default is 15000; appendonly yes). %d clients of each shard count numbers up, each with one request under way and %v between two. "+
		"They go where they are redirected, and ask the next process after an error, or after %v without an answer. %d times; the machine starts again in between, and the leads are spread again. "+
		"The time is from the kill until the shard that the machine led answers again: the longest time without an acknowledged write, of all its clients together. Of the other shards it is the longest time as well. "+
		"A map is old if it does not name the leader a second after the leads were spread. "+
		"An acknowledged write is lost if a number is lower than one that was acknowledged. The system still sends what a killed process had written, so fewer are lost than with a machine that has no power.",
		nodeTimeoutMS, clientsOf, writePause, answerLimit, b.sizes.kills/2))
	var rows [][]string
	for _, start := range []func() (*site, error){
		func() (*site, error) { return b.groups(ctx, members) },
		func() (*site, error) { return b.groups(ctx, 1) },
		func() (*site, error) { return b.redisCluster(ctx) },
	} {
		s, err := start()
		if err != nil {
			return err
		}
		row, err := b.crashes(ctx, s)
		s.kill()
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		rows = append(rows, row)
	}
	b.Report.Table([]string{"servers", "kills", "least", "median", "target", "longest", "target", "others, longest", "old maps", "redirections by a right map", "after a failover, at most", "acknowledged", "lost"}, rows)
	return nil
}

// crashes kills the machines of a site in turn, and returns its row.
func (b *bench) crashes(ctx context.Context, s *site) (row []string, err error) {
	if err := s.spread(ctx); err != nil {
		return nil, err
	}
	all := startCounters(ctx, s)
	defer func() { all.end() }()
	var led []time.Duration
	var others time.Duration
	var seen maps
	for n := range b.sizes.kills / 2 {
		if err := s.spread(ctx); err != nil {
			return nil, err
		}
		if err := benchkit.Rest(ctx, time.Second); err != nil { // all have the new map
			return nil, err
		}
		if err := seen.look(ctx, s); err != nil {
			return nil, err
		}
		shard, machine := n%len(s.keys), n%members
		if len(s.keys) == 1 {
			machine = s.leader(shard)
		}
		for _, w := range all.shards {
			w.begin()
		}
		s.crash(machine)
		if err := until(ctx, "each shard answers each client", func() bool { return all.answered() }); err != nil {
			return nil, err
		}
		led = append(led, all.shards[shard].longest())
		for i, w := range all.shards {
			if i != shard {
				others = max(others, w.longest())
			}
		}
		b.Say("%s: %d: %.2f s until the shard answers", s.name, n+1, led[n].Seconds())
		if err := s.machines[machine].start(); err != nil {
			return nil, err
		}
	}
	if err := s.spread(ctx); err != nil {
		return nil, err
	}
	all.end()
	slices.Sort(led)
	median, longest := benchkit.InMS(benchkit.Percentile(led, 0.5)), benchkit.InMS(led[len(led)-1])
	row = []string{s.name, fmt.Sprint(len(led)), benchkit.Milliseconds(benchkit.InMS(led[0])), benchkit.Milliseconds(median), "", benchkit.Milliseconds(longest), "",
		benchkit.Milliseconds(benchkit.InMS(others)), fmt.Sprintf("%d of %d", seen.old, seen.all), fmt.Sprint(seen.wrong), fmt.Sprint(all.redirected.Load()), benchkit.Grouped(float64(all.acknowledged.Load())), benchkit.Grouped(float64(all.lost.Load()))}
	if len(s.keys) == 1 {
		row[7] = ""
	}
	if s.name == "three groups" {
		whole := func(x float64) string { return fmt.Sprint(int(x)) }
		row[4] = b.Report.AtMost("kill -9 of a machine until its shard answers, median", median, mostWithout, benchkit.Milliseconds)
		row[6] = b.Report.AtMost("kill -9 of a machine until its shard answers, longest", longest, longestWithout, benchkit.Milliseconds)
		row[9] += " " + b.Report.AtMost("redirections by a right map", float64(seen.wrong), 0, whole)
		row[10] += " " + b.Report.AtMost("redirections of a request after a failover", float64(all.redirected.Load()), mostRedirected, whole)
		row[12] += " " + b.Report.AtMost("acknowledged writes that are lost with a machine", float64(all.lost.Load()), 0, whole)
	}
	return row, nil
}

// maps counts the maps of processes, a second after the leads were spread.
type maps struct {
	all   int
	old   int // they name another process than the leader
	wrong int // they name the leader, which redirects the client nevertheless
}

// look asks each process for its map, and goes where it says, for each shard.
func (m *maps) look(ctx context.Context, s *site) error {
	for _, address := range s.addresses {
		c := redis.NewClient(&redis.Options{Addr: address, Protocol: 2, DisableIdentity: true})
		slots, err := c.ClusterSlots(ctx).Result()
		_ = c.Close()
		if err != nil {
			return err
		}
		for shard, key := range s.keys {
			at := slices.IndexFunc(slots, func(part redis.ClusterSlot) bool {
				return part.Start <= slotsOf[shard][0] && slotsOf[shard][0] <= part.End
			})
			if at < 0 {
				return fmt.Errorf("%s knows no owner of the slot %d", address, slotsOf[shard][0])
			}
			m.all++
			to := slots[at].Nodes[0].Addr
			_, refused := do(to, "GET", key)
			switch leader := s.leader(shard); {
			case leader < 0 || to != s.addresses[shard*members+leader]:
				m.old++
			case refused != nil:
				m.wrong++
			}
		}
	}
	return nil
}

// counters are the clients of all shards of a site.
type counters struct {
	shards []*writers
	all    []*counter
	end    func()

	redirected, acknowledged, lost sum
}

// sum is a number that several clients change.
type sum struct {
	mu sync.Mutex
	n  int
}

// Add adds to the number, and Max raises it.
func (s *sum) Add(n int) { s.mu.Lock(); s.n += n; s.mu.Unlock() }
func (s *sum) Max(n int) { s.mu.Lock(); s.n = max(s.n, n); s.mu.Unlock() }
func (s *sum) Load() int { s.mu.Lock(); defer s.mu.Unlock(); return s.n }

// counter is a client that counts one number up.
type counter struct {
	of   *counters
	site *site
	key  string
	at   string
	turn int
	conn *benchkit.Conn
	last int

	mu       sync.Mutex
	answered time.Time // when the last request was sent that was acknowledged
}

// startCounters starts the clients.
func startCounters(ctx context.Context, s *site) *counters {
	ctx, stop := context.WithCancel(ctx)
	all := &counters{}
	var running sync.WaitGroup
	all.end = func() { stop(); running.Wait() }
	for shard, key := range s.keys {
		w := &writers{last: time.Now()}
		all.shards = append(all.shards, w)
		for n := range clientsOf {
			c := &counter{of: all, site: s, key: fmt.Sprint(key, ":", n), turn: shard + n, at: s.addresses[0]}
			all.all = append(all.all, c)
			running.Go(func() {
				for benchkit.Rest(ctx, writePause) == nil {
					c.count(w)
				}
				c.leave("")
			})
		}
	}
	return all
}

// answered reports whether each client had an answer to a request that it sent after the last begin.
func (all *counters) answered() bool {
	for i, c := range all.all {
		w := all.shards[i/clientsOf]
		w.mu.Lock()
		begun := w.begun
		w.mu.Unlock()
		c.mu.Lock()
		at := c.answered
		c.mu.Unlock()
		if !at.After(begun) {
			return false
		}
	}
	return true
}

// count sends one request, and follows redirections.
func (c *counter) count(w *writers) {
	sent := time.Now()
	text, err := c.send()
	redirected := 0
	for moved := (benchkit.ReplyError)(""); errors.As(err, &moved) && strings.HasPrefix(string(moved), "MOVED ") && redirected < 10; redirected++ {
		c.leave(strings.Fields(string(moved))[2])
		text, err = c.send()
	}
	c.of.redirected.Max(redirected)
	if err != nil {
		c.turn++
		c.leave(c.site.addresses[c.turn%len(c.site.addresses)])
		return
	}
	w.acknowledged()
	c.of.acknowledged.Add(1)
	c.mu.Lock()
	c.answered = sent
	c.mu.Unlock()
	n, _ := strconv.Atoi(text)
	c.of.lost.Add(max(0, c.last+1-n))
	c.last = n
}

// leave makes it ask another process.
func (c *counter) leave(to string) {
	if c.conn != nil {
		c.conn.Close()
	}
	c.conn, c.at = nil, to
}

// send sends the request to the process at c.at.
func (c *counter) send() (text string, err error) {
	if c.conn == nil {
		if c.conn, err = benchkit.Dial(c.at); err != nil {
			c.conn = nil
			return "", err
		}
	}
	if err := c.conn.SetDeadline(time.Now().Add(answerLimit)); err != nil {
		return "", err
	}
	if err := c.conn.Write(benchkit.Command(nil, 2).Arg("INCR").Arg(c.key)); err != nil {
		return "", err
	}
	return c.conn.ReadText()
}
