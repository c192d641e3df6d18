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
// serves many (group commit). Under the other policies no reply waits for a sync. There the sender of replies
// writes before it sends (Write), and the writer does the rest. A second goroutine syncs once a second under
// EverySec.
//
// A position is the number of bytes appended since the log was opened; it never falls. Append, Wake and
// BeginRewrite are called under the executor's lock, the other methods from anywhere. Close, Sync and
// Rewrite's methods must not be called while holding anything that Options.Durable waits for.
type Log struct {
	dir *Dir
	o   Options

	policy   atomic.Int32
	counts   atomic.Int64 // see Position
	waits    atomic.Bool  // see Waits
	written  atomic.Int64 // the system has all bytes up to this position; only rises
	durable  atomic.Int64 // the last argument of Options.Durable; only rises
	synced   atomic.Int64 // the last argument of Options.Synced; only rises
	delay    atomic.Int64 // see Delay
	sleeping atomic.Bool  // the writer waits for wake
	wake     chan struct{}
	hurry    chan struct{} // ends the gathering of bytes early
	ended    chan struct{} // closed when the writer has ended
	stop     chan struct{} // ends the syncer
	syncer   sync.WaitGroup

	// tell serialises the calls of Durable and Synced.
	tell sync.Mutex
	// writing is held from taking buf until it is written, so that the file gets the bytes in order. It is
	// locked before syncing.
	writing sync.Mutex
	// syncing is held for a sync and for a change of the file, so that no file is closed during its sync. It
	// is locked before mu.
	syncing sync.Mutex
	file    disk.File // the file being written, or nil. Changed under syncing, and also under writing or by the writer while it turns

	mu     sync.Mutex
	buf    []byte // appended bytes that are not taken for writing yet
	spare  []byte // the buffer that replaces buf while buf is being written
	end    int64  // position behind buf
	enc    Encoder
	stamps bool
	marked bool  // the current file has the line of MarkRules
	active bool  // appended units count: the manifest and memory agree
	keep   bool  // appended units have a file to go to
	err    error // the first error, until a rewrite succeeds
	closed bool  // nothing can be appended any more
	ending bool  // the writer is finishing
	fileChange
	rewrite    *Rewrite
	wrote      int64 // position up to which all bytes were written or dropped
	fsynced    int64 // position that has been synced; <= wrote
	syncWanted int64 // position that a client waits for to be synced
	moved      chan struct{}
	sizes      sizes
}

// fileChange describes a change of the file that a rewrite has ordered. Log.mu guards it.
type fileChange struct {
	order   *Rewrite
	orderAt int    // the offset in buf where the file changes
	turning bool   // the file is changing: from the order until the bytes after orderAt are written
	giveUp  bool   // the file must be closed
	orphan  string // path of a file that must then be removed
}

// Append adds the effects of a unit and returns the position after it. The unit's reply must not be sent
// before that position counts (see Position). It is 0 if the unit does not count, because the log has failed
// or is not in effect. The log does not use the effects after the call.
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

// setDue computes the position that replies depend on from now on; under mu.
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

// Position returns the position that a reply given now depends on, because the reply may show the effect of
// any appended unit. The reply must not be sent before that position counts. 0 means that it depends on
// nothing.
func (l *Log) Position() int64 { return l.counts.Load() }

// Waits says how to send a reply that depends on a position. True: hold it until Options.Durable is called
// with the position. False: call Write first, which only hands bytes to the system.
func (l *Log) Waits() bool { return l.waits.Load() }

// Write returns when the system has the bytes up to a position for which Waits was false. If necessary it
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

// Flush has the appended bytes written at the end of a batch with held replies. It writes them itself if the
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

// Wake makes the writer write the appended bytes soon. It costs almost nothing while the writer is busy.
func (l *Log) Wake() { l.wakeWriter() }

// wakeWriter does the same as Wake, and reports whether the writer was asleep.
func (l *Log) wakeWriter() (slept bool) {
	if !l.sleeping.Load() || !l.sleeping.CompareAndSwap(true, false) {
		return false
	}
	l.wake <- struct{}{}
	return true
}

// Durable returns the position up to which all units count.
func (l *Log) Durable() int64 { return l.durable.Load() }

// Synced returns the position up to which all units are synced.
func (l *Log) Synced() int64 { return l.synced.Load() }

// Appended returns the position after the last appended unit; WAITAOF waits until Synced reaches it.
func (l *Log) Appended() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.end
}

// Policy returns the current policy.
func (l *Log) Policy() Policy { return Policy(l.policy.Load()) }

// SetPolicy changes when a unit counts. When the log leaves Always, replies to written units need not wait
// any more.
func (l *Log) SetPolicy(p Policy) {
	l.mu.Lock()
	l.policy.Store(int32(p))
	l.setDue()
	l.mu.Unlock()
	l.rouse()
}

// SetTimestamps turns the annotation with the time on or off (aof-timestamp-enabled). It stands before the
// first unit of each second.
func (l *Log) SetTimestamps(on bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stamps = on
}

// Delay delays every write, so that a test can see the state before it.
func (l *Log) Delay(d time.Duration) { l.delay.Store(int64(d)) }

// Reload reads the log from its beginning, and the log stays open for writing. Nothing may be appended during
// the call; call Sync before.
func (l *Log) Reload(in Input, o LoadOptions) (Loaded, error) { return l.dir.Load(in, o) }

// Err returns the latched error, or nil.
func (l *Log) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// Active reports whether the log is in effect: appended units survive a crash, as the policy promises.
func (l *Log) Active() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.active
}

// Sync returns when all appended units are synced, or with the error that prevents it.
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

// await waits until done returns true or an error. done is called under mu after each change of state.
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

// move wakes the goroutines in await; under mu.
func (l *Log) move() {
	if l.moved != nil {
		close(l.moved)
		l.moved = nil
	}
}

// rouse makes the writer check its work now.
func (l *Log) rouse() {
	select {
	case l.hurry <- struct{}{}:
	default:
	}
	l.Wake()
}

// Close writes and syncs all appended units, under any policy, closes the files and releases the lock of the
// directory. A running rewrite cannot succeed any more, and Close waits until its Run returns: make its base
// function return an error. The error is the latched error, or the error of the last write.
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
