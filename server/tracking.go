package server

import "lockserver/commands"

// Client-side caching. A client that tracks is told when something that it may keep a copy of has
// changed. By default the server remembers which keys it has read and tells it once of each, which then
// must be read again to be tracked again; with BCAST nothing is remembered and it is told of every key
// that begins with one of its prefixes.
//
// The store tells of every change, as it does for WATCH (Observer), so a lock that is taken, a key
// that expires and one that is evicted need nothing of their own. Messages travel in inboxes, as
// those of publish and subscribe do: whoever tracks hears of its own changes after the reply of the
// command, or of the whole transaction. Those of BCAST are gathered until the slice ends, so that a
// pipeline makes one message of many keys.
//
// As in Redis a key is a name, whatever the database: a change of k in database 1 also
// invalidates k of database 0.

// tracking is who keeps copies of what. It is only touched under the executor.
type tracking struct {
	trackers map[*session]*tracker
	keys     map[string]*trackedKey
	order    []*trackedKey // the same, for drawing one by chance
	items    int           // readings of all keys together
	// leaving have stopped to track, but still stand with the keys that they read:
	// those are forgotten bit by bit.
	leaving []*tracker
	sweep   timer
	most    int64 // tracking-table-max-keys; 0: no bound

	prefixes []*prefix // by name
	actor    *session  // whose command is running, nil if nobody's
	// flushedAt is executor.total at the last flush that was told: one command may empty many databases.
	flushedAt int64
	found     []int // room for places of keys
}

// tracker is a session that tracks.
type tracker struct {
	session  *session
	redirect int64 // whom the messages go to; 0: to itself
	broken   bool  // redirect was found to be gone
	bcast    bool
	optIn    bool // only what is read behind CLIENT CACHING YES counts
	optOut   bool // what is read behind CLIENT CACHING NO does not count
	noLoop   bool // what the client changes itself is no news to it
	caching  bool // CLIENT CACHING was said for the next command
	left     bool // it no longer tracks
	reads    map[string]*reading
	prefixes []*prefix // by name
}

// trackedKey is a key that somebody has read; there is none without a reader.
type trackedKey struct {
	name    string
	place   int // in tracking.order
	readers []*reading
}

// reading is that a tracker has read a key.
type reading struct {
	tracker *tracker
	key     *trackedKey
	place   int // in key.readers
}

const (
	// sweepMost is how many readings of those who have left are forgotten at a time.
	sweepMost = 1024
	// spareEvictions is how many more keys than it has added a command evicts when the bound was lowered.
	spareEvictions = 100
)

func newTracking() tracking {
	t := tracking{trackers: map[*session]*tracker{}, flushedAt: -1}
	t.forgetAll()
	return t
}

// inUse reports whether anybody tracks.
func (t *tracking) inUse() bool { return len(t.trackers) > 0 }

// forgetAll empties the table of keys.
func (t *tracking) forgetAll() {
	t.keys, t.order, t.items, t.leaving = map[string]*trackedKey{}, nil, 0, nil
	for _, tr := range t.trackers {
		tr.reads = nil
	}
}

// remember notes that tr has read a key, and returns whether nobody else had.
func (t *tracking) remember(tr *tracker, key []byte) (fresh bool) {
	if tr.reads[string(key)] != nil {
		return false
	}
	k := t.keys[string(key)]
	if k == nil {
		k = &trackedKey{name: string(key), place: len(t.order)}
		t.keys[k.name] = k
		t.order = append(t.order, k)
		fresh = true
	}
	r := &reading{tracker: tr, key: k, place: len(k.readers)}
	k.readers = append(k.readers, r)
	if tr.reads == nil {
		tr.reads = map[string]*reading{}
	}
	tr.reads[k.name] = r
	t.items++
	return fresh
}

// forgetReading ends what remember began, for one reader.
func (t *tracking) forgetReading(r *reading) {
	k := r.key
	delete(r.tracker.reads, k.name)
	last := len(k.readers) - 1
	k.readers[r.place] = k.readers[last]
	k.readers[r.place].place = r.place
	k.readers[last] = nil
	k.readers = k.readers[:last]
	t.items--
	if last == 0 {
		t.forgetKey(k)
	}
}

// forgetKey takes a key with all its readers out of the table.
func (t *tracking) forgetKey(k *trackedKey) {
	for _, r := range k.readers {
		delete(r.tracker.reads, k.name)
	}
	t.items -= len(k.readers)
	delete(t.keys, k.name)
	last := len(t.order) - 1
	t.order[k.place] = t.order[last]
	t.order[k.place].place = k.place
	t.order[last] = nil
	t.order = t.order[:last]
}

// startTracking makes s a tracker; options and prefixes are for the caller to set.
func (ex *executor) startTracking(s *session) *tracker {
	if s.tracker == nil {
		s.tracker = &tracker{session: s}
		ex.tracking.trackers[s] = s.tracker
		ex.observe()
	}
	return s.tracker
}

// stopTracking ends it; it does nothing if s does not track. What a client has read may be a million keys,
// which are not forgotten all at once.
func (ex *executor) stopTracking(s *session) {
	tr, t := s.tracker, &ex.tracking
	if tr == nil {
		return
	}
	s.tracker = nil
	tr.left = true
	for _, p := range tr.prefixes {
		t.leavePrefix(tr, p)
	}
	delete(t.trackers, s)
	switch {
	case len(t.trackers) == 0:
		t.forgetAll()
		ex.timers.stop(&t.sweep)
		ex.observe()
	case len(tr.reads) > 0:
		t.leaving = append(t.leaving, tr)
		t.fire(ex)
	}
}

// fire implements firer: it forgets some of what those have read who have left.
func (t *tracking) fire(ex *executor) {
	for budget := sweepMost; budget > 0 && len(t.leaving) > 0; {
		last := len(t.leaving) - 1
		tr := t.leaving[last]
		for _, r := range tr.reads {
			if t.forgetReading(r); budget == 1 {
				break
			}
			budget--
		}
		if len(tr.reads) > 0 {
			break
		}
		t.leaving[last] = nil
		t.leaving = t.leaving[:last]
	}
	if len(t.leaving) > 0 {
		t.sweep.Of = t
		ex.timers.set(&t.sweep, ex.store.NowMS()+1)
	}
}

// runTracked runs a handler while somebody tracks: what changes is the client's doing,
// and what it reads is remembered.
func (ex *executor) runTracked(c *commands.Ctx, s *session) error {
	outer := ex.tracking.actor
	ex.tracking.actor = s
	err := c.Row.Run(c)
	ex.tracking.actor = outer
	if tr := s.tracker; tr != nil && !tr.bcast && c.Row.Flags.Has(commands.ReadOnly) && c.Row.Group != commands.Scripting {
		ex.noteReads(tr, c.Row, c.Argv)
	}
	return err
}

// noteReads remembers the keys that a command has read, whatever came of it.
func (ex *executor) noteReads(tr *tracker, row *commands.Row, argv [][]byte) {
	t := &ex.tracking
	if tr.optIn && !tr.caching || tr.optOut && tr.caching {
		return
	}
	var err error
	if t.found, err = ex.table.KeyPositions(row, argv, t.found[:0]); err != nil {
		return
	}
	evictions := spareEvictions
	for _, at := range t.found {
		if t.remember(tr, argv[at]) {
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
	for ; most > 0 && int64(len(t.order)) > t.most; most-- {
		ex.invalidate(t.order[ex.rand.IntN(len(t.order))], nil)
	}
}

// trackedKeyChanged tells those who have read the key, or listen to its prefix.
func (ex *executor) trackedKeyChanged(key []byte) {
	t := &ex.tracking
	if len(t.prefixes) > 0 {
		t.noteChange(key)
	}
	if k := t.keys[string(key)]; k != nil {
		ex.invalidate(k, t.actor)
	}
}

// invalidate tells the readers of a key, and forgets it. actor is whose command did it, nil if nobody's.
func (ex *executor) invalidate(k *trackedKey, actor *session) {
	m := invalidation{keys: []string{k.name}}
	for _, r := range k.readers {
		if tr := r.tracker; !tr.left && !(tr.noLoop && tr.session == actor) {
			ex.tell(tr, &m)
		}
	}
	ex.tracking.forgetKey(k)
}

// trackedFlushed tells every tracker that all keys may be gone, once a command.
func (ex *executor) trackedFlushed() {
	t := &ex.tracking
	if t.flushedAt == ex.total {
		return
	}
	t.flushedAt = ex.total
	var m invalidation
	for _, tr := range t.trackers {
		ex.tell(tr, &m)
	}
	t.forgetAll()
}

// settleCaching ends what CLIENT CACHING said: it is for the next command, or
// transaction, that is not about clients.
func (s *session) settleCaching(row *commands.Row) {
	if s.multi == nil && (row == nil || row.Parent() == nil || !row.Parent().Flags.Has(commands.KeepsCaching)) {
		s.tracker.caching = false
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
