package server

// watching holds every watched key. It is only touched under the executor.
type watching struct {
	watches []map[string][]*watch // a database each
	count   int                   // of watches
	clients int                   // that watch any
}

func newWatching(databases int) watching {
	return watching{watches: make([]map[string][]*watch, databases)}
}

// keyChanged makes the transactions of those who watch the key fail. What else they watch no longer matters.
func (w *watching) keyChanged(db int, key []byte) {
	for list := w.watches[db][string(key)]; len(list) > 0; list = w.watches[db][string(key)] {
		s := list[len(list)-1].session
		s.watchedChanged = true
		w.forget(s)
	}
}

// forget ends the watches of a session, which has some.
func (w *watching) forget(s *session) {
	for _, one := range s.watched {
		w.remove(one)
	}
	s.watched = nil
	w.clients--
}

// databaseChanged is keyChanged for every key of a database that was there before or is there now.
func (w *watching) databaseChanged(db int) {
	for _, list := range w.watches[db] {
		for _, watch := range list {
			if watch.existed || watch.db.Holds([]byte(watch.key)) {
				watch.session.watchedChanged = true
			}
		}
	}
}

func (w *watching) add(s *session, key []byte) {
	for _, other := range s.watched {
		if other.db == s.db && other.key == string(key) {
			return
		}
	}
	list := w.watches[s.db.ID()][string(key)]
	one := &watch{session: s, db: s.db, key: string(key), place: len(list), existed: s.db.Peek(key).OK()}
	if w.watches[s.db.ID()] == nil {
		w.watches[s.db.ID()] = make(map[string][]*watch)
	}
	w.watches[s.db.ID()][one.key] = append(list, one)
	if len(s.watched) == 0 {
		w.clients++
	}
	s.watched = append(s.watched, one)
	w.count++
}

func (w *watching) remove(one *watch) {
	keys := w.watches[one.db.ID()]
	list := keys[one.key]
	last := list[len(list)-1]
	list[one.place], last.place = last, one.place
	list[len(list)-1] = nil
	if list = list[:len(list)-1]; len(list) == 0 {
		delete(keys, one.key)
	} else {
		keys[one.key] = list
	}
	w.count--
}

// hasWatchedChanged reports whether a watched key has changed. An expired key is removed here, if that has
// not happened before.
func (s *session) hasWatchedChanged() bool {
	for _, one := range s.watched {
		one.db.Peek([]byte(one.key))
	}
	return s.watchedChanged
}

// unwatch forgets the session's watched keys, and whether one of them has changed.
func (s *session) unwatch() {
	s.watchedChanged = false
	if len(s.watched) == 0 {
		return
	}
	s.executor.watching.forget(s)
	s.executor.observe()
}

// discard leaves a transaction and forgets the watched keys.
func (s *session) discard() {
	s.multi = nil
	s.unwatch()
}
