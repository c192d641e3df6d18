package aof

import (
	"fmt"
	"time"
)

// maxSpare is the largest buffer that is kept for reuse.
const maxSpare = 8 << 20

// work is the work that the writer takes at a time.
type work struct {
	bytes   []byte
	end     int64 // position behind bytes
	rewrite *Rewrite
	at      int  // where in bytes the file changes, in a rewrite
	sync    bool // sync under any policy
	giveUp  bool
	ending  bool
}

// write is the writer's goroutine.
func (l *Log) write() {
	defer close(l.ended)
	leaving := time.NewTimer(time.Hour)
	defer leaving.Stop()
	for {
		some, ending := l.turn()
		switch {
		case some:
		case ending:
			l.finish()
			return
		default:
			l.sleep()
			if l.Policy() != Always && !l.waits.Load() { // the callers of Write do the writing, and most likely are doing it
				leaving.Reset(l.o.Gather)
				select {
				case <-leaving.C:
				case <-l.hurry:
				}
			}
		}
	}
}

// todo returns the pending work; under mu, by the writer.
func (l *Log) todo() (w work, some bool) {
	w = work{bytes: l.buf, end: l.end, rewrite: l.order, at: l.orderAt, giveUp: l.giveUp, ending: l.ending}
	written := max(l.wrote, l.end*int64(min(1, len(l.buf)))) // written position after this work
	w.sync = l.file != nil && l.fsynced < written && (l.syncWanted > l.fsynced || l.Policy() == Always)
	return w, len(w.bytes) > 0 || w.rewrite != nil || w.giveUp || w.sync
}

// take takes all pending work.
func (l *Log) take() (w work, some bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	w, some = l.todo()
	if some {
		l.buf, l.spare = l.spare[:0], nil
		l.order, l.giveUp = nil, false
	}
	return w, some
}

// sleep waits for wake, unless there is work.
func (l *Log) sleep() {
	l.sleeping.Store(true)
	l.writing.Lock() // a writing goroutine changes the pending work without a signal
	l.mu.Lock()
	w, some := l.todo()
	l.mu.Unlock()
	l.writing.Unlock()
	if (some || w.ending) && l.sleeping.CompareAndSwap(true, false) {
		return
	}
	<-l.wake
}

// turn takes the pending work and does it.
func (l *Log) turn() (some, ending bool) {
	l.writing.Lock()
	w, some := l.take()
	if !some {
		l.writing.Unlock()
		return false, w.ending
	}
	if w.giveUp {
		l.abandon()
	}
	rest, ok := w.bytes, true
	if w.rewrite != nil {
		// plant:put-before-cut
		ok = l.put(rest[:w.at], w.end-int64(len(rest)-w.at))
		l.writing.Unlock() // no other goroutine writes while the file changes
		ok = ok && l.change(w.rewrite)
		// plant:put-after-cut
		rest = rest[w.at:]
		close(w.rewrite.begun)
		l.writing.Lock()
	}
	ok = ok && l.put(rest, w.end)
	l.mu.Lock()
	if w.rewrite != nil && l.order == nil {
		l.turning = false
		l.setDue()
	}
	l.spareIt(w.bytes)
	l.mu.Unlock()
	l.writing.Unlock()
	if ok && (w.sync || l.Policy() == Always) {
		l.syncFile()
	}
	l.report()
	return true, false
}

// writeOut writes the appended bytes that belong into the current file; under writing.
func (l *Log) writeOut() {
	l.mu.Lock()
	b, end := l.buf, l.end
	switch {
	case l.order != nil: // later bytes have to wait for the new file
		b = b[:l.orderAt]
	case l.turning:
		b = nil
	}
	if len(b) > 0 {
		behind := l.buf[len(b):]
		end -= int64(len(behind))
		l.buf, l.spare, l.orderAt = append(l.spare[:0], behind...), nil, 0
	}
	l.mu.Unlock()
	if l.put(b, end) && len(b) > 0 {
		l.mu.Lock()
		l.spareIt(b)
		l.mu.Unlock()
	}
}

// spareIt keeps a written buffer for reuse; under mu.
func (l *Log) spareIt(b []byte) {
	if l.spare == nil && cap(b) <= maxSpare {
		l.spare = b[:0]
	}
}

// put writes bytes that end at a position; under writing.
func (l *Log) put(b []byte, end int64) bool {
	if len(b) == 0 {
		return true
	}
	if l.file == nil || l.isGivenUp() {
		return false
	}
	if d := l.delay.Load(); d > 0 {
		time.Sleep(time.Duration(d))
	}
	n, err := l.file.Write(b)
	// plant:log-written
	if err != nil {
		l.trim(b[:n])
		l.fail(fmt.Errorf("writing the log: %w", err))
		l.closeFile()
		return false
	}
	l.mu.Lock()
	l.wrote = max(l.wrote, end)
	l.sizes.current += int64(len(b))
	l.mu.Unlock()
	// plant:log-counted
	l.written.Store(end)
	return true
}

func (l *Log) isGivenUp() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.giveUp
}

// trim removes the partial unit that a failed write has left, so that the file ends with a whole unit. It
// need not succeed: the next load would cut it, and nothing is written to this file any more.
func (l *Log) trim(written []byte) {
	whole := wholeUnits(written)
	size, err := l.file.Size()
	if err == nil {
		err = l.file.Truncate(size - int64(len(written)-whole))
	}
	if err == nil {
		err = l.file.Sync()
	}
	if err != nil {
		l.o.Warn(fmt.Errorf("the log ends with a part of a change, which the next start will cut off: %w", err))
	}
}

// syncFile syncs all written bytes and reports success. The writer and the syncer call it. A failure latches
// before the other can sync the same file, because the system reports it only once.
func (l *Log) syncFile() bool {
	ok, failed := l.trySync()
	if failed != nil {
		l.o.Failed(failed)
	}
	return ok
}

// trySync does the work of syncFile. failed is the error if it is the first error, which must still be
// reported.
func (l *Log) trySync() (ok bool, failed error) {
	l.syncing.Lock()
	defer l.syncing.Unlock()
	l.mu.Lock()
	upTo, done, usable := l.wrote, l.fsynced, l.file != nil && !l.giveUp
	l.mu.Unlock()
	if !usable || done >= upTo {
		return usable, nil
	}
	begun := time.Now()
	// plant:log-sync
	if err := l.file.Sync(); err != nil {
		if l.latch(err) {
			failed = err
		}
		return false, failed
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fsynced = max(l.fsynced, upTo)
	us := time.Since(begun).Microseconds()
	l.sizes.syncs.Add(us)
	l.sizes.slowest = max(l.sizes.slowest, us)
	l.move()
	return true, nil
}

// fail latches an error and reports it.
func (l *Log) fail(err error) {
	if l.latch(err) {
		l.o.Failed(err)
	}
}

// latch records an error: from now on no unit counts, and units are dropped. It reports whether it is the
// first error.
func (l *Log) latch(err error) (first bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if rw := l.rewrite; rw != nil {
		if rw == l.order && !rw.listed { // the file belongs to an aborted rewrite, and nothing depends on it
			l.giveUp = true
			return false
		}
		rw.breakOff(err)
	}
	if first = l.err == nil; first {
		l.err = err
	}
	l.active, l.giveUp = false, true
	l.drop()
	l.setDue()
	return first
}

// drop discards the appended units and all later units; under mu. An order stays, because its waiter must get
// an answer. The units need not be written: before the log is in effect again, a base will contain their
// data.
func (l *Log) drop() {
	l.keep = false
	l.buf, l.orderAt = l.buf[:0], 0
	l.wrote, l.fsynced = l.end, l.end
	l.move()
}

// abandon closes the file and removes it if it never became a part of the log.
func (l *Log) abandon() {
	l.closeFile()
	l.mu.Lock()
	orphan := l.orphan
	l.orphan = ""
	l.mu.Unlock()
	if orphan == "" {
		return
	}
	if err := l.dir.place.FS.Remove(orphan); err != nil && !isMissing(err) {
		l.o.Warn(err)
	}
}

// closeFile closes the file.
func (l *Log) closeFile() {
	l.syncing.Lock()
	defer l.syncing.Unlock()
	if l.file == nil {
		return
	}
	if err := l.file.Close(); err != nil {
		l.o.Warn(err)
	}
	l.file = nil
}

// report calls Durable and Synced with the new positions.
func (l *Log) report() {
	l.tell.Lock()
	defer l.tell.Unlock()
	l.mu.Lock()
	active, durable, synced := l.active, l.wrote, l.fsynced
	// plant:report-policy
	if l.Policy() == Always {
		durable = l.fsynced
	}
	l.mu.Unlock()
	if !active {
		return
	}
	if synced > l.synced.Load() {
		l.synced.Store(synced)
		l.o.Synced(synced)
	}
	if durable > l.durable.Load() {
		l.durable.Store(durable)
		l.o.Durable(durable)
	}
}

// finish runs at the end of the writer: all bytes were written.
func (l *Log) finish() {
	l.writing.Lock()
	defer l.writing.Unlock()
	if l.file != nil {
		l.syncFile()
		l.report()
	}
	l.closeFile()
}

// keepSyncing is the syncer's goroutine.
func (l *Log) keepSyncing() {
	tick := time.NewTicker(l.o.SyncEvery)
	defer tick.Stop()
	for {
		select {
		case <-l.stop:
			return
		case <-tick.C:
		}
		l.Wake() // needed if a caller forgot to signal
		l.mu.Lock()
		needed := l.Policy() == EverySec && l.active && l.fsynced < l.wrote
		l.sizes.syncing = needed
		l.mu.Unlock()
		if !needed {
			continue
		}
		begun := time.Now()
		ok := l.syncFile()
		l.mu.Lock()
		l.sizes.syncing = false
		if time.Since(begun) > l.o.SyncEvery {
			l.sizes.delayed++
		}
		l.mu.Unlock()
		if ok {
			l.report()
		}
	}
}
