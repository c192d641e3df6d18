package store

import "lockserver/store/stream"

// Forget makes an entry no longer pending in any group, and reports whether it was pending in a group. The
// entry itself stays, and need not exist.
func (e *StreamEdit) Forget(id stream.ID) bool {
	if e.s == nil {
		return false
	}
	found := false
	for _, g := range e.s.Groups() {
		if _, pending := g.Pending(id); pending {
			edit, _ := e.EditGroup([]byte(g.Name()))
			found = edit.Acknowledge(id) || found
		}
	}
	return found
}

// trimByRefs is Trim for a strategy that respects the groups. Entries at the front are trimmed. Entries after
// an entry that stays are deleted. Deleted entries count for the highest deleted ID, from which groups
// compute the number of unread entries.
func (e *StreamEdit) trimByRefs(t stream.Strategy) int {
	ids := e.s.Trimmable(e.db.store.limits.Stream, t)
	if t.Refs == stream.DropRefs {
		for _, id := range ids {
			e.Forget(id)
		}
	}
	front := 0
	e.s.Range(stream.ID{}, stream.MaxID(), false, func(id stream.ID, _ stream.FieldValues) bool {
		if front == len(ids) || ids[front] != id {
			return false
		}
		front++
		return true
	})
	if front > 0 {
		e.Trim(stream.Strategy{By: stream.ByMaxLen, MaxLen: e.s.Len() - front})
	}
	for _, id := range ids[front:] {
		e.Delete(id)
	}
	return len(ids)
}
