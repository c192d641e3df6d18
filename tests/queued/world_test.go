package queued

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/anishathalye/porcupine"

	"lockserver/server"
)

const (
	key     = "key" // the only lock, or the semaphore
	clients = 5
	locks   = 3 // number of locks in worlds with several: "key1" and so on
	// confirmMS is how long a grant waits for its confirmation: a third of lock-watchdog-timeout.
	confirmMS = 40
	limit     = 3 // limit of the semaphore
	// writer is the number of permits of a writer, and so the limit of a lock with readers. A reader has one
	// permit.
	writer = 1000
)

// world is a server with random clients, and the history of its keys.
type world struct {
	seed      uint64
	requests  int  // requests of each client
	semaphore bool // its key is a semaphore
	shared    bool // its key is a lock for readers and writers
	several   bool // it has several locks, which are acquired together (MLOCK); otherwise its key is an exclusive lock
	// abandons means that clients ignore some grants. After a restart such a grant is an ordinary lock with a
	// lease.
	abandons bool
	dial     func() (net.Conn, error)
	mu       sync.RWMutex // held for writing while the server restarts
	owners   atomic.Int64
	began    time.Time
	record   sync.Mutex
	history  []*operation
	spans    []span // the times in which requests may have been in the queue
	permits  [mostTakes]int64
	ends     []func() // for abandoned requests
	counts   map[string]int
	err      error
}

// span is a time in which a request may have been in the queue.
type span struct {
	owner    int
	from, to int64
}

func newWorld(seed uint64) *world {
	w := &world{seed: seed, requests: 16, semaphore: seed%4 == 0, several: seed%4 == 2, shared: seed%4 == 3, began: time.Now(), counts: make(map[string]int)}
	if w.shared { // readers with overlapping holds allow many orders
		w.requests = 10
	}
	return w
}

// form describes how owners ask in this world.
func (w *world) form() string {
	switch {
	case w.semaphore:
		return "SEM.ACQUIRE"
	case w.several:
		return "MLOCK"
	case w.shared:
		return "LOCK SHARED"
	}
	return "LOCK"
}

// keys returns all keys of the world.
func (w *world) keys() []string {
	if w.several {
		return keysOf(1<<locks - 1)
	}
	return []string{key}
}

// keysOf returns the keys of a set of locks, which has a bit for each.
func keysOf(set int64) (keys []string) {
	for i := range locks {
		if set&(1<<i) != 0 {
			keys = append(keys, key+strconv.Itoa(i+1))
		}
	}
	return keys
}

// directives returns the directives of a world's server.
func directives() map[string]string {
	return map[string]string{"port": "0", "save": "", "lock-watchdog-timeout": strconv.Itoa(3 * confirmMS)}
}

// live plays the world with a server in this process.
func (w *world) live() {
	srv, err := server.New(server.Options{Directives: directives()})
	if err == nil {
		err = srv.Start()
	}
	if err != nil {
		w.fail(err)
		return
	}
	defer func() { _ = srv.Close() }()
	if w.dial = srv.Dial; w.seed/4%2 == 0 {
		w.dial = func() (net.Conn, error) { return net.Dial(srv.Addr().Network(), srv.Addr().String()) }
	}
	w.abandons = true
	quiet := make(chan struct{})
	var others sync.WaitGroup
	others.Go(func() { w.disturb(rand.New(rand.NewPCG(w.seed, 1)), quiet) })
	w.play()
	close(quiet)
	others.Wait()
	w.lastWord()
}

// play runs the clients.
func (w *world) play() {
	var group sync.WaitGroup
	for i := range clients {
		random := rand.New(rand.NewPCG(w.seed, uint64(10+i)))
		c := &client{world: w, random: random, prefix: fmt.Sprintf("client-%02d:", i), attaches: random.IntN(2) == 0,
			pushes: newOutcomes(w, fmt.Sprintf("client-%02d:", i))}
		group.Go(c.live)
	}
	group.Wait()
}

// disturb kills connections until quiet is closed.
func (w *world) disturb(random *rand.Rand, quiet <-chan struct{}) {
	admin, err := openHearing(w.dial, nil, false)
	if err != nil {
		w.fail(err)
		return
	}
	defer func() { _ = admin.nc.Close() }()
	for {
		select {
		case <-quiet:
			return
		case <-time.After(time.Duration(1+random.IntN(16_000)) * time.Microsecond):
		}
		// The admin has the first connection, and ids rise: one of the latest ids belongs to a client.
		id, err := admin.call("CLIENT", "ID")
		if err != nil {
			w.fail(err)
			return
		}
		victim := id.Int + 1 + int64(random.IntN(1+int(w.opened())))
		_, _ = admin.call("CLIENT", "KILL", "ID", strconv.FormatInt(victim, 10))
	}
}

// opened returns about how many connections were opened.
func (w *world) opened() int64 {
	w.record.Lock()
	defer w.record.Unlock()
	return int64(w.counts["connection"])
}

// lastWord checks the key after all owners have released: it must be free.
func (w *world) lastWord() {
	c := &client{world: w, random: rand.New(rand.NewPCG(w.seed, 3)), prefix: "last-word:", pushes: newOutcomes(w, "last-word:")}
	if w.failed() || !c.connect() {
		return
	}
	for end := time.Now().Add(patience / 2); len(w.ends) > 0 && time.Now().Before(end); time.Sleep(time.Millisecond) {
		if v, err := c.conn.call(append([]string{"EXISTS"}, w.keys()...)...); err == nil && v.Int == 0 {
			break // the server has given back the abandoned grants
		}
	}
	for _, end := range w.ends {
		end()
	}
	c.look()
	v, err := c.conn.call(append([]string{"EXISTS"}, w.keys()...)...)
	if err != nil || v.Int != 0 {
		w.fail(fmt.Errorf("a key is left behind: EXISTS replied %s (%v)", v, err))
	}
}

func (w *world) now() int64 { return int64(time.Since(w.began)) }

func (w *world) add(ops ...*operation) {
	w.record.Lock()
	defer w.record.Unlock()
	for _, op := range ops {
		w.history = append(w.history, op)
		w.counts[[...]string{"take", "back", "none", "used", "check"}[op.kind]]++
		if op.unknown {
			w.counts["unknown"]++
		}
	}
}

// abandon makes the doubts of a request part of the end of the history.
func (w *world) abandon(c *client, r *request) {
	w.count("abandoned")
	w.record.Lock()
	defer w.record.Unlock()
	w.ends = append(w.ends, func() { c.writeDoubts(r) })
}

func (w *world) count(what string) {
	w.record.Lock()
	defer w.record.Unlock()
	w.counts[what]++
}

func (w *world) fail(err error) {
	if err == nil {
		return
	}
	w.record.Lock()
	defer w.record.Unlock()
	w.err = errors.Join(w.err, err)
}

func (w *world) failed() bool {
	w.record.Lock()
	defer w.record.Unlock()
	return w.err != nil
}

// errUndecided means that the checker had no result in time.
var errUndecided = errors.New("undecided")

// check checks the history with the model.
func (w *world) check() error {
	if w.err != nil {
		return fmt.Errorf("seed %d: %w", w.seed, w.err)
	}
	m := &model{limit: 1, several: w.several, permits: w.permits}
	switch {
	case w.semaphore:
		m.limit = limit
	case w.shared:
		m.limit = writer
	}
	var ops []porcupine.Operation
	for _, op := range w.history {
		if op.kind == none {
			for _, s := range w.spans {
				op.excused = op.excused || s.owner != op.owner && s.from <= op.ret && op.call <= s.to
			}
		}
		ops = append(ops, porcupine.Operation{Input: op, Call: op.call, Return: op.ret})
	}
	pm := m.porcupine()
	switch porcupine.CheckOperationsTimeout(pm, ops, 3*time.Second) {
	case porcupine.Ok:
		return nil
	case porcupine.Unknown:
		return errUndecided
	}
	_, info := porcupine.CheckOperationsVerbose(pm, ops, 5*time.Second)
	return fmt.Errorf("seed %d (%s): no order of the history is right.\n%s", w.seed, w.form(), explain(pm, ops, info))
}
