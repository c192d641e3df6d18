package lockbench

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"lockserver/tests/bench/benchkit"
)

// costTarget is the largest cost of a LOCK, an UNLOCK and a hand-off on the large server, as a multiple of
// the small one.
const costTarget = 1.5

// growth is the growth of a server's resident memory because of count things.
type growth struct {
	what          string
	count         int
	before, after int64 // bytes
}

func (g growth) row() []string {
	return []string{g.what, benchkit.Grouped(float64(g.count)), benchkit.Mebibytes(float64(g.before)), benchkit.Mebibytes(float64(g.after)),
		benchkit.Grouped(float64(g.after-g.before) / float64(g.count))}
}

// grow calls do and records the memory of the server before and after, each time after a rest.
func (b *bench) grow(s *benchkit.Server, what string, rest func() error, do func() (count int, err error)) (growth, error) {
	g := growth{what: what}
	err := rest()
	if err == nil {
		g.before, err = s.Resident()
	}
	if err == nil {
		g.count, err = do()
	}
	if err == nil {
		err = rest()
	}
	if err == nil {
		g.after, err = s.Resident()
	}
	if err == nil {
		b.Say("scale: %s: %s", s.Name, strings.Join(g.row(), ", "))
	}
	return g, err
}

// pair holds a server with few locks and waiters and one with many.
type pair [2]*benchkit.Server

// startPair starts two servers, each for a given number of clients.
func (b *bench) startPair(ctx context.Context, product func(name string, clients int) (benchkit.Product, error)) (servers pair, stop func(), err error) {
	stop = func() {
		for _, s := range servers {
			if s != nil {
				s.Stop()
			}
		}
	}
	for i, name := range []string{"small", "large"} {
		p, err := product(name, b.sizes.waiters)
		if err == nil {
			servers[i], err = benchkit.StartFresh(ctx, p, b.Dir)
		}
		if err != nil {
			stop()
			return servers, nil, err
		}
	}
	return servers, stop, nil
}

// program returns the server program with space for this number of clients.
func (b *bench) program(name string, clients int) (benchkit.Product, error) {
	return benchkit.Product{Name: name, Path: b.lockserver.Path, Args: []string{"--maxclients", strconv.Itoa(clients + spareFiles)}}, nil
}

// scale compares a server with few locks and waiters with one that has very many.
func (b *bench) scale(ctx context.Context) error {
	requests, err := b.lockScale(ctx)
	if err != nil {
		return err
	}
	memory, how, handoffs, err := b.waiterScale(ctx)
	if err != nil {
		return err
	}
	requests = append(requests, measured{"hand-off", 1, benchkit.Grouped(float64(b.sizes.waiters)) + " waiters", handoffs})
	b.scaleReport(how, memory, requests)
	return nil
}

// measured holds the CPU time of a request on the two servers.
type measured struct {
	request  string
	pipeline int
	many     string // the large server has many of these
	us       benchkit.Rounds
}

// lockScale fills two servers with locks and measures LOCK and UNLOCK on them in turn. membench measures the
// memory of a lock.
func (b *bench) lockScale(ctx context.Context) (costs []measured, err error) {
	servers, stop, err := b.startPair(ctx, b.program)
	if err != nil {
		return nil, err
	}
	defer stop()
	var churns [2]*churn
	for i, n := range []int{b.sizes.few, b.sizes.locks} {
		s := servers[i]
		held, err := holdLocks(ctx, s, n)
		if err != nil {
			return nil, err
		}
		if churns[i], err = newChurn(s.Addr, held, alone); err != nil {
			return nil, err
		}
		defer churns[i].fleet.Close()
		if _, err := churns[i].run(ctx, s, b.sizes.requests/10, longPipeline); err != nil { // a warm-up
			return nil, err
		}
	}
	if err := benchkit.Rest(ctx, b.sizes.idle); err != nil {
		return nil, err
	}
	many := benchkit.Grouped(float64(b.sizes.locks)) + " locks"
	for _, pipeline := range []int{1, longPipeline} {
		requests := b.sizes.requests
		if pipeline == 1 {
			requests /= 4 // without a pipeline requests take longer
		}
		locks, unlocks := measured{"LOCK", pipeline, many, benchkit.Rounds{}}, measured{"UNLOCK", pipeline, many, benchkit.Rounds{}}
		for range b.Rounds {
			for i, c := range churns {
				got, err := c.run(ctx, servers[i], requests, pipeline)
				if err != nil {
					return nil, err
				}
				b.Say("scale: %s, P=%d: LOCK %.2f us, UNLOCK %.2f us", servers[i].Name, pipeline, got.lock, got.unlock)
				locks.us[i], unlocks.us[i] = append(locks.us[i], got.lock), append(unlocks.us[i], got.unlock)
			}
		}
		costs = append(costs, locks, unlocks)
	}
	return costs, nil
}

// parker opens n clients of a server. It returns a function that makes each wait for a lock, and one that
// closes them.
type parker func(s *benchkit.Server, n int) (park func() error, closeAll func(), err error)

func overTCP(s *benchkit.Server, n int) (park func() error, closeAll func(), err error) {
	p, err := connectTCP(s.Addr, n)
	if err != nil {
		return nil, nil, err
	}
	return p.park, p.close, nil
}

func inProcess(s *benchkit.Server, n int) (park func() error, closeAll func(), err error) {
	err = order(s, "connect "+strconv.Itoa(n))
	return func() error { return order(s, "park") }, func() {}, err
}

// parkOn connects n clients and parks them, and returns the growth of the server's memory for each.
func (b *bench) parkOn(s *benchkit.Server, n int, kind string, connect parker) (memory []growth, closeAll func(), err error) {
	var park func() error
	rest := func() error { return order(s, "collect") }
	connected, err := b.grow(s, "connection, "+kind, rest, func() (count int, err error) {
		park, closeAll, err = connect(s, n)
		return n, err
	})
	if err != nil {
		return nil, nil, err
	}
	parked, err := b.grow(s, "waiter, besides its connection, "+kind, rest, func() (int, error) {
		if err := park(); err != nil {
			return 0, err
		}
		return n, awaitParked(s, n)
	})
	if err != nil {
		closeAll()
		return nil, nil, err
	}
	return []growth{connected, parked}, closeAll, nil
}

// waiterScale parks clients on two servers and measures hand-offs among them in turn. It returns the memory
// of the large server, and how the clients were connected.
func (b *bench) waiterScale(ctx context.Context) (memory []growth, how string, handoffs benchkit.Rounds, err error) {
	fail := func(err error) ([]growth, string, benchkit.Rounds, error) { return nil, "", benchkit.Rounds{}, err }
	need := uint64(b.sizes.waiters + spareFiles)
	limit, err := raiseOpenFiles(need)
	if err != nil {
		return fail(err)
	}
	servers, stop, err := b.startPair(ctx, crowdProduct)
	if err != nil {
		return fail(err)
	}
	defer stop()
	for i, n := range []int{b.sizes.few, b.sizes.locks} {
		if _, err := holdLocks(ctx, servers[i], n); err != nil {
			return fail(err)
		}
	}
	kind, connect := "TCP", parker(overTCP)
	how = "Waiters are TCP connections"
	if limit < need {
		var closeAll func()
		if memory, closeAll, err = b.parkOn(servers[1], int(limit)-spareFiles, kind, connect); err != nil {
			return fail(err)
		}
		closeAll()
		if err := awaitParked(servers[1], 0); err != nil {
			return fail(err)
		}
		how = fmt.Sprintf("A process may have %s open files here, too few for %s connections: as many waiters as that allows were "+
			"connected over TCP, and all of them, for the last rows and while hand-offs were measured, inside the process of the server, "+
			"where the memory is that of both ends of a connection with goroutines and buffers", benchkit.Grouped(float64(limit)),
			benchkit.Grouped(float64(b.sizes.waiters)))
		kind, connect = "in-process", inProcess
	}
	var relays [2]*relay
	for i, n := range []int{b.sizes.few, b.sizes.waiters} {
		got, closeAll, err := b.parkOn(servers[i], n, kind, connect)
		if err != nil {
			return fail(err)
		}
		defer closeAll()
		if i == 1 {
			memory = append(memory, got...)
		}
		if relays[i], err = newRelay(servers[i]); err != nil {
			return fail(err)
		}
		defer relays[i].fleet.Close()
		if _, err := relays[i].run(ctx, servers[i], b.sizes.handoffs/10); err != nil { // a warm-up
			return fail(err)
		}
	}
	handoffs, err = b.handOn(ctx, servers, relays)
	return memory, how, handoffs, err
}

// handOn measures the relays of both servers in turn.
func (b *bench) handOn(ctx context.Context, servers pair, relays [2]*relay) (handoffs benchkit.Rounds, err error) {
	for range b.Rounds {
		for i, r := range relays {
			us, err := r.run(ctx, servers[i], b.sizes.handoffs)
			if err != nil {
				return handoffs, err
			}
			b.Say("scale: %s: hand-off %.2f us", servers[i].Name, us)
			handoffs[i] = append(handoffs[i], us)
		}
	}
	return handoffs, nil
}

// scaleReport writes the two tables.
func (b *bench) scaleReport(how string, memory []growth, requests []measured) {
	few, many := benchkit.Grouped(float64(b.sizes.few)), benchkit.Grouped(float64(b.sizes.locks))
	b.Report.Text(fmt.Sprintf("## Scale\n\nOne server with %s locks held under leases, and one with %s. Then clients wait for one of these locks each, %s on the first server and %s on the second. %s. Memory is resident memory of the large server (VmRSS) "+
		"after a collection of garbage, for which there is a server of the same event loops that this program embeds. An owner's name has "+
		"39 bytes, a lock's key 17.", few, many, few, benchkit.Grouped(float64(b.sizes.waiters)), how))
	var rows [][]string
	for _, g := range memory {
		rows = append(rows, g.row())
	}
	b.Report.Table([]string{"what", "how many", "memory before", "after", "bytes each"}, rows)
	b.Report.Text(fmt.Sprintf("CPU time of the server process per request, %d connections, P requests at a time on each, medians of %d "+
		"round(s), the two servers in turn. Each lock is released and, a while later, acquired again, walking over all of them in no order. On the small server they are in the processor's caches, on the large one hardly any is. A hand-off "+
		"is an UNLOCK, the grant to the client that waits, and a LOCK that waits, on %d locks beside those that the others wait for.",
		costConns, b.Rounds, relayPairs))
	rows = nil
	for _, m := range requests {
		small, large := m.us.Medians()
		low, high := m.us.Spread()
		rows = append(rows, []string{m.request, strconv.Itoa(m.pipeline), benchkit.Fixed(small, 2), benchkit.Fixed(large, 2), m.many,
			fmt.Sprintf("%s (%s-%s)", benchkit.Times(m.us.Ratio()), benchkit.Fixed(low, 2), benchkit.Fixed(high, 2)),
			b.Report.AtMost(fmt.Sprintf("CPU of %s at P=%d with %s against %s", m.request, m.pipeline, m.many, few), m.us.Ratio(), costTarget,
				benchkit.Times)})
	}
	b.Report.Table([]string{"request", "P", "CPU µs, small server", "CPU µs, large server", "which has", "ratio", "target"}, rows)
}
