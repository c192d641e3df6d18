package store

import "lockserver/store/list"

// ListEdit writes to one key's list. The key is made by the first Push and removed with the last element.
// The caller of EditList has checked that the key is missing or a list.
type ListEdit struct {
	db   *DB
	key  []byte
	w    list.Edit // without a list if the key does not exist yet
	slot int       // the key's probable slot in the keyspace
}

// EditList opens key's list for writing.
func (db *DB) EditList(key []byte) ListEdit {
	e, _ := db.OpenList(key)
	return e
}

// List returns the list to read, until the next change of it; nil if there is no list.
func (e *ListEdit) List() *list.List {
	if l := e.w.List; l != nil && l.Moved() { // it was written to through another edit
		e.w.List = nil
		if v := e.db.space.valueAt(&e.slot, e.key); v != nil && v.tag() == List {
			e.w.List = v.list()
		}
	}
	return e.w.List
}

// Len returns the number of elements; 0 if there is no list.
func (e *ListEdit) Len() int {
	if l := e.List(); l != nil {
		return l.Len()
	}
	return 0
}

// changed is called after a change of an existing list. was and size are the list and its size before the
// change.
func (e *ListEdit) changed(was *list.List, size int) {
	if e.w.List != was { // it has moved
		var v value
		v.setList(e.w.List)
		e.db.space.moved(&e.slot, e.key, v)
	}
	e.db.space.charge(e.w.Size() - size)
}

// mostExpected is the largest size in bytes for which a new list is prepared; a longer list may have nodes.
const mostExpected = 4096

// Push adds elements, at least one, at one end, one after the other. It makes the list if there is no list.
// The elements must not alias the list.
func (e *ListEdit) Push(side list.Side, elements ...[]byte) {
	if e.List() == nil {
		e.w = list.NewSize(e.db.store.values, e.key, min(list.ElementsBytes(elements), mostExpected))
		var v value
		v.setList(e.w.List)
		_, e.slot = e.db.put(e.key, v)
	}
	was, size := e.w.List, e.w.Size()
	e.w.Push(e.db.store.limits.List, side, elements...)
	e.changed(was, size)
	if e.db.store.effects != nil {
		name := "RPUSH"
		if side == list.Left {
			name = "LPUSH"
		}
		// Each call records an effect of its own. The list gets the same form in a replay only if the same
		// elements come at once.
		e.db.store.record(e.db, name, append([][]byte{e.key}, elements...)...)
	}
	e.db.changedBy(e.key, len(elements))
}

// Pop removes n elements from one end, or all if there are fewer, and calls visit before it removes each. The
// value is valid only during the call.
func (e *ListEdit) Pop(side list.Side, n int, visit func(v list.Value)) {
	length := e.Len()
	n = min(n, length)
	if n <= 0 {
		return
	}
	from, to, name := 0, list.Right, "LPOP"
	if side == list.Right {
		from, to, name = length-1, list.Left, "RPOP"
	}
	e.w.Range(from, n, to, func(v list.Value) bool {
		visit(v)
		return true
	})
	if side == list.Right {
		from = length - n
	}
	e.remove(from, n)
	if e.w.List != nil && e.db.store.effects != nil {
		e.db.store.record(e.db, name, e.key, appendInt(nil, int64(n)))
	}
}

// Rotate takes an element from one end and adds it at the other end, or at the same end. There must be a
// list. A list with one element, and its deadline, stay meanwhile.
func (e *ListEdit) Rotate(from, to list.Side) {
	if e.Len() > 1 && from != to {
		was := e.db.store.Dirty()
		var element []byte
		e.Pop(from, 1, func(v list.Value) { element = v.Append(nil) })
		e.Push(to, element)
		e.db.store.Recount(was, 1)
		return
	}
	e.db.changed(e.key)
}

// remove removes n elements from index i on. If the last element is removed, it removes the key. The caller
// records the effect, unless the key is removed.
func (e *ListEdit) remove(i, n int) {
	if n == e.Len() {
		e.gone(n)
		return
	}
	was, size := e.List(), e.w.Size()
	e.w.Remove(e.db.store.limits.List, i, n)
	e.changed(was, size)
	e.db.changedBy(e.key, n)
}

// gone removes the key with the last n elements.
func (e *ListEdit) gone(n int) {
	e.w.List = nil
	e.db.lose(e.key)
	e.db.store.dirty += int64(n)
}

// Set replaces the element at index i, which must exist and is at least 0.
func (e *ListEdit) Set(i int, element []byte) {
	was, size := e.List(), e.w.Size()
	e.w.Set(e.db.store.limits.List, i, element)
	e.changed(was, size)
	if e.db.store.effects != nil {
		e.db.store.record(e.db, "LSET", e.key, appendInt(nil, int64(i)), element)
	}
	e.db.changed(e.key)
}

// PrepareFor gives a list the form in which it could also hold the element. As in Redis, this happens before
// the position of the element is searched. There must be a list.
func (e *ListEdit) PrepareFor(element []byte) {
	was, size := e.List(), e.w.Size()
	e.w.PrepareFor(e.db.store.limits.List, element)
	e.changed(was, size)
}

// Insert inserts an element before or after the first element from the left that equals pivot, and reports
// whether pivot was found. If not, only the form of the list may have changed. The list must exist.
func (e *ListEdit) Insert(after bool, pivot, element []byte) bool {
	at := -1
	e.List().Matches(pivot, list.Left, 0, func(i int) bool {
		at = i
		return false
	})
	if at < 0 {
		e.PrepareFor(element)
		return false
	}
	where := "BEFORE"
	if after {
		where = "AFTER"
	}
	was, size := e.List(), e.w.Size()
	e.w.Insert(e.db.store.limits.List, at, after, element)
	e.changed(was, size)
	if e.db.store.effects != nil {
		e.db.store.record(e.db, "LINSERT", e.key, []byte(where), pivot, element)
	}
	e.db.changed(e.key)
	return true
}

// RemoveEqual removes the first n elements that equal element, counted from one end, or all of them if n is
// 0. It returns the number of removed elements. element must not alias the list.
func (e *ListEdit) RemoveEqual(element []byte, from list.Side, n int) int {
	if e.List() == nil {
		return 0
	}
	was, size := e.List(), e.w.Size()
	removed := e.w.RemoveEqual(e.db.store.limits.List, element, from, n)
	e.changed(was, size)
	switch {
	case removed == 0:
		return 0
	case e.w.Len() == 0:
		e.gone(removed)
		return removed
	}
	if e.db.store.effects != nil {
		count := int64(n)
		if from == list.Right {
			count = -count
		}
		e.db.store.record(e.db, "LREM", e.key, appendInt(nil, count), element)
	}
	e.db.changedBy(e.key, removed)
	return removed
}

// Trim keeps the n elements from index i on, which must exist, and removes the other elements. If n is 0 it
// removes the key. The list must exist.
func (e *ListEdit) Trim(i, n int) {
	length := e.Len()
	switch {
	case n == 0:
		e.remove(0, length)
		return
	case n == length:
		e.db.tell(e.key)
		return
	}
	lim := e.db.store.limits.List
	was, size := e.List(), e.w.Size()
	e.w.Remove(lim, i+n, length-i-n)
	e.w.Remove(lim, 0, i)
	e.changed(was, size)
	if e.db.store.effects != nil {
		e.db.store.record(e.db, "LTRIM", e.key, appendInt(nil, int64(i)), appendInt(nil, int64(i+n-1)))
	}
	e.db.changedBy(e.key, length-n)
}

// ReplaceList puts l at key instead of the present value, without a deadline, and takes ownership of l. An
// empty l removes the key. l comes from NewList and shares no memory with the store.
func (db *DB) ReplaceList(key []byte, l *list.List) {
	if l.Len() == 0 {
		db.Delete(key)
		return
	}
	var v value
	v.setList(l)
	db.replace(key, v)
	if db.store.effects != nil {
		l.Range(0, l.Len(), list.Right, func(e list.Value) bool {
			db.store.recordMember(db, "RPUSH", key, e.Append(nil))
			return true
		})
	}
	db.changedBy(key, l.Len())
}

// OpenList opens key's list for writing, as OpenHash opens a hash.
func (db *DB) OpenList(key []byte) (e ListEdit, ok bool) {
	v, slot, ok := db.open(key, List)
	if !ok {
		return e, false
	}
	e = ListEdit{db: db, key: key, slot: slot, w: list.EditOf(db.store.values, key, nil)}
	if v != nil {
		e.w.List = v.list()
	}
	return e, true
}
