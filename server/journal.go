package server

import (
	"context"
	"errors"
	"path/filepath"
	"sync/atomic"

	"lockserver/persistence/aof"
	"lockserver/persistence/disk"
	"lockserver/server/transport"
	"lockserver/store"
)

// journal is the append-only log as the server sees it: it takes the effects of each unit, says
// what a reply has to wait for, and refuses writes once the disk has failed. The log itself, its
// files and its writer, is package aof's.
//
// It is only touched under the executor, but for what says otherwise.
type journal struct {
	executor *executor
	log      *aof.Log
	always   bool // appendfsync always: replies wait for the disk
	// offset is what the log's positions are above, so that positions of the process only rise, whatever
	// becomes of one log: the gate knows only one row of them.
	offset atomic.Int64
	last   int64 // the highest position that anything has had to wait for
	// wait is what the replies of this slice have to wait for, for what they wrote; fresh says that a unit
	// was appended since credit, and filled that one was since the slice began.
	wait          int64
	fresh, filled bool
	// broken is why the log cannot be written, nil if it can. Nothing is written until a
	// rewrite has made the log whole.
	broken error
	// awaiting are those who wait in WAITAOF for what they wrote to be synced, watched how many there are.
	awaiting map[*waiter]struct{}
	watched  atomic.Int64
}

// Append implements Journal.
func (j *journal) Append(unit []store.Effect) {
	j.fresh, j.filled = true, true
	if position := j.log.Append(unit); position > 0 {
		j.wait = max(j.wait, j.offset.Load()+position)
	} else if j.broken == nil {
		if err := j.log.Err(); err != nil { // of which we shall be told
			j.breakDown(err)
			j.wait = j.executor.gate.LostTo()
		}
	}
}

// credit notes that s has written whatever was appended since the last call.
func (j *journal) credit(s *session) {
	if j.fresh {
		j.fresh = false
		s.logged = j.offset.Load() + j.log.Appended()
	}
}

// due is the position that what s is sent now has to wait for; 0: it need not be laid aside, and MayLeave
// sees to the rest. It is asked at the end of a slice.
func (j *journal) due(s *session) int64 {
	position := max(j.wait, s.floor)
	s.floor = 0
	if p := j.log.Position(); p > 0 {
		position = max(position, j.offset.Load()+p)
	}
	if position <= j.executor.gate.Safe() {
		return 0
	}
	j.last = max(j.last, position)
	if !j.log.Waits() && !j.executor.gate.Lost(position) {
		s.needs = position
		return 0
	}
	return position
}

// endSlice sees to it that what the slice appended is written: now, or at the end of the round of an event
// loop, so that one sync serves all who wrote in it. touched are those who have got something in the slice
// besides the one whose it is: they must wait as well.
func (j *journal) endSlice(touched []*session, round *transport.Loop) {
	if !j.filled {
		return
	}
	for _, s := range touched {
		s.floor = max(s.floor, j.wait)
	}
	j.last = max(j.last, j.wait)
	j.filled, j.fresh, j.wait = false, false, 0
	if round != nil {
		round.FlushAtEnd(j.log)
	} else {
		j.log.Wake()
	}
}

// breakDown is what happens when the disk fails: writes are refused from now on, and whoever has not been
// answered never will be, for the answer could be of something that is lost.
func (j *journal) breakDown(err error) {
	if j.broken != nil || j.executor.aof != j {
		return
	}
	j.broken = err
	ex := j.executor
	ex.log.Error("the append-only file cannot be written: writes are refused until BGREWRITEAOF has written it anew", "cause", err)
	ex.gate.Lose(max(j.last, j.wait, ex.gate.Safe()+1))
}

// renew lets positions go on above those that were lost. The log is about to be
// rewritten: it tells nobody of positions.
func (j *journal) renew() {
	if behind := j.executor.gate.End() - j.offset.Load() - j.log.Appended(); j.broken != nil && behind > 0 {
		j.offset.Add(behind)
	}
}

// mend is what happens when a rewrite has made the log whole again.
func (j *journal) mend() {
	if j.broken == nil {
		return
	}
	j.broken = nil
	j.executor.log.Info("the append-only file is whole again, writes are accepted")
}

// newJournal is a journal whose log is to be opened with these options. Goroutines of the log call what is in
// there, also while a log is closed under the executor: so none of it may wait for the executor.
func (ex *executor) newJournal() (*journal, aof.Options) {
	j := &journal{executor: ex, awaiting: make(map[*waiter]struct{}), always: ex.config.AppendFsync == "always"}
	j.offset.Store(ex.gate.End())
	return j, aof.Options{
		Policy: policyOf(ex.config.AppendFsync),
		Durable: func(position int64) {
			freed, left := ex.gate.Open(j.offset.Load() + position)
			if j.log.Policy() == aof.Always {
				ex.gate.Gather(freed, left)
			}
		},
		Synced: func(int64) {
			if j.watched.Load() > 0 {
				go ex.do(j.answerSynced)
			}
		},
		Failed: func(err error) {
			go ex.do(func() { j.breakDown(err) })
		},
		Warn:  func(err error) { ex.log.Warn("the append-only file", "cause", err) },
		NowMS: func() int64 { return ex.store.NowMS() },
	}
}

// policyOf is the policy that a word of appendfsync means.
func policyOf(word string) aof.Policy {
	switch word {
	case "always":
		return aof.Always
	case "no":
		return aof.No
	}
	return aof.EverySec
}

func (ex *executor) logPlace() aof.Place {
	return aof.Place{FS: ex.files, Dir: ex.config.Dir, Sub: ex.config.AppendDirname, Filename: ex.config.AppendFilename}
}

// logDir is the log's directory.
func (ex *executor) logDir() string { return filepath.Join(ex.config.Dir, ex.config.AppendDirname) }

// openLogDir locks the log's directory. The error is one clear line.
func (ex *executor) openLogDir() (*aof.Dir, error) {
	if err := ex.ownDir(); err != nil {
		return nil, err
	}
	dir, err := aof.OpenDir(ex.logPlace())
	if errors.Is(err, disk.ErrLocked) {
		return nil, &lockedDirError{ex.logDir()}
	}
	return dir, err
}

// lockedDirError says that another server uses a directory.
type lockedDirError struct{ dir string }

func (e *lockedDirError) Error() string {
	return "another server keeps its append-only file in " + e.dir
}

// attach makes a journal the server's. Under the executor.
func (ex *executor) attach(j *journal, log *aof.Log) {
	j.log = log
	log.SetTimestamps(ex.config.AOFTimestampEnabled)
	ex.aof, ex.journal = j, j
	ex.gate.Follow(func(position int64) bool { return j.log.Write(position - j.offset.Load()) })
	if ex.opts.Journal != nil {
		ex.journal = tee{ex.opts.Journal, ex.aof}
	}
	ex.store.Record(true)
}

// detach ends what attach began; the log is still open.
func (ex *executor) detach() {
	j := ex.aof
	ex.aof, ex.journal = nil, ex.opts.Journal
	ex.gate.Closed(j.last)
	ex.store.Record(ex.journal != nil)
	for w := range j.awaiting {
		ex.timeOut(w)
	}
}

// tee is two journals: the embedding program's and the log.
type tee struct{ first, second Journal }

// Append implements Journal.
func (t tee) Append(unit []store.Effect) {
	t.first.Append(cloneUnit(unit))
	t.second.Append(unit)
}

// cloneUnit copies a unit, for a journal may keep what it is given.
func cloneUnit(unit []store.Effect) []store.Effect {
	own := make([]store.Effect, len(unit))
	for i, e := range unit {
		own[i] = store.Effect{DB: e.DB, Args: ownAll(e.Args)}
	}
	return own
}

// isSynced reports whether the log is on disk up to a position.
func (j *journal) isSynced(position int64) bool { return j.offset.Load()+j.log.Synced() >= position }

// await makes one who waits in WAITAOF for a position try again whenever the log has been synced.
func (j *journal) await(w *waiter, position int64) {
	j.awaiting[w] = struct{}{}
	j.watched.Store(int64(len(j.awaiting)))
	if j.log.Policy() == aof.No { // nobody else would
		log := j.log
		go func() { _ = log.Sync(context.Background()) }()
	}
	if j.isSynced(position) { // between the look and the entry
		go j.executor.do(j.answerSynced)
	}
}

// forget is told that a wait is over, however it ended.
func (j *journal) forget(w *waiter) {
	if len(j.awaiting) > 0 {
		delete(j.awaiting, w)
		j.watched.Store(int64(len(j.awaiting)))
	}
}

// answerSynced lets those who wait in WAITAOF try. Who is answered is forgotten.
func (j *journal) answerSynced() {
	for w := range j.awaiting {
		j.executor.try(w)
	}
}
