package raftbench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"lockserver/tests/bench/benchkit"
)

// Outages is a separate suite. It measures how long a large group acknowledges nothing when its leader is
// stopped, and how soon a new leader serves.
func Outages() benchkit.Suite {
	b := &bench{}
	return benchkit.Suite{
		Name: "outages", Asks: "how long does a group with much data acknowledge nothing?", Written: benchkit.Apart,
		Prepare: func(_ context.Context, r benchkit.Run) ([]string, error) {
			b.Run, b.sizes = r, fullSizes()
			if r.Quick {
				b.sizes = quickSizes()
			}
			return []string{"- All servers are on the same disk"}, nil
		},
		Sections: []benchkit.Section{
			{Name: "pauses", Measures: "a leader that stands still again and again, under load", Run: b.pauses},
			{Name: "takeover", Measures: "a leader that is killed, with many deadlines", Run: b.takeovers},
		},
	}
}

const (
	// pause is how long a leader is stopped.
	pause = 2 * time.Second
	// answerLimit is how long a writer waits for a reply before it asks the next member.
	answerLimit = 250 * time.Millisecond
	// knownAfter is the time after which members know each other's versions.
	knownAfter = 10 * time.Second
	// mostToServe is the longest time from the election of a new leader until it serves, in ms.
	mostToServe = 2000.0 // ms
)

// pauses stops the leader again and again while clients write.
func (b *bench) pauses(ctx context.Context) error {
	b.Report.Text(fmt.Sprintf("## A leader that stands still\n\nA group with %s keys of 64 bytes. %d clients write to it all the time, each with one request under way, and ask the next member after an error, or after %v without an answer. "+
		"The leader is stopped (SIGSTOP) for %v, and goes on. An outage is the longest time without an acknowledged write, of all clients together, from the stop until all members have everything. "+
		"The time until the former leader is back is from its going on until it has everything.",
		benchkit.Grouped(float64(b.sizes.keys)), b.sizes.clients, answerLimit, pause))
	g, _, err := b.startGroup(ctx)
	if err != nil {
		return err
	}
	defer g.kill()
	if err := b.fillGroup(ctx, g, "0"); err != nil {
		return err
	}
	w := startWriters(ctx, g.clients, b.sizes.clients)
	defer w.end()
	var outages, backs []time.Duration
	for n := range b.sizes.pauses {
		leader, err := g.leader(ctx)
		if err != nil {
			return err
		}
		if err := benchkit.Rest(ctx, time.Second); err != nil {
			return err
		}
		w.begin()
		if err := g.processes[leader].cmd.Process.Signal(syscall.SIGSTOP); err != nil {
			return err
		}
		err = benchkit.Rest(ctx, pause)
		goneOn := time.Now()
		if failed := g.processes[leader].cmd.Process.Signal(syscall.SIGCONT); failed != nil || err != nil {
			return fmt.Errorf("%w: %w", err, failed)
		}
		if err := g.allThere(ctx); err != nil {
			return err
		}
		back := time.Since(goneOn)
		outage := w.longest()
		b.Say("pauses: %d: %.2f s without an acknowledged write, the former leader is back after %.2f s", n+1, outage.Seconds(), back.Seconds())
		outages, backs = append(outages, outage), append(backs, back)
	}
	slices.Sort(outages)
	slices.Sort(backs)
	median, longest := benchkit.InMS(benchkit.Percentile(outages, 0.5)), benchkit.InMS(outages[len(outages)-1])
	b.Report.Table([]string{"pauses", "least", "median", "target", "longest", "target", "former leader back, median", "longest"}, [][]string{{
		fmt.Sprint(len(outages)), benchkit.Milliseconds(benchkit.InMS(outages[0])),
		benchkit.Milliseconds(median), b.Report.AtMost("without an acknowledged write while a leader stands still, median", median, mostWithout, benchkit.Milliseconds),
		benchkit.Milliseconds(longest), b.Report.AtMost("without an acknowledged write while a leader stands still, longest", longest, longestWithout, benchkit.Milliseconds),
		benchkit.Milliseconds(benchkit.InMS(benchkit.Percentile(backs, 0.5))), benchkit.Milliseconds(benchkit.InMS(backs[len(backs)-1]))}})
	return nil
}

// takeovers kills the leader of a group with many deadlines.
func (b *bench) takeovers(ctx context.Context) error {
	b.Report.Text(fmt.Sprintf("## A new leader with many deadlines\n\nA group with %s keys, each with a deadline. All members are there for some seconds. Then both followers are stopped (SIGSTOP), the leader is killed (`kill -9`) %v later, "+
		"and they go on: all deadlines are moved on after such a time without a leader. From the election of the next one until it serves, as its log says. "+
		"From the kill until the next `LOCK` is acknowledged. The member that was killed starts again in between.", benchkit.Grouped(float64(b.sizes.keys)), pause))
	g, _, err := b.startGroup(ctx)
	if err != nil {
		return err
	}
	defer g.kill()
	if err := b.fillGroup(ctx, g, "36000000"); err != nil {
		return err
	}
	leader, err := g.leader(ctx)
	if err != nil {
		return err
	}
	var serving, without []time.Duration
	for n := range b.sizes.takeovers {
		if err := benchkit.Rest(ctx, knownAfter); err != nil {
			return err
		}
		begun, err := g.beheaded(ctx, leader)
		if err != nil {
			return err
		}
		all := &asker{addresses: g.clients}
		if _, err := take(ctx, all.lock, fmt.Sprint("lock:", n)); err != nil {
			return err
		}
		without = append(without, time.Since(begun))
		next, err := g.leader(ctx)
		if err != nil {
			return err
		}
		took, err := g.processes[next].servedAfter(b.sizes.keys)
		if err != nil {
			return err
		}
		serving = append(serving, took)
		b.Say("takeover: %d: serves %.2f s after its election; %.2f s without a lock", n+1, took.Seconds(), without[n].Seconds())
		if leader, err = b.back(ctx, g, leader); err != nil {
			return err
		}
	}
	slices.Sort(serving)
	slices.Sort(without)
	median, longest := benchkit.InMS(benchkit.Percentile(serving, 0.5)), benchkit.InMS(serving[len(serving)-1])
	b.Report.Table([]string{"elections", "until it serves, median", "longest", "target", "kill until a LOCK, median", "longest"}, [][]string{{
		fmt.Sprint(len(serving)), benchkit.Milliseconds(median),
		benchkit.Milliseconds(longest), b.Report.AtMost("from an election until the leader serves, with many deadlines", longest, mostToServe, benchkit.Milliseconds),
		benchkit.Milliseconds(benchkit.InMS(benchkit.Percentile(without, 0.5))), benchkit.Milliseconds(benchkit.InMS(without[len(without)-1]))}})
	return nil
}

// beheaded kills the leader, after a time in which it could tell the others nothing, and returns the time of
// the kill.
func (g *group) beheaded(ctx context.Context, leader int) (at time.Time, err error) {
	signal := func(s syscall.Signal) {
		for i, p := range g.processes {
			if i != leader {
				err = errors.Join(err, p.cmd.Process.Signal(s))
			}
		}
	}
	signal(syscall.SIGSTOP)
	err = errors.Join(err, benchkit.Rest(ctx, pause))
	at = time.Now()
	g.processes[leader].end(syscall.SIGKILL)
	signal(syscall.SIGCONT)
	return at, err
}

// mostFills is how often the keys are written again because the leader has changed meanwhile.
const mostFills = 3

// fillGroup writes the keys, with a time to live in milliseconds, or 0 for none.
func (b *bench) fillGroup(ctx context.Context, g *group, liveMS string) error {
	var failed error
	for range mostFills {
		leader, err := g.leader(ctx)
		if err != nil {
			return err
		}
		if failed = b.fill(ctx, g.clients[leader], liveMS); failed == nil {
			return nil
		}
	}
	return failed
}

// fill writes the keys to the leader.
func (b *bench) fill(ctx context.Context, address, liveMS string) error {
	fleet, err := benchkit.DialFleet(address, 10)
	if err != nil {
		return err
	}
	defer fleet.Close()
	value := fmt.Sprintf("%064d", 1)
	_, err = fleet.Send(ctx, benchkit.Traffic{Want: benchkit.Always("+OK"), Append: func(out []byte, n int) []byte {
		if liveMS == "0" {
			return benchkit.Command(out, 3).Arg("SET").Numbered("key:", n, "").Arg(value)
		}
		return benchkit.Command(out, 5).Arg("SET").Numbered("key:", n, "").Arg(value).Arg("PX").Arg(liveMS)
	}}, b.sizes.keys, 100)
	return err
}

// servedAfter returns the time from the last election of a leader until it served. It must have extended at
// least the given number of deadlines in that time.
func (p *process) servedAfter(deadlines int) (time.Duration, error) {
	const serves, field = "raft: this member leads", "served-after-ms="
	text, err := os.ReadFile(p.log)
	if err != nil {
		return 0, err
	}
	before, line, _ := cutLast(string(text), serves)
	_, since, _ := cutLast(before, serves)
	_, count, _ := cutLast(since, "deadlines=")
	if n, _ := strconv.Atoi(strings.Fields(count + " 0")[0]); n < deadlines {
		return 0, fmt.Errorf("%s has not moved %d deadlines on, for all that its log says\n%s", p.name, deadlines, p.logTail())
	}
	if _, after, ok := strings.Cut(line, field); ok {
		ms, err := strconv.ParseFloat(strings.Fields(after)[0], 64)
		return time.Duration(ms * float64(time.Millisecond)), err
	}
	return 0, fmt.Errorf("%s does not lead, for all that its log says\n%s", p.name, p.logTail())
}

// cutLast is strings.Cut at the last place. If there is none, after is the whole text.
func cutLast(text, at string) (before, after string, found bool) {
	i := strings.LastIndex(text, at)
	if i < 0 {
		return "", text, false
	}
	return text[:i], text[i+len(at):], true
}

// backLimit is the longest time until all members have all data.
const backLimit = 3 * time.Minute

// allThere waits until all members have all data of the leader.
func (g *group) allThere(ctx context.Context) error {
	for end := time.Now().Add(backLimit); time.Now().Before(end); {
		if g.isThere() {
			return nil
		}
		if err := benchkit.Rest(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
	return fmt.Errorf("the members do not get together\n%s", g.processes[0].logTail())
}

// isThere reports whether one member leads, and all others follow and have what it had committed before.
func (g *group) isThere() bool {
	commit := -1
	for i := range g.processes {
		if g.field(i, "raft_role") == "leader" {
			commit, _ = strconv.Atoi(g.field(i, "raft_commit_index"))
		}
	}
	if commit < 0 {
		return false
	}
	for i := range g.processes {
		role := g.field(i, "raft_role")
		has, _ := strconv.Atoi(g.field(i, "raft_applied_index"))
		if role != "leader" && role != "follower" || has < commit {
			return false
		}
	}
	return true
}

// writers are clients that write without a pause.
type writers struct {
	stop context.CancelFunc
	all  sync.WaitGroup

	mu    sync.Mutex
	begun time.Time // start of the round
	last  time.Time // time of the last acknowledged write, or the start of the round
	gap   time.Duration
}

// startWriters starts clients. Each starts with another member.
func startWriters(ctx context.Context, addresses []string, n int) *writers {
	ctx, stop := context.WithCancel(ctx)
	w := &writers{stop: stop, last: time.Now()}
	for i := range n {
		w.all.Go(func() { w.write(ctx, addresses, i) })
	}
	return w
}

// end ends the clients.
func (w *writers) end() {
	w.stop()
	w.all.Wait()
}

// begin begins a round.
func (w *writers) begin() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.begun = time.Now()
	w.last, w.gap = w.begun, 0
}

// longest returns the longest time without an acknowledged write since begin.
func (w *writers) longest() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return max(w.gap, time.Since(w.last))
}

// acknowledged is called for each acknowledged write.
func (w *writers) acknowledged() {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	w.gap, w.last = max(w.gap, now.Sub(w.last)), now
}

// write writes one key after the other.
func (w *writers) write(ctx context.Context, addresses []string, client int) {
	value, at := fmt.Sprintf("%064d", client), client
	var c *benchkit.Conn
	next := func() {
		if c != nil {
			c.Close()
		}
		c, at = nil, at+1
	}
	defer func() {
		if c != nil {
			c.Close()
		}
	}()
	for n := 0; ctx.Err() == nil; n++ {
		if c == nil {
			var err error
			if c, err = benchkit.Dial(addresses[at%len(addresses)]); err != nil {
				c, at = nil, at+1
				_ = benchkit.Rest(ctx, 10*time.Millisecond)
				continue
			}
		}
		_ = c.SetDeadline(time.Now().Add(answerLimit))
		request := benchkit.Command(nil, 3).Arg("SET").Numbered(fmt.Sprint("written:", client, ":"), n%1000, "").Arg(value)
		err := c.Write(request)
		if err == nil {
			err = c.Expect("+OK")
		}
		if err != nil {
			next()
			_ = benchkit.Rest(ctx, 10*time.Millisecond)
			continue
		}
		w.acknowledged()
	}
}
