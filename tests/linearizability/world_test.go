package linearizability

import (
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"time"

	"lockserver/internal/config"
	"lockserver/server"
)

// pace holds the times of a world, in the server's milliseconds.
type pace struct {
	clients, operations     int // operations of each client
	longLeaseMS, longWaitMS int64
	watchdogMS              int64
	lateMS                  int64 // the largest delay of the server's timers
	disturbAfterUS          int   // the longest time between two disturbances
}

var (
	// realPace allows for a machine that does not run the test for a while.
	realPace = pace{clients: 7, operations: 70, longLeaseMS: 90, longWaitMS: 120, watchdogMS: 600, lateMS: 150, disturbAfterUS: 120_000}
	// manualPace has no such allowance.
	manualPace = pace{clients: 6, operations: 50, longLeaseMS: 60, longWaitMS: 60, watchdogMS: 90, disturbAfterUS: 8_000}
)

// The ways in which clients connect to the server.
const (
	pipes      = "pipes"
	goroutines = "TCP, a goroutine a connection"
	oneLoop    = "TCP, an event loop"
	manyLoops  = "TCP, three event loops"
)

// mostLoops is the number of event loops of a server that has many.
const mostLoops = 3

// transports lists all of them; those of the server program come twice.
var transports = [...]string{pipes, goroutines, oneLoop, manyLoops, oneLoop, pipes, oneLoop, manyLoops}

// world is a server with random clients. It produces one history.
type world struct {
	seed  uint64
	pace  pace
	time  *timeline
	srv   *server.Server
	dial  func() (net.Conn, error)
	where string // a description of the world, for reports
	// manyWait lets MLOCK wait. A waiting MLOCK keeps free keys for itself, so the model must allow more
	// refusals. Half of the worlds do without it and are stricter.
	manyWait bool
	// shares is set in half of the worlds. These use SHARED, ONCE, and connections with attached owners.
	shares bool

	stop  chan struct{} // closed when all clients must end
	group sync.WaitGroup

	adminMu sync.Mutex
	admin   *connection
	// bystanders are connections without activity, one on each event loop. admin is one of them.
	bystanders []*connection

	mu      sync.Mutex
	conns   []*connection
	history []*operation
	counts  map[string]int
	err     error
	checked time.Duration // the time that the checker took
}

// newWorld starts a world's server. The seed determines everything about it. An even seed has a manual clock.
// The rest, seed/2, determines how clients connect and whether MLOCK waits.
func newWorld(seed uint64) (*world, error) {
	manual, transport := seed%2 == 0, transports[seed/2%uint64(len(transports))]
	w := &world{seed: seed, pace: realPace, time: newTimeline(manual), stop: make(chan struct{}), counts: make(map[string]int)}
	w.where = "machine's clock, " + transport
	if manual {
		w.pace, w.where = manualPace, "manual clock, "+transport
	}
	w.manyWait = seed/16%2 == 0
	if w.shares = rand.New(rand.NewPCG(seed, 4)).IntN(2) == 0; w.shares {
		w.where += ", shared"
	}
	c := config.Default()
	c.Port, c.Save, c.DBFilename = 0, nil, ""
	c.LockWatchdogTimeoutMS = w.pace.watchdogMS
	o := server.Options{Directives: c.Directives(), Clock: w.time.clock(), Seed: seed}
	switch transport {
	case oneLoop:
		o.EventLoops = true
	case manyLoops:
		o.EventLoops, c.IOThreads = true, mostLoops
	}
	srv, err := server.New(o)
	if err != nil {
		return nil, err
	}
	if err := srv.Start(); err != nil {
		return nil, err
	}
	w.srv = srv
	w.dial = func() (net.Conn, error) { return net.Dial(srv.Addr().Network(), srv.Addr().String()) }
	if transport == pipes {
		w.dial = srv.Dial
	}
	return w, nil
}

// live plays a world from start to end.
func (w *world) live() {
	defer func() { _ = w.srv.Close() }()
	for range mostLoops { // connections go to the loops in turn
		c, err := w.open()
		if err != nil {
			w.fail(err)
			return
		}
		w.bystanders = append(w.bystanders, c)
	}
	w.admin = w.bystanders[0]
	ended := make(chan struct{}) // of time
	var ticking sync.WaitGroup
	ticking.Go(func() { w.time.run(rand.New(rand.NewPCG(w.seed, 1)), ended) })
	quiet := make(chan struct{})
	w.group.Go(func() { w.disturb(rand.New(rand.NewPCG(w.seed, 2)), quiet) })
	var clients sync.WaitGroup
	for i := range w.pace.clients {
		c := &client{world: w, owner: i + 1, held: make(map[int]int64), random: rand.New(rand.NewPCG(w.seed, uint64(10+i)))}
		c.attaches = w.shares && i%2 == 0
		clients.Go(func() { c.live(w.pace.operations) })
	}
	clients.Wait()
	close(quiet)
	close(w.stop)
	w.group.Wait()
	if !w.failed() {
		w.lastWord()
	}
	close(ended)
	ticking.Wait()
}

// lastWord takes every lock after no client has used it for longer than any lease: they must all be free.
func (w *world) lastWord() {
	w.time.sleep(max(w.pace.longLeaseMS, w.pace.watchdogMS)+1, nil)
	conn, err := w.open()
	if err != nil {
		w.fail(err)
		return
	}
	c := &client{world: w, owner: w.pace.clients + 1, held: make(map[int]int64), conn: conn, random: rand.New(rand.NewPCG(w.seed, 3))}
	for k := range maxKeys {
		c.do(&operation{kind: acquire, keys: []int{k}, owner: c.owner, leaseMS: 1000, waitMS: noWait})
	}
	w.hangUp(conn, false)
}

// disturb kills connections and ends waits until quiet is closed.
func (w *world) disturb(random *rand.Rand, quiet <-chan struct{}) {
	for {
		select {
		case <-quiet:
			return
		case <-time.After(time.Duration(1+random.IntN(w.pace.disturbAfterUS)) * time.Microsecond):
		}
		w.mu.Lock()
		recent := w.conns[max(mostLoops, len(w.conns)-w.pace.clients-w.pace.clients/2):]
		victim := (*connection)(nil)
		if len(recent) > 0 {
			victim = recent[random.IntN(len(recent))]
		}
		w.mu.Unlock()
		switch {
		case victim == nil || victim.hasEnded():
		case random.IntN(3) == 0:
			w.unblock(victim)
		default:
			w.kill(victim)
		}
	}
}

// record adds operations to the history.
func (w *world) record(ops ...*operation) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, op := range ops {
		w.history = append(w.history, op)
		w.counts[op.outcome()]++
	}
}

// recordUnknown records an operation that was cut off: it happened before its connection was gone, or not at
// all.
func (w *world) recordUnknown(op *operation, c *connection) {
	c.mu.Lock()
	ending, gone := c.ending, c.gone
	c.mu.Unlock()
	if op.call.ns > gone.ns || op.kind == look || op.kind == inform || op.kind == ttl {
		return
	}
	op.unknown, op.ret = true, gone
	w.record(op)
	if op.kind == acquire && op.waitMS != noWait {
		if ending.ns < op.call.ns {
			ending = op.call
		}
		w.record(&operation{kind: takeBack, conn: op.conn, undoes: op.conn, unknown: true, call: ending, ret: gone})
	}
}

// fail records an error outside of the history.
func (w *world) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		w.err = err
	}
}

func (w *world) failed() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err != nil
}

// model returns the model for the history.
func (w *world) model() *model {
	m := &model{watchdogMS: w.pace.watchdogMS, lateMS: w.pace.lateMS, roundMS: 1, lives: []life{{ever, ever}}}
	for _, c := range w.conns {
		m.lives = append(m.lives, c.life())
	}
	return m
}

// String says how to play the world again.
func (w *world) String() string { return fmt.Sprintf("seed %d (%s)", w.seed, w.where) }
