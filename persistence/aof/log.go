package aof

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"lockserver/persistence/disk"
	"lockserver/store"
)

// Log takes the effects of units and makes them durable. Under Always one goroutine, the writer, does all
// writing. Units that are appended while it writes and syncs go out with the next write, so that one sync
// serves many (group commit). Under the other policies no reply waits for a sync, so the sender of replies
// writes before it sends (Write), and the writer does the rest. A second goroutine syncs once a second under
// EverySec.
//
// A position is the number of bytes appended since the log was opened; it never goes back. Append, Wake and
// BeginRewrite are called under the executor, the others from anywhere; Close, Sync and Rewrite's methods not
// while holding anything that Options.Durable waits for.
type Log struct {
	dir *Dir
	o   Options

	policy   atomic.Int32
	counts   atomic.Int64 // see Position
	waits    atomic.Bool  // see Waits
	written  atomic.Int64 // position up to which the system has everything; only rises
	durable  atomic.Int64 // the last argument of Options.Durable; only rises
	synced   atomic.Int64 // the same of Options.Synced
	delay    atomic.Int64 // see Delay
	sleeping atomic.Bool  // the writer waits for wake
	wake     chan struct{}
	hurry    chan struct{} // ends the gathering early
	ended    chan struct{} // closed when the writer is gone
	stop     chan struct{} // ends the syncer
	syncer   sync.WaitGroup

	// tell serialises the calls of Durable and Synced.
	tell sync.Mutex
	// writing is held from taking buf until it is written, so that the file has everything in
	// order. It comes before syncing.
	writing sync.Mutex
	// syncing is held for a sync and for a change of file, so that no file is closed
	// under a sync. It comes before mu.
	syncing sync.Mutex
	file    disk.File // what is written; nil: none. Changed under syncing, and under writing or by the writer while it turns

	mu         sync.Mutex
	buf        []byte // appended and not taken to be written
	spare      []byte // a buffer for the time when buf is taken
	end        int64  // position behind buf
	enc        Encoder
	stamps     bool
	active     bool  // what is appended counts: the manifest and memory agree
	keep       bool  // what is appended has a file to go to
	err        error // latched
	closed     bool  // nothing is appended any more
	ending     bool  // the writer finishes
	order      *Rewrite
	orderAt    int    // where in buf the file changes
	turning    bool   // the file changes: from the order until what stands behind it has been written
	giveUp     bool   // the file is to be closed
	orphan     string // path of a file that is to be removed then
	rewrite    *Rewrite
	wrote      int64 // position up to which everything has been written, or dropped
	fsynced    int64 // position that has been synced; <= wrote
	syncWanted int64 // position that a client waits for
	moved      chan struct{}
	sizes      sizes
}

// Append adds the effects of a unit and returns the position behind it. The unit's reply must not be sent
// before that position counts (see Position). It is 0 if the unit does not count, because the log has failed
// or is not in effect. The effects are not used after the call.
func (l *Log) Append(unit []store.Effect) (position int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.keep {
		return 0
	}
	before := len(l.buf)
	if l.stamps && l.o.NowMS != nil {
		l.buf = l.enc.annotation(l.buf, l.o.NowMS())
	}
	l.buf = l.enc.Unit(l.buf, unit)
	l.end += int64(len(l.buf) - before)
	l.setDue()
	return l.counts.Load()
}

// setDue finds out what a reply depends on from now on; under mu.
func (l *Log) setDue() {
	lags := l.end-l.wrote > int64(l.o.MaxPending)
	if lags && !l.active && l.rewrite != nil { // no client can be made to wait for data that does not count yet
		l.rewrite.breakOff(errTooSlow)
		l.drop()
	}
	l.waits.Store(lags || l.turning || l.Policy() == Always)
	if l.active {
		l.counts.Store(l.end)
	} else {
		l.counts.Store(0)
	}
}

// Position is what a reply that is given now depends on, because it may tell of anything appended so far: it
// must not leave before that counts. 0: it depends on nothing.
func (l *Log) Position() int64 { return l.counts.Load() }

// Waits says how a reply that depends on a position is sent. True: it is held until Options.Durable is called
// with the position. False: the sender calls Write first, which only hands bytes to the system.
func (l *Log) Waits() bool { return l.waits.Load() }

// Write returns once the system has the bytes up to a position for which Waits was false. If necessary it
// writes them, with all other pending bytes. It returns false if the log has failed, so that they will never
// be written.
func (l *Log) Write(upTo int64) bool {
	if upTo <= l.written.Load() {
		return true
	}
	l.writing.Lock()
	if upTo > l.written.Load() {
		l.writeOut()
	}
	l.writing.Unlock()
	l.report()
	return upTo <= l.written.Load()
}

// Flush has the appended bytes written at the end of a round with held replies. It writes them now if the
// replies depend on nothing else; otherwise the writer does.
func (l *Log) Flush() {
	if position := l.counts.Load(); position > 0 && !l.waits.Load() {
		l.Write(position)
		return
	}
	if l.wakeWriter() {
		// The writer runs next on the processor of the caller, an event loop. If the loop slept in epoll_wait
		// first, and the other processors were busy, the writer would start up to 10 ms later.
		runtime.Gosched()
	}
}

// Wake makes the writer take what has been appended, if it does not anyway. It costs next to
// nothing while the writer is busy.
func (l *Log) Wake() { l.wakeWriter() }

// wakeWriter does what Wake does, and reports whether the writer was asleep.
func (l *Log) wakeWriter() (slept bool) {
	if !l.sleeping.Load() || !l.sleeping.CompareAndSwap(true, false) {
		return false
	}
	l.wake <- struct{}{}
	return true
}

// Durable is the position up to which everything counts.
func (l *Log) Durable() int64 { return l.durable.Load() }

// Synced is the position up to which everything is synced.
func (l *Log) Synced() int64 { return l.synced.Load() }

// Appended is the position behind what was appended last; WAITAOF waits until Synced reaches it.
func (l *Log) Appended() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.end
}

// Policy is the one in force.
func (l *Log) Policy() Policy { return Policy(l.policy.Load()) }

// SetPolicy changes when a change counts. What waits under Always and has been
// written may go when it is left.
func (l *Log) SetPolicy(p Policy) {
	l.mu.Lock()
	l.policy.Store(int32(p))
	l.setDue()
	l.mu.Unlock()
	l.rouse()
}

// SetTimestamps says whether a second's first unit has an annotation with the time
// before it (aof-timestamp-enabled).
func (l *Log) SetTimestamps(on bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stamps = on
}

// Delay makes every write wait for a time before it, so that a test can see what has not been written.
func (l *Log) Delay(d time.Duration) { l.delay.Store(int64(d)) }

// Reload reads the log from its beginning on, while it goes on to be written. Nothing may be appended
// meanwhile; call Sync before.
func (l *Log) Reload(in Input, o LoadOptions) (Loaded, error) { return l.dir.Load(in, o) }

// Err gives the error that latched, nil if there is none.
func (l *Log) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// Active says whether the log is in effect: what is appended will be there after a
// crash, as the policy has it.
func (l *Log) Active() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.active
}

// Sync returns once all that has been appended is synced, or with the error that prevents it.
func (l *Log) Sync(ctx context.Context) error {
	l.mu.Lock()
	want := l.end
	l.syncWanted = max(l.syncWanted, want)
	l.mu.Unlock()
	l.rouse()
	return l.await(ctx, func() (bool, error) {
		switch {
		case l.err != nil:
			return true, l.err
		case l.fsynced >= want && !l.active:
			return true, ErrInactive
		case l.fsynced >= want:
			return true, nil
		}
		return l.ending, ErrClosed
	})
}

// await returns what done says, which is asked under mu whenever something has moved.
func (l *Log) await(ctx context.Context, done func() (bool, error)) error {
	for {
		l.mu.Lock()
		yes, err := done()
		if yes {
			l.mu.Unlock()
			return err
		}
		if l.moved == nil {
			l.moved = make(chan struct{})
		}
		moved := l.moved
		l.mu.Unlock()
		select {
		case <-moved:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// move wakes those who await something; under mu.
func (l *Log) move() {
	if l.moved != nil {
		close(l.moved)
		l.moved = nil
	}
}

// rouse makes the writer look around now.
func (l *Log) rouse() {
	select {
	case l.hurry <- struct{}{}:
	default:
	}
	l.Wake()
}

// Close writes and syncs what has been appended, whatever the policy, closes the files and lets go of the
// directory. A rewrite that is under way cannot succeed any more, and Close waits until its Run returns: make
// its base function return an error. The error is the one that latched, or of the last write.
func (l *Log) Close() error {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return ErrClosed
	}
	l.closed, l.keep = true, false
	if l.rewrite != nil {
		l.rewrite.breakOff(ErrClosed)
	}
	l.mu.Unlock()
	_ = l.await(context.Background(), func() (bool, error) { return l.rewrite == nil, nil })
	l.mu.Lock()
	l.ending = true
	l.move()
	l.mu.Unlock()
	l.rouse()
	<-l.ended
	close(l.stop)
	l.syncer.Wait()
	err := l.dir.Close()
	if latched := l.Err(); latched != nil {
		return latched
	}
	return err
}
