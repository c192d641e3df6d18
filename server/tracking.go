package server

import (
	"lockserver/commands"
	"lockserver/server/tracking"
)

// Client-side caching. A client that tracks is told when something that it may keep a copy of has
// changed; package tracking knows who keeps what.
//
// The store tells of every change, as it does for WATCH (observer.go), so a lock that is taken, a key
// that expires and one that is evicted need nothing of their own. Messages travel in inboxes, as
// those of publish and subscribe do: whoever tracks hears of its own changes after the reply of the
// command, or of the whole transaction. Those of BCAST are gathered until the slice ends, so that a
// pipeline makes one message of many keys.

// trackers are the clients that track. It is only touched under the executor.
type trackers struct {
	tracking.Table[*session]
	sweep timer
	most  int64    // tracking-table-max-keys; 0: no bound
	actor *session // whose command is running, nil if nobody's
	// flushed: the running command has emptied a database, which was told; it may empty many.
	flushed bool
	found   []int // room for places of keys
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
	tr, t := s.tracker, &ex.tracking
	if tr == nil {
		return
	}
	s.tracker = nil
	if t.Stop(tr) {
		t.fire(ex)
	}
	if !t.InUse() {
		ex.timers.stop(&t.sweep)
		ex.observe()
	}
}

// fire implements firer: it forgets some of what those have read who have left.
func (t *trackers) fire(ex *executor) {
	if t.Sweep(sweepMost) {
		t.sweep.Of = t
		ex.timers.set(&t.sweep, ex.store.NowMS()+1)
	}
}

// runTracked runs a handler while somebody tracks: what changes is the client's doing,
// and what it reads is remembered.
func (ex *executor) runTracked(c *commands.Ctx, s *session) error {
	outer := ex.tracking.actor
	ex.tracking.actor, ex.tracking.flushed = s, false
	err := c.Row.Run(c)
	ex.tracking.actor = outer
	if tr := s.tracker; tr != nil && tr.Remembers() && c.Row.Flags.Has(commands.ReadOnly) && c.Row.Group != commands.Scripting {
		ex.noteReads(tr, c.Row, c.Argv)
	}
	return err
}

// noteReads remembers the keys that a command has read, whatever came of it.
func (ex *executor) noteReads(tr *tracker, row *commands.Row, argv [][]byte) {
	t := &ex.tracking
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
	if t.most > 0 {
		ex.evictTracked(evictions)
	}
}

// evictTracked tells of keys by chance, as if they had changed, until there are no more than
// tracking-table-max-keys; at most so many.
func (ex *executor) evictTracked(most int) {
	t := &ex.tracking
	for ; most > 0 && int64(t.Keys()) > t.most; most-- {
		ex.invalidate(t.KeyAt(ex.rand.IntN(t.Keys())), nil)
	}
}

// trackedKeyChanged tells those who have read the key, or listen to its prefix.
func (ex *executor) trackedKeyChanged(key []byte) {
	t := &ex.tracking
	if len(t.Prefixes()) > 0 {
		t.NoteChange(key, t.actor)
	}
	if k := t.Key(key); k != nil {
		ex.invalidate(k, t.actor)
	}
}

// invalidate tells the readers of a key, and forgets it. actor is whose command did it, nil if nobody's.
func (ex *executor) invalidate(k *tracking.Key[*session], actor *session) {
	m := tracking.Invalidation{Keys: []string{k.Name}}
	for _, r := range k.Readers {
		if r.By.Hears(actor) {
			ex.tell(r.By, &m)
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
	for tr := range t.Trackers() {
		ex.tell(tr, &m)
	}
	t.ForgetAll()
}

// tell sends a tracker a message, or whom it has named instead. Version 2 of the protocol has no messages but
// those to subscribers, so nothing else reaches a client there.
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

// tellBroken tells a tracker that nobody hears its messages any more.
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
		p.Told()
	}
}

// endCaching ends what CLIENT CACHING said: it is for the next command, or
// transaction, that is not about clients.
func (s *session) endCaching(row *commands.Row) {
	if s.multi == nil && (row == nil || row.Parent() == nil || !row.Parent().Flags.Has(commands.KeepsCaching)) {
		s.tracker.Caching = false
	}
}

// endTracking sends what was gathered in a slice. Whoever is sent too much of it is
// ended, which may change more keys.
func (ex *executor) endTracking() {
	for {
		ex.tracking.actor = nil
		ex.broadcast()
		if len(ex.condemned) == 0 {
			return
		}
		ex.endUnit()
	}
}
