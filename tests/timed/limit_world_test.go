package timed

import (
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	"lockserver/server"
	"lockserver/tests/testkit"
)

// steps is the number of steps in a world.
const steps = 120

// limiter is one key with its history.
type limiter struct {
	key    string
	terms  terms
	grants []grant
}

// waiter is a connection that waits for limiters, or that gets the outcome as a push (NOTIFY).
type waiter struct {
	client *testkit.Client
	id     string
	owner  string     // for a wait with NOTIFY; "" means that the connection is blocked
	of     []*limiter // two for a LIMIT.MTAKE
	cost   int64
}

// limitWorld is a server with its limiters.
type limitWorld struct {
	base
	limiters []*limiter
	sales    []*sale
	waiters  []*waiter // in order of arrival
	named    int       // number of owners that had a wait so far
	elapsed  int64     // sum of the clock's forward moves in microseconds
}

// newLimitWorld starts the server of a seed.
func newLimitWorld(seed uint64) (w *limitWorld, err error) {
	w = &limitWorld{}
	if w.base, err = newBase(seed); err != nil {
		return nil, err
	}
	for i := range 3 {
		r := w.random
		of := terms{burst: 1 + r.Int64N(6), count: 1 + r.Int64N(7), periodMS: 1 + r.Int64N(100)}
		if i == 2 {
			of.periodMS = 1000 // CL.THROTTLE has no shorter period
		}
		w.limiters = append(w.limiters, &limiter{key: fmt.Sprint("limiter:", i), terms: of})
	}
	return w, w.openSales()
}

// hangUp closes all connections.
func (w *limitWorld) hangUp() {
	w.admin.Close()
	for _, waiting := range w.waiters {
		waiting.client.Close()
	}
	w.waiters = nil
}

// live plays the world. The error is a violation if the server is wrong.
func (w *limitWorld) live() error {
	for range steps {
		step := w.take
		switch n := w.random.IntN(100); {
		case n < 35:
		case n < 40:
			step = w.give
		case n < 47:
			step = w.order
		case n < 60:
			step = w.wait
		case n < 93:
			step = w.pass
		case n < 96:
			step = w.stepBack
		case n < 98:
			step = w.restart
		case n < 99:
			step = w.failOver
		}
		if err := step(); err != nil {
			return fmt.Errorf("seed %d: %w", w.seed, err)
		}
	}
	return w.finish()
}

// some chooses one or two limiters, and a cost that is at most the burst of each.
func (w *limitWorld) some() (of []*limiter, cost int64) {
	for _, i := range w.random.Perm(len(w.limiters))[:1+w.random.IntN(2)] {
		of = append(of, w.limiters[i])
	}
	most := of[0].terms.burst
	for _, l := range of {
		most = min(most, l.terms.burst)
	}
	return of, w.random.Int64N(most + 1)
}

// takes returns a call that takes a cost from limiters.
func takes(of []*limiter, cost int64) []string {
	if len(of) == 1 {
		return of[0].terms.args(of[0].key, cost)
	}
	args := []string{"LIMIT.MTAKE", fmt.Sprint(len(of))}
	for _, l := range of {
		args = append(args, l.terms.words(l.key)...)
	}
	return append(args, "COST", fmt.Sprint(cost))
}

func (w *limitWorld) take() error {
	of, cost := w.some()
	args, allowed := takes(of, cost), int64(1)
	if len(of) == 1 && of[0].terms.periodMS == 1000 && w.random.IntN(2) == 0 {
		args, allowed = of[0].terms.throttle(of[0].key, cost), 0
	}
	v, err := w.admin.Call(args...)
	if err != nil || v.IsError() {
		return fmt.Errorf("%q: %s %w", args, v, err)
	}
	if v.Elems[0].Int != allowed {
		w.counts["refused"]++
		return nil
	}
	w.counts["allowed"]++
	if len(of) > 1 {
		w.counts["allowed by two"]++
	}
	if cost == 0 {
		return nil
	}
	for _, waiting := range w.waiters {
		if slices.ContainsFunc(waiting.of, func(l *limiter) bool { return slices.Contains(of, l) }) {
			return &violation{fmt.Sprintf("%q passed a waiter", args)}
		}
	}
	return granted(of, w.elapsed, cost)
}

// give gives units back. If the limiter is nearly full these are more than it lacks.
func (w *limitWorld) give() error {
	l := w.limiters[w.random.IntN(len(w.limiters))]
	cost := 1 + w.random.Int64N(l.terms.burst)
	v, err := w.admin.Call(append(append([]string{"LIMIT.GIVE"}, l.terms.words(l.key)...), "COST", fmt.Sprint(cost))...)
	if err != nil || v.IsError() {
		return fmt.Errorf("LIMIT.GIVE: %s %w", v, err)
	}
	w.counts["given back"]++
	if err := granted([]*limiter{l}, w.elapsed, -cost); err != nil {
		return err
	}
	return w.collect()
}

// granted records a cost that was taken from limiters. A negative cost was given back.
func granted(of []*limiter, atUS, cost int64) error {
	for _, l := range of {
		l.grants = append(l.grants, grant{atUS, cost})
		if err := l.terms.check(l.grants); err != nil {
			return err
		}
	}
	return nil
}

// wait makes a new client take, and wait if the units are missing.
func (w *limitWorld) wait() error {
	if len(w.waiters) >= 6 {
		return nil
	}
	of, cost := w.some()
	c, err := dial(w.srv)
	if err != nil {
		return err
	}
	id, err := c.Call("CLIENT", "ID")
	if err != nil {
		return err
	}
	waiting := &waiter{client: c, id: id.String(), of: of, cost: max(cost, 1)}
	args := append(takes(of, waiting.cost), "WAIT", fmt.Sprint(w.random.IntN(200)))
	if w.random.IntN(2) == 0 {
		return w.queue(waiting, args)
	}
	if err := c.Ask(args...); err != nil {
		return err
	}
	w.waiters = append(w.waiters, waiting)
	// Either it has the reply, or it waits: the command has arrived when the server lists it.
	for end := time.Now().Add(patience); ; time.Sleep(50 * time.Microsecond) {
		list, err := w.admin.Call("CLIENT", "LIST", "ID", waiting.id)
		if err != nil {
			return err
		}
		if strings.Contains(list.Str, "cmd=limit.") {
			return w.collect()
		}
		if time.Now().After(end) {
			return errors.New("a command did not arrive")
		}
	}
}

// queue makes a client wait with NOTIFY.
func (w *limitWorld) queue(waiting *waiter, args []string) error {
	w.named++
	waiting.owner = fmt.Sprint("owner:", w.named)
	if v, err := waiting.client.Call("HELLO", "3"); err != nil || v.IsError() {
		return fmt.Errorf("HELLO: %s %w", v, err)
	}
	v, err := waiting.client.Call(append(args, "NOTIFY", waiting.owner)...)
	switch {
	case err != nil || v.IsError():
		return fmt.Errorf("%q: %s %w", args, v, err)
	case v.Str == "QUEUED":
		w.waiters = append(w.waiters, waiting)
		return nil
	}
	waiting.client.Close()
	return w.answered(waiting, v.Elems[0].Int == 1)
}

// waitsStill returns the waiters without an outcome.
func (w *limitWorld) waitsStill() (map[*waiter]bool, error) {
	clients, err := w.admin.Call("CLIENT", "LIST")
	if err != nil {
		return nil, err
	}
	queued, err := w.admin.Call("LOCK.WAITERS")
	if err != nil || queued.IsError() {
		return nil, fmt.Errorf("LOCK.WAITERS: %s %w", queued, err)
	}
	blocked, owners := map[string]bool{}, queued.String()
	for line := range strings.Lines(clients.Str) {
		id, _, _ := strings.Cut(strings.TrimPrefix(line, "id="), " ")
		blocked[id] = strings.Contains(line, "flags=b")
	}
	still := map[*waiter]bool{}
	for _, waiting := range w.waiters {
		still[waiting] = blocked[waiting.id] || waiting.owner != "" && strings.Contains(owners, fmt.Sprintf("%q", waiting.owner))
	}
	return still, nil
}

// collect reads the outcomes of waits that have ended.
func (w *limitWorld) collect() error {
	if len(w.waiters) == 0 {
		return nil
	}
	still, err := w.waitsStill()
	if err != nil {
		return err
	}
	before := map[*limiter]bool{} // limiters with an earlier waiter
	for _, waiting := range slices.Clone(w.waiters) {
		if still[waiting] {
			for _, l := range waiting.of {
				before[l] = true
			}
			continue
		}
		allowed, err := waiting.outcome()
		if err != nil {
			return err
		}
		waiting.client.Close()
		w.waiters = slices.DeleteFunc(w.waiters, func(o *waiter) bool { return o == waiting })
		if allowed && slices.ContainsFunc(waiting.of, func(l *limiter) bool { return before[l] }) {
			return &violation{fmt.Sprintf("a waiter of %s passed another one", waiting.keys())}
		}
		if err := w.answered(waiting, allowed); err != nil {
			return err
		}
	}
	return nil
}

// keys returns the keys of the limiters for which it waits.
func (waiting *waiter) keys() (keys []string) {
	for _, l := range waiting.of {
		keys = append(keys, l.key)
	}
	return keys
}

// outcome reads the reply, or the push, at the end of a wait.
func (waiting *waiter) outcome() (allowed bool, err error) {
	v, err := waiting.client.Next()
	switch {
	case err != nil || v.IsError():
		return false, fmt.Errorf("a waiter of %s: %s %w", waiting.keys(), v, err)
	case waiting.owner == "":
		return v.Elems[0].Int == 1, nil
	case len(v.Elems) != 4 || v.Elems[3].Str != waiting.owner:
		return false, &violation{fmt.Sprintf("%s was told %s", waiting.owner, v)}
	}
	return v.Elems[0].Str == "limit-granted", nil
}

// answered records the outcome of a wait.
func (w *limitWorld) answered(waiting *waiter, allowed bool) error {
	switch {
	case !allowed:
		w.counts["timed out"]++
		return nil
	case waiting.owner != "":
		w.counts["granted by push"]++
	}
	w.counts["granted"]++
	if len(waiting.of) > 1 {
		w.counts["granted by two"]++
	}
	return granted(waiting.of, w.elapsed, waiting.cost)
}

// pass advances the clock. It uses single milliseconds while there are waiters, so that it is known when they
// were served.
func (w *limitWorld) pass() error {
	if len(w.waiters) == 0 {
		d := time.Duration(w.random.Int64N(1+w.random.Int64N(300_000))) * time.Microsecond
		w.clock.Advance(d)
		w.elapsed += d.Microseconds()
		return nil
	}
	for range 1 + w.random.IntN(30) {
		us := 1000 - w.clock.NowUS()%1000 // waiters are served at whole milliseconds
		w.clock.Advance(time.Duration(us) * time.Microsecond)
		w.elapsed += us
		if err := w.collect(); err != nil {
			return err
		}
	}
	return nil
}

// stepBack sets the clock back. That counts as no time.
func (w *limitWorld) stepBack() error {
	w.counts["steps back"]++
	w.clock.Set(time.UnixMicro(w.clock.NowUS() - w.random.Int64N(200_000)))
	return nil
}

// restart ends the server and starts it from its log, or from a snapshot at its end.
func (w *limitWorld) restart() error {
	w.counts["restarts"]++
	if !w.logs() {
		if v, err := w.admin.Call("SAVE"); err != nil || v.IsError() {
			return fmt.Errorf("SAVE: %s %w", v, err)
		}
	}
	w.hangUp()
	if err := w.srv.Close(); err != nil {
		return err
	}
	var err error
	w.srv, w.admin, err = w.start(w.clock, w.dir)
	return err
}

// failOver lets a replica take over. Its clock may be ahead or behind.
func (w *limitWorld) failOver() error {
	w.counts["failovers"]++
	skew := w.random.Int64N(100_000) - 50_000
	clock := server.NewManualClock(time.UnixMicro(w.clock.NowUS() + skew))
	dir, err := os.MkdirTemp("", "timed")
	if err != nil {
		return err
	}
	srv, admin, err := w.start(clock, dir)
	if err != nil {
		return err
	}
	host, port, _ := net.SplitHostPort(w.srv.Addr().String())
	if _, err := admin.Call("REPLICAOF", host, port); err != nil {
		return err
	}
	if err := w.inStep(admin, clock); err != nil {
		return err
	}
	if v, err := admin.Call("REPLICAOF", "NO", "ONE"); err != nil || v.IsError() {
		return fmt.Errorf("REPLICAOF NO ONE: %s %w", v, err)
	}
	w.hangUp()
	_ = w.srv.Close()
	_ = os.RemoveAll(w.dir)
	w.srv, w.admin, w.clock, w.dir = srv, admin, clock, dir
	w.elapsed += max(skew, 0)
	return nil
}

// inStep waits until a replica has all limiters of its master.
func (w *limitWorld) inStep(replica *testkit.Client, clock *server.ManualClock) error {
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(time.Millisecond) {
		same := strings.Contains(info(replica), "master_link_status:up")
		for _, key := range w.keys() {
			a, err := w.admin.Call("DUMP", key)
			if err != nil {
				return err
			}
			b, err := replica.Call("DUMP", key)
			same = same && err == nil && (a.String() == b.String() || clock.NowUS() > w.clock.NowUS() && b.IsNull())
		}
		if same {
			return nil
		}
	}
	return errors.New("the replica is not in step")
}

// finish waits until all waiters have an outcome. Then all limiters become full, and their keys must be gone.
func (w *limitWorld) finish() error {
	for len(w.waiters) > 0 {
		if err := w.pass(); err != nil {
			return fmt.Errorf("seed %d: %w", w.seed, err)
		}
	}
	w.clock.Advance(time.Hour)
	if err := w.closeSales(); err != nil {
		return err
	}
	if v, err := w.admin.Call("DBSIZE"); err != nil || v.Int != 0 {
		return &violation{fmt.Sprintf("seed %d: %s keys are left of idle limiters (%v)", w.seed, v, err)}
	}
	return nil
}
