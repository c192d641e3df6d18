package sales

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/anishathalye/porcupine"

	"lockserver/internal/config"
	"lockserver/server"
)

const (
	baseMS  = 1_750_000_000_000
	stream  = "orders"
	clients = 6
	calls   = 20 // calls of a client in a phase
	phases  = 5
	users   = 9
	// patience is how long the checker may search for an order. It usually needs milliseconds.
	patience = 20 * time.Second
	// soon is the longest time until a cut connection is gone.
	soon = time.Minute
)

// errUndecided means that the checker neither found an order nor showed that none exists.
var errUndecided = errors.New("the checker came to no result")

// violation is an error that no correct sale could have.
type violation struct{ text string }

func (v *violation) Error() string { return v.text }

// world is a server with one sale and random clients.
type world struct {
	seed   uint64
	random *rand.Rand
	terms  terms
	dir    string
	log    bool // it has an append-only log, and loses nothing
	clock  *server.ManualClock
	srv    *server.Server
	admin  *link
	stamps atomic.Int64
	asking sync.Mutex // held while admin is used and clients are active

	mu      sync.Mutex
	history []*operation
	known   []*operation // calls of SECKILL with orders that may be used again
	serial  int
	err     error
	counts  map[string]int
	links   [clients]string // the ids of the clients' connections

	quiet state // the state at the last time without active clients
}

// newWorld starts a world's server and opens its sale. The seed determines everything except the scheduling.
func newWorld(seed uint64) (*world, error) {
	dir, err := os.MkdirTemp("", "sales")
	if err != nil {
		return nil, err
	}
	w := &world{seed: seed, random: rand.New(rand.NewPCG(seed, 0)), dir: dir, log: seed%4 == 1, counts: map[string]int{}}
	w.clock = server.NewManualClock(time.UnixMilli(baseMS))
	r := w.random
	w.terms = terms{limit: 1 + r.IntN(3)}
	stock := 3 + r.IntN(15)
	args := []string{"SECKILL.CREATE", voucher, "STOCK", fmt.Sprint(stock), "LIMIT", fmt.Sprint(w.terms.limit), "STREAM", stream}
	if r.IntN(3) > 0 {
		w.terms.holdMS = 3 + r.Int64N(40)
		args = append(args, "HOLD", fmt.Sprint(w.terms.holdMS))
		if r.IntN(2) > 0 {
			w.terms.holdMaxMS = w.terms.holdMS + r.Int64N(60)
			args = append(args, "HOLDMAX", fmt.Sprint(w.terms.holdMaxMS))
		}
	}
	if r.IntN(4) == 0 {
		w.terms.startMS = baseMS + r.Int64N(20)
		args = append(args, "START", fmt.Sprint(w.terms.startMS))
	}
	if r.IntN(4) == 0 {
		w.terms.endMS = baseMS + 40 + r.Int64N(400)
		args = append(args, "END", fmt.Sprint(w.terms.endMS))
	}
	if err := w.start(); err != nil {
		return nil, err
	}
	for _, command := range [][]string{args, {"SECKILL.CREATE", other, "STOCK", "1000000", "LIMIT", "1000000", "STREAM", stream + ":" + other}} {
		if v, err := w.admin.call(command...); err != nil || v.IsError() {
			return nil, fmt.Errorf("%q: %s, %w", command, v, err)
		}
	}
	w.quiet = state{nowMS: baseMS, stock: stock, total: stock}.done()
	return w, w.save("SAVE") // the first start needs a snapshot
}

func (w *world) String() string { return fmt.Sprintf("seed %d", w.seed) }

// start starts the server with the files in its directory.
func (w *world) start() error {
	c := config.Default()
	c.Port, c.Save, c.Dir = 0, nil, w.dir
	c.AppendOnly, c.AppendFsync = w.log, "always"
	srv, err := server.New(server.Options{Directives: c.Directives(), Clock: w.clock, Seed: w.seed, EventLoops: w.seed%3 == 0})
	if err != nil {
		return err
	}
	if err := srv.Start(); err != nil {
		return err
	}
	w.srv = srv
	w.admin, err = w.dial()
	return err
}

func (w *world) close() {
	_ = w.srv.Close()
	_ = os.RemoveAll(w.dir)
}

// live plays a world. The error is a violation if the server is wrong.
func (w *world) live() error {
	for range phases {
		kept, half := w.quiet, false
		ending := w.random.IntN(6)
		switch ending {
		case 0, 1: // changes from here on will be lost
			if err := w.save("SAVE"); err != nil {
				return err
			}
		case 2:
			half = true
		}
		if err := w.phase(half); err != nil {
			return err
		}
		var err error
		switch {
		case ending < 4 && w.log:
			kept = w.quiet
			err = w.restart(&kept)
		case ending < 2:
			err = w.restart(&kept)
		case ending == 2:
			err = w.restart(nil) // at a random moment: it is unknown what is lost
		case ending == 3:
			if err = w.save("SAVE"); err == nil {
				kept = w.quiet
				err = w.restart(&kept)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (w *world) save(command string) error {
	v, err := w.ask(command)
	if err == nil && v.IsError() {
		err = fmt.Errorf("%s: %s", command, v)
	}
	return err
}

// phase is a time in which all clients are active, and a check after it. With half, a snapshot is taken in
// its middle.
func (w *world) phase(half bool) error {
	w.history = nil
	begin := w.quiet
	stop := make(chan struct{})
	var busy, background sync.WaitGroup
	source := func() *rand.Rand { return rand.New(rand.NewPCG(w.random.Uint64(), w.seed)) }
	time, killer := source(), source()
	background.Go(func() { w.pass(time, stop) })
	background.Go(func() { w.disturb(killer, half, stop) })
	for i := range clients {
		c := &client{world: w, number: i, random: source()}
		busy.Go(func() { c.live(calls) })
	}
	busy.Wait()
	close(stop)
	background.Wait()
	if w.err == nil {
		w.err = w.awaitQuiet()
	}
	if w.err != nil {
		return w.err
	}
	op := &operation{kind: audit, call: w.stamps.Add(1)}
	if err := w.look(); err != nil {
		return err
	}
	op.reply, op.ret = w.quiet.text, w.stamps.Add(1)
	w.history = append(w.history, op)
	return w.check(begin)
}

// look reads the keys while no client is active. The model continues from them.
func (w *world) look() error {
	b, err := readBooks(voucher, stream, w.admin.call)
	if err == nil {
		err = b.check()
	}
	more := books{}
	if err == nil {
		more, err = readBooks(other, stream+":"+other, w.admin.call)
	}
	if err == nil {
		err = more.check()
	}
	if err == nil {
		w.quiet, err = b.state(w.clock.NowUS()/1000, &more)
	}
	if err != nil {
		return &violation{fmt.Sprintf("%s: %v", w, err)}
	}
	return nil
}

// awaitQuiet waits until the connections of all clients are gone: their commands have run by then, or never
// will.
func (w *world) awaitQuiet() error {
	for late := time.Now().Add(soon); ; time.Sleep(100 * time.Microsecond) {
		v, err := w.admin.call("CLIENT", "LIST")
		switch {
		case err != nil:
			return err
		case strings.Count(strings.TrimSpace(v.Str), "\n") == 0:
			return nil
		case time.Now().After(late):
			return fmt.Errorf("%s: connections are left: %s", w, v)
		}
	}
}

// restart ends the server without saving and starts it again some time later. Its state must then be kept, if
// that is known.
func (w *world) restart(kept *state) error {
	for w.busySaving() {
		time.Sleep(time.Millisecond)
	}
	w.admin.hangUp()
	if err := w.srv.Close(); err != nil {
		return err
	}
	w.clock.Set(time.UnixMicro(w.clock.NowUS()).Add(time.Duration(w.random.IntN(30)) * time.Millisecond))
	if err := w.start(); err != nil {
		return err
	}
	w.clock.Advance(0)
	if err := w.look(); err != nil {
		return err
	}
	if kept == nil {
		return nil
	}
	if want := kept.at(w.quiet.nowMS); want.text != w.quiet.text {
		return &violation{fmt.Sprintf("%s: after a restart there is\n%s\nand not\n%s", w, w.quiet.text, want.text)}
	}
	return nil
}

// busySaving reports whether a snapshot is being written.
func (w *world) busySaving() bool {
	v, err := w.admin.call("INFO", "persistence")
	return err == nil && strings.Contains(v.Str, "rdb_bgsave_in_progress:1")
}

// check checks the history with the model.
func (w *world) check(begin state) error {
	tr := &trial{terms: w.terms, begin: begin, end: w.quiet, ops: w.history}
	switch tr.check(patience) {
	case porcupine.Ok:
		return nil
	case porcupine.Unknown:
		return fmt.Errorf("%s: %w about %d operations", w, errUndecided, len(tr.ops))
	}
	return &violation{fmt.Sprintf("%s: not a sale's history.\n%s", w, tr.explain())}
}

// explain shows the few operations that the fault needs, and the longest possible order of them.
func (tr *trial) explain() string {
	small, text := tr.shrink()
	_, info := porcupine.CheckOperationsVerbose(small.terms.porcupine(small.begin), small.operations(), patience)
	var longest []porcupine.Operation
	for _, partial := range info.PartialLinearizationsOperations()[0] {
		if len(partial) > len(longest) {
			longest = partial
		}
	}
	var placed []*operation
	for _, p := range longest {
		placed = append(placed, p.Input.(*operation))
	}
	stuck := slices.DeleteFunc(slices.Clone(small.ops), func(op *operation) bool {
		return slices.Contains(placed, op) || op.kind == tick
	})
	return fmt.Sprintf("%sIt begins with: %s\n%sThese cannot be put in order with the others:\n%s",
		text, small.begin.text, lines(small.ops), lines(stuck))
}
