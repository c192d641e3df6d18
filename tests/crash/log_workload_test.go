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
	"lockserver/persistence/disk/lossy"
)

// patience is how long anything may take before it counts as hanging.
const patience = time.Minute

func logPlace(d *lossy.Disk) aof.Place {
	return aof.Place{FS: d, Dir: ".", Sub: "appendonlydir", Filename: "appendonly.aof"}
}

// workload is what a server does with its log, on a disk that can be crashed.
type workload struct {
	disk    *lossy.Disk
	chance  *rand.Rand
	history *history
	policy  aof.Policy
	log     *aof.Log
	rewrite chan error // of the one under way; nil: none
	healing int        // units that the one under way will have made durable, if it brings the log into effect

	mu    sync.Mutex
	ends  []int64 // position behind each unit; never: it was dropped
	acks  []logAck
	moved chan struct{}
}

// logAck says that so many units were acknowledged when so many operations had been done.
type logAck struct{ ops, units int }

// never is the position of a unit that the log did not take.
const never = int64(1) << 62

func newWorkload(d *lossy.Disk, seed uint64, policy aof.Policy) *workload {
	chance := rand.New(rand.NewPCG(seed, 7))
	return &workload{disk: d, chance: chance, history: newHistory(rand.New(rand.NewPCG(seed, 8))), policy: policy,
		moved: make(chan struct{}, 1)}
}

// reached records that the units up to a position are acknowledged. Under Always that is when the log says
// that they are durable; else, that they are synced.
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

// acked is how many units were acknowledged after so many operations.
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

// open starts the log, which is empty: in effect at once, or turned on later.
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

// unit does one unit, as the executor does.
func (w *workload) unit() {
	effects := w.history.unit()
	w.mu.Lock()
	defer w.mu.Unlock()
	before := w.log.Appended()
	w.log.Append(effects)
	end := w.log.Appended()
	if end == before { // it has failed
		end = never
	}
	w.ends = append(w.ends, end)
}

// errChange is why some rewrites do not end.
var errChange = errors.New("the rewrite was called off")

// beginRewrite is what the executor does for a rewrite; the rest goes on beside it.
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

// endRewrite waits for the rewrite under way. One that succeeds acknowledges all that came before it.
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
	// seed decides about a unit; and asRDB about the base of a rewrite, abort whether it is called off.
	seed         uint64
	asRDB, abort bool
}

// deed is what an action does.
type deed int

const (
	doUnit deed = iota
	flushLog
	awaitFlush // flushes, and waits
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

// script is so many units, with batches, pauses and rewrites between them.
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

// play does what a script says, until the log fails. Errors are of rewrites that should have succeeded.
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

// faulty says whether the log has failed, or an operation of the disk has.
func (w *workload) faulty() bool { return w.log.Err() != nil || w.disk.Failed() > 0 }

// end stops the log as a shutdown does.
func (w *workload) end() error {
	if w.rewrite != nil {
		_ = w.endRewrite()
	}
	err := w.log.Close()
	w.reachedAll()
	return err
}

// reachedAll records what the log says now.
func (w *workload) reachedAll() {
	if w.policy == aof.Always {
		w.reached(w.log.Durable())
	} else {
		w.reached(w.log.Synced())
	}
}
