package crash

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"sync"
	"time"

	"lockserver/persistence/aof"
	"lockserver/tests/lossy"
)

// patience is the time after which something counts as hanging.
const patience = time.Minute

func logPlace(d *lossy.Disk) aof.Location {
	return aof.Location{FS: d, Dir: ".", Sub: "appendonlydir", Filename: "appendonly.aof"}
}

// workload uses the log like a server, on a disk that can be crashed.
type workload struct {
	disk    *lossy.Disk
	chance  *rand.Rand
	history *history
	policy  aof.Policy
	log     *aof.Log
	rewrite chan error // the result of the running rewrite, or nil
	healing int        // the units that the running rewrite makes durable, if it restores a failed log

	mu    sync.Mutex
	ends  []int64 // position after each unit; never means that the log did not take it
	acks  []logAck
	moved chan struct{}
}

// logAck says that this number of units was acknowledged after this number of operations.
type logAck struct{ ops, units int }

// never is the position of a unit that the log did not take.
const never = int64(1) << 62

func newWorkload(d *lossy.Disk, seed uint64, policy aof.Policy) *workload {
	chance := rand.New(rand.NewPCG(seed, 7))
	return &workload{disk: d, chance: chance, history: newHistory(rand.New(rand.NewPCG(seed, 8))), policy: policy,
		moved: make(chan struct{}, 1)}
}

// reached records that the units up to a position are acknowledged. Under Always a unit is acknowledged when
// the log says that it is durable, otherwise when it is synced.
func (w *workload) reached(position int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for n < len(w.ends) && w.ends[n] <= position {
		n++
	}
	w.acks = append(w.acks, logAck{w.disk.Ops(), n})
	select {
	case w.moved <- struct{}{}:
	default:
	}
}

// acked returns how many units were acknowledged after the given number of operations.
func (w *workload) acked(ops int) (units int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, a := range w.acks {
		if a.ops <= ops {
			units = max(units, a.units)
		}
	}
	return units
}

func (w *workload) options() aof.Options {
	o := aof.Options{Policy: w.policy, SyncEvery: time.Millisecond, Gather: 100 * time.Microsecond}
	if w.policy == aof.Always {
		o.Durable = w.reached
	} else {
		o.Synced = w.reached
	}
	return o
}

// open starts an empty log, which is in effect at once or is turned on later.
func (w *workload) open() error {
	d, err := aof.OpenDir(logPlace(w.disk))
	if err != nil {
		return err
	}
	if w.chance.IntN(4) == 0 {
		for range w.chance.IntN(10) {
			w.history.unit()
			w.ends = append(w.ends, never)
		}
		w.log, err = d.Replace(w.options())
	} else {
		if _, err := d.Load(&loader{state: state{}}, aof.LoadOptions{}); err != nil {
			return err
		}
		w.log, err = d.Continue(w.options(), func(to io.Writer) error { return w.history.now.save(to, true) })
	}
	return err
}

// unit performs one unit, as the executor does.
func (w *workload) unit() {
	effects := w.history.unit()
	w.mu.Lock()
	defer w.mu.Unlock()
	before := w.log.Appended()
	w.log.Append(effects)
	end := w.log.Appended()
	if end == before { // the log has failed
		end = never
	}
	w.ends = append(w.ends, end)
}

// errChange is the reason why some rewrites are cancelled.
var errChange = errors.New("the rewrite was called off")

// beginRewrite does the executor's part of a rewrite. The rest runs at the same time.
func (w *workload) beginRewrite(asRDB, abort bool) {
	cut := maps.Clone(w.history.now)
	rw, err := w.log.BeginRewrite(asRDB)
	if err != nil {
		panic(err)
	}
	w.healing = len(w.ends)
	w.rewrite = make(chan error, 1)
	go func(result chan<- error) {
		result <- rw.Run(func(to io.Writer) error {
			if abort {
				_, _ = io.WriteString(to, "REDIS0011 and no more")
				return errChange
			}
			return cut.save(to, asRDB)
		})
	}(w.rewrite)
}

// endRewrite waits for the running rewrite. If it succeeds, it acknowledges all earlier units.
func (w *workload) endRewrite() error {
	select {
	case err := <-w.rewrite:
		w.rewrite = nil
		if err == nil {
			w.mu.Lock()
			for i := range w.healing {
				w.ends[i] = min(w.ends[i], 0)
			}
			w.acks = append(w.acks, logAck{w.disk.Ops(), w.healing})
			w.mu.Unlock()
			w.reachedAll()
		}
		return err
	case <-time.After(patience):
		return errors.New("the rewrite hangs")
	}
}

// flushed waits until everything is synced, or the log has failed.
func (w *workload) flushed() error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := w.log.Sync(ctx); errors.Is(err, context.DeadlineExceeded) {
		return errors.New("the log hangs")
	}
	return nil
}

// action is a step of a workload.
type action struct {
	what deed
	// seed determines a unit; asRDB is for the base of a rewrite, and abort says whether the rewrite is
	// cancelled.
	seed         uint64
	asRDB, abort bool
}

// deed is the kind of an action.
type deed int

const (
	doUnit deed = iota
	flushLog
	awaitFlush // flush, and wait for it
	beginRewrite
	endRewrite
)

func (a action) String() string {
	switch a.what {
	case flushLog:
		return "flush"
	case awaitFlush:
		return "flush, and wait until everything is synced"
	case beginRewrite:
		text := "begin a rewrite to commands"
		if a.asRDB {
			text = "begin a rewrite to a snapshot"
		}
		if a.abort {
			text += ", which will be called off"
		}
		return text
	case endRewrite:
		return "wait for the rewrite"
	}
	return fmt.Sprintf("unit %d", a.seed)
}

// script returns actions with the given number of units, and batches, pauses and rewrites between them.
func script(seed uint64, units int) (list []action) {
	chance := rand.New(rand.NewPCG(seed, 7))
	rewriting := false
	for range units {
		list = append(list, action{what: doUnit, seed: chance.Uint64() % 1000})
		if chance.IntN(2) == 0 {
			list = append(list, action{what: flushLog})
		}
		if chance.IntN(5) == 0 {
			list = append(list, action{what: awaitFlush})
		}
		switch {
		case !rewriting && chance.IntN(12) == 0:
			rewriting = true
			list = append(list, action{what: beginRewrite, abort: chance.IntN(3) == 0, asRDB: chance.IntN(2) == 0})
		case rewriting && chance.IntN(6) == 0:
			rewriting = false
			list = append(list, action{what: endRewrite})
		}
	}
	return list
}

// play plays a script until the log fails. It returns an error if a rewrite fails that should succeed.
func (w *workload) play(actions []action) error {
	aborting := false
	for _, a := range actions {
		switch a.what {
		case doUnit:
			if w.log.Err() != nil {
				return nil
			}
			w.history.chance = rand.New(rand.NewPCG(a.seed, 8))
			w.unit()
		case flushLog:
			w.log.Flush()
		case awaitFlush:
			w.log.Flush()
			if err := w.flushed(); err != nil {
				return err
			}
		case beginRewrite:
			if w.rewrite == nil {
				aborting = a.abort
				w.beginRewrite(a.asRDB, a.abort)
			}
		case endRewrite:
			if w.rewrite == nil {
				continue
			}
			if err := w.endRewrite(); err != nil && !aborting && !w.faulty() {
				return fmt.Errorf("rewrite: %w", err)
			}
		}
	}
	return nil
}

// faulty reports whether the log has failed, or an operation of the disk has.
func (w *workload) faulty() bool { return w.log.Err() != nil || w.disk.Failed() > 0 }

// end closes the log like a shutdown.
func (w *workload) end() error {
	if w.rewrite != nil {
		_ = w.endRewrite()
	}
	err := w.log.Close()
	w.reachedAll()
	return err
}

// reachedAll records the present acknowledgements of the log.
func (w *workload) reachedAll() {
	if w.policy == aof.Always {
		w.reached(w.log.Durable())
	} else {
		w.reached(w.log.Synced())
	}
}
