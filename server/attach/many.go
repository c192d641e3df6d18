package attach

// A semaphore may have many holders. A change of one holder then only leaves a doubt about that holder.

// ChangedFor does what Changed does, for the holds of one owner at a key.
func (t *Table[S]) ChangedFor(db int, key, owner string, runsFor func(owner string) bool) {
	l := t.Find(db, key, owner)
	if l == nil {
		return
	}
	if l.why == unknown && runsFor(owner) {
		l.why = scripted
	}
	t.doubt(l)
}

// BecauseDoubted does what Because does, for the doubted locks at a key.
func (t *Table[S]) BecauseDoubted(db int, key []byte, why Reason) {
	for _, d := range t.doubts {
		if d.DB != db || d.Key != string(key) {
			continue
		}
		if l := t.Find(db, d.Key, d.Owner); l != nil && l.why <= scripted {
			l.why = why
		}
	}
}
