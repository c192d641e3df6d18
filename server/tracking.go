package server

import (
	"cmp"
	"maps"
	"slices"

	"lockserver/commands"
	"lockserver/server/tracking"
)

// Client-side caching. A client that tracks gets a message when something that it may keep a copy of has
// changed. Package tracking remembers the copies.
//
// The store reports every change, as it does for WATCH (observer.go), so a lock that is taken, a key that
// expires and one that is evicted need nothing of their own. Messages go through inboxes, as those of publish
// and subscribe do. A client gets messages about its own changes after the reply of the command, or of the
// whole transaction, and after other messages of that command. Those of BCAST are gathered until the slice
// ends, so that a pipeline makes one message of many keys.

// trackers are the clients that track. It is only touched under the executor.
type trackers struct {
	tracking.Table[*session]
	sweep timer
	most  int64    // tracking-table-max-keys; 0: no bound
	actor *session // the client that runs the current command, nil if none does
	// writer is the same for clients that listen to prefixes. As in Redis they get no client for a script's
	// changes: it is nil then.
	writer *session
	own    []ownNews // the messages of the running command for actor
	// flushed: the running command has emptied a database, and the message has been sent; it may empty many.
	flushed bool
	found   []int // buffer for places of keys
}

// ownNews is a message to the session that runs the current command.
type ownNews struct {
	to      *tracker
	message *tracking.Invalidation
}

// tracker is a session that tracks.
type tracker = tracking.Tracker[*session]

const (
	// sweepMost is how many readings of those who have left are forgotten at a time.
	sweepMost = 1024
	// spareEvictions is how many more keys than it has added a command evicts when the bound was lowered.
	spareEvictions = 100
)

// startTracking makes s a tracker; options and prefixes are for the caller to set.
func (ex *executor) startTracking(s *session) *tracker {
	if s.tracker == nil {
		s.tracker = ex.tracking.Start(s)
		ex.observe()
	}
	return s.tracker
}

// stopTracking ends it; it does nothing if s does not track.
func (ex *executor) stopTracking(s *session) {
	if s.tracker != nil {
		ex.tracking.Stop(s.tracker)
		s.tracker = nil
	}
}

// leaveTracking ends it for good: s goes, and what it has read is forgotten.
func (ex *executor) leaveTracking(s *session) {
	t := &ex.tracking
	if !t.InUse() {
		return
	}
	ex.stopTracking(s)
	if t.Leave(s) {
		t.fire(ex)
	}
	if !t.InUse() {
		ex.timers.stop(&t.sweep)
		ex.observe()
	}
}

// fire implements firer: it forgets some of what those have read who have left, and of what is above the
// bound.
func (t *trackers) fire(ex *executor) {
	more := t.Sweep(sweepMost)
	if ex.evictTracked(spareEvictions) || more {
		t.sweep.Of = t
		ex.timers.set(&t.sweep, ex.store.NowMS()+1)
	}
}

// boundTracking sets how many keys are remembered. The ticker does what that takes.
func (ex *executor) boundTracking(most int64) {
	t := &ex.tracking
	if t.most = most; t.isOver() {
		t.sweep.Of = t
		ex.timers.set(&t.sweep, ex.store.NowMS()+1)
	}
}

// act sets the client that runs the current command; nil: none does.
func (t *trackers) act(s *session) { t.actor, t.writer = s, s }

// isOver reports whether more keys are remembered than tracking-table-max-keys allows.
func (t *trackers) isOver() bool { return t.most > 0 && int64(t.Keys()) > t.most }

// runTracked runs a handler while at least one client tracks. Changes count as the client's own, and what it
// reads is remembered.
func (ex *executor) runTracked(c *commands.Ctx, s *session) error {
	t := &ex.tracking
	actor, writer := t.actor, t.writer
	if t.actor, t.writer, t.flushed = s, s, false; c.FromScript {
		t.writer = nil
	}
	err := c.Row.Run(c)
	if actor == nil && len(ex.monitors) == 0 { // otherwise after the monitors have got the command
		ex.tellOwn()
	}
	t.actor, t.writer = actor, writer
	ex.trackReads(s, c.Row, c.Argv)
	return err
}

// trackReads remembers the keys that a client's command has read, whatever came of it, if the client tracks.
// A command that waits reads each time that it is tried.
func (ex *executor) trackReads(s *session, row *commands.Row, argv [][]byte) {
	t, tr := &ex.tracking, s.tracker
	if tr == nil || !tr.Remembers() || !row.Flags.Has(commands.ReadOnly) || row.Group == commands.Scripting {
		return
	}
	var err error
	if t.found, err = ex.table.KeyPositions(row, argv, t.found[:0]); err != nil {
		return
	}
	evictions := spareEvictions
	for _, at := range t.found {
		if t.Remember(tr, argv[at]) {
			evictions++
		}
	}
	if t.isOver() {
		ex.evictTracked(evictions)
	}
}

// evictTracked tells of keys by chance, as if they had changed, until there are no more than
// tracking-table-max-keys; at most so many. It reports whether there are more.
func (ex *executor) evictTracked(most int) (more bool) {
	t := &ex.tracking
	for ; t.isOver() && most > 0; most-- {
		ex.invalidate(t.KeyAt(ex.rand.IntN(t.Keys())), nil)
	}
	return t.isOver()
}

// trackedKeyChanged tells those who have read the key, or listen to its prefix.
func (ex *executor) trackedKeyChanged(key []byte) {
	t := &ex.tracking
	if len(t.Prefixes()) > 0 {
		t.RecordChange(key, t.writer)
	}
	if k := t.Key(key); k != nil {
		ex.invalidate(k, t.actor)
	}
}

// invalidate sends messages to the readers of a key, and forgets it. actor is the client that changed it, nil
// if none did.
func (ex *executor) invalidate(k *tracking.Key[*session], actor *session) {
	m := tracking.Invalidation{Keys: []string{k.Name}}
	for _, r := range k.Readers {
		if r.By.Hears(actor) {
			ex.tellOrKeep(r.By, &m)
		}
	}
	ex.tracking.Forget(k)
}

// trackedFlushed tells every tracker that all keys may be gone, once a command.
func (ex *executor) trackedFlushed() {
	t := &ex.tracking
	if t.flushed {
		return
	}
	t.flushed = true
	var m tracking.Invalidation
	byID := func(x, y *tracker) int { return cmp.Compare(x.Of.id, y.Of.id) } // one may hear of several
	for _, tr := range slices.SortedFunc(maps.Keys(t.Trackers()), byID) {
		ex.tellOrKeep(tr, &m)
	}
	t.ForgetAll()
}

// tellOrKeep sends a message to a tracker, but keeps messages for the client that runs the current command:
// see tellOwn.
func (ex *executor) tellOrKeep(tr *tracker, m *tracking.Invalidation) {
	if t := &ex.tracking; tr.Of == t.actor {
		t.own = append(t.own, ownNews{tr, m})
		return
	}
	ex.tell(tr, m)
}

// tellOwn sends the kept messages to the client that has run the command.
func (ex *executor) tellOwn() {
	t := &ex.tracking
	for _, news := range t.own {
		ex.tell(news.to, news.message)
	}
	clear(t.own)
	t.own = t.own[:0]
}

// tellFirst is tellOwn for a command that is to be answered only then. Nothing has been answered yet.
func (ex *executor) tellFirst(s *session) {
	if ex.tracking.InUse() && !s.replies.isMuted() {
		ex.tellOwn()
		s.takeInbox()
	}
}

// tell sends a message to a tracker, or to the client that it redirects to. Version 2 of the protocol has
// messages only for subscribers, so nothing else reaches a client there.
func (ex *executor) tell(tr *tracker, m *tracking.Invalidation) {
	to := tr.Of
	if tr.Redirect != 0 {
		if to = ex.clients[tr.Redirect]; to == nil {
			ex.tellBroken(tr)
			return
		}
	}
	if to.out.Proto >= 3 || tr.Redirect != 0 && to.subs != nil {
		ex.deliver(to, m.In(to.out.Proto))
	}
}

// tellBroken tells a tracker that the client that it redirects to is gone.
func (ex *executor) tellBroken(tr *tracker) {
	tr.Broken = true
	if tr.Of.out.Proto >= 3 {
		ex.deliver(tr.Of, tracking.RedirectBroken(tr.Redirect))
	}
}

// broadcast tells of the changed keys, each once, in the order of their names.
func (ex *executor) broadcast() {
	for _, p := range ex.tracking.Prefixes() {
		changed := p.Changed()
		if changed == nil {
			continue
		}
		all := tracking.Invalidation{Keys: changed}
		for tr := range p.Members {
			if !tr.NoLoop {
				ex.tell(tr, &all)
			} else if others := p.ChangedByOthers(changed, tr.Of); len(others) > 0 {
				ex.tell(tr, &tracking.Invalidation{Keys: others})
			}
		}
		p.MarkSent()
	}
}

// endCaching ends what CLIENT CACHING said: it is for the next command, or transaction, that is not about
// clients. A command that waits has not ended.
func (s *session) endCaching(row *commands.Row) {
	if s.multi == nil && (row == nil || row.Parent() == nil || !row.Parent().Flags.Has(commands.KeepsCaching)) {
		s.tracker.Caching = false
	}
}

// endTracking sends what was gathered in a slice. A client that gets too much of it is closed, which may
// change more keys.
func (ex *executor) endTracking() {
	for {
		ex.broadcast()
		if len(ex.terminated) == 0 {
			return
		}
		ex.endUnit()
	}
}
