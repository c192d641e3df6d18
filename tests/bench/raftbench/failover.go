package raftbench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"lockserver/tests/bench/benchkit"
)

// The longest times that a client may be without a leader after a kill: the median, and the maximum.
const (
	mostWithout    = 1500.0 // ms
	longestWithout = 3000.0
)

// failover kills the leader again and again. Each time two clients take a lock as soon as a member grants it.
// One asks each member in turn, which shows the group's own time. The other is go-redis' ClusterClient. By
// default it asks for the leader only once a minute, unless a member tells it, and a dead one does not. It
// tries five times to reach the old leader before it tries another member.
func (b *bench) failover(ctx context.Context) error {
	b.Report.Text(fmt.Sprintf("## A leader that is killed\n\nFrom `kill -9` of the leader until the next `LOCK` is acknowledged, of a client that asks each member in turn, and of go-redis' "+
		"ClusterClient (ClusterStateReloadInterval %v, DialerRetries 1, connected before). Both ask again 10 ms after an error. %d times; the one that was killed starts again in between.", reloadEvery, b.sizes.kills))
	g, leader, err := b.startGroup(ctx)
	if err != nil {
		return err
	}
	defer g.kill()
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: g.clients, ClusterStateReloadInterval: reloadEvery, DialerRetries: 1})
	defer func() { _ = client.Close() }()
	anyMember := &asker{addresses: g.clients}
	var took [2][]time.Duration
	var last int64
	for n := range b.sizes.kills {
		key := fmt.Sprint("lock:", n)
		if _, err := take(ctx, clusterLock(client), key+":before"); err != nil {
			return err
		}
		g.processes[leader].end(syscall.SIGKILL)
		begun := time.Now()
		both := make(chan taken, 2)
		for at, lock := range []lockCall{anyMember.lock, clusterLock(client)} {
			go func() {
				token, err := take(ctx, lock, fmt.Sprint(key, ":", at))
				both <- taken{at, time.Since(begun), token, err}
			}()
		}
		before := last
		for range 2 {
			t := <-both
			if t.err != nil {
				return t.err
			}
			if t.token <= before {
				return fmt.Errorf("token %d after %d", t.token, before)
			}
			last = max(last, t.token)
			took[t.who] = append(took[t.who], t.after)
		}
		if leader, err = b.back(ctx, g, leader); err != nil {
			return err
		}
	}
	var rows [][]string
	for at, who := range []string{"asks each member", "go-redis' ClusterClient"} {
		all := slices.Sorted(slices.Values(took[at]))
		median, longest := benchkit.InMS(benchkit.Percentile(all, 0.5)), benchkit.InMS(all[len(all)-1])
		rows = append(rows, []string{who, fmt.Sprint(len(all)), benchkit.Milliseconds(benchkit.InMS(all[0])),
			benchkit.Milliseconds(median), b.Report.AtMost("kill -9 of the leader until a LOCK, median, "+who, median, mostWithout, benchkit.Milliseconds),
			benchkit.Milliseconds(longest), b.Report.AtMost("kill -9 of the leader until a LOCK, longest, "+who, longest, longestWithout, benchkit.Milliseconds)})
	}
	b.Report.Table([]string{"client", "kills", "least", "median", "target", "longest", "target"}, rows)
	return nil
}

// reloadEvery is how often go-redis asks for the leader.
const reloadEvery = 250 * time.Millisecond

// taken is an acknowledged lock.
type taken struct {
	who   int
	after time.Duration
	token int64
	err   error
}

// lockCall asks for a lock, once, and returns its token.
type lockCall func(ctx context.Context, key string) (token int64, err error)

func clusterLock(client *redis.ClusterClient) lockCall {
	return func(ctx context.Context, key string) (int64, error) {
		return client.Do(ctx, "LOCK", key, "worker-1", "PX", "600000").Int64()
	}
}

// asker asks one member after the other.
type asker struct {
	addresses []string
	at        int
	conn      *benchkit.Conn
}

// lock implements lockCall.
func (a *asker) lock(_ context.Context, key string) (token int64, err error) {
	if a.conn == nil {
		a.at = (a.at + 1) % len(a.addresses)
		if a.conn, err = benchkit.Dial(a.addresses[a.at]); err != nil {
			a.conn = nil
			return 0, err
		}
	}
	text, err := a.conn.Do("LOCK", key, "worker-1", "PX", "600000")
	if err != nil {
		a.conn.Close()
		a.conn = nil
		return 0, err
	}
	return strconv.ParseInt(text, 10, 64)
}

// take takes a lock as soon as a member grants it, and returns its token.
func take(ctx context.Context, lock lockCall, key string) (int64, error) {
	var err error
	for end := time.Now().Add(readyLimit); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		var token int64
		token, err = lock(ctx, key)
		if err == nil && token > 0 {
			return token, nil
		}
		if ctx.Err() != nil {
			return 0, ctx.Err()
		}
	}
	return 0, errors.Join(errors.New("no LOCK was acknowledged"), err)
}

// back starts a member again, waits until it follows, and returns the leader.
func (b *bench) back(ctx context.Context, g *group, which int) (leader int, err error) {
	if err := g.processes[which].start(); err != nil {
		return 0, err
	}
	if leader, err = g.leader(ctx); err != nil {
		return 0, err
	}
	return leader, g.caughtUp(ctx, which, leader)
}

// caughtUp waits until a member has all data of the leader.
func (g *group) caughtUp(ctx context.Context, which, leader int) error {
	for end := time.Now().Add(readyLimit); time.Now().Before(end); {
		has, want := g.field(which, "raft_applied_index"), g.field(leader, "raft_commit_index")
		if has != "" && has == want {
			return nil
		}
		if err := benchkit.Rest(ctx, 5*time.Millisecond); err != nil {
			return err
		}
	}
	return fmt.Errorf("%s does not catch up\n%s", g.processes[which].name, g.processes[which].logTail())
}
