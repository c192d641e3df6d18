package tracking

import (
	"maps"
	"slices"
	"strings"
)

// Prefix is what trackers with BCAST listen to; there is none without a member.
type Prefix[C comparable] struct {
	Name    string
	Members map[*Tracker[C]]struct{} // only changed by the table
	// changed has the keys that have changed since the last message, each with the client that changed it
	// last. The client is the zero value if no client did.
	changed map[string]C
}

// Prefixes returns those that at least one client listens to, by name. The slice is the table's.
func (t *Table[C]) Prefixes() []*Prefix[C] { return t.prefixes }

// Prefixes returns those that the client listens to, by name. The slice is the tracker's.
func (tr *Tracker[C]) Prefixes() []*Prefix[C] { return tr.prefixes }

// Join makes tr hear of keys that begin with a name; it does nothing if tr does already.
func (t *Table[C]) Join(tr *Tracker[C], name string) {
	at, ok := findPrefix(t.prefixes, name)
	if !ok {
		t.prefixes = slices.Insert(t.prefixes, at, &Prefix[C]{Name: name, Members: map[*Tracker[C]]struct{}{}})
	}
	p := t.prefixes[at]
	p.Members[tr] = struct{}{}
	if at, ok = findPrefix(tr.prefixes, name); !ok {
		tr.prefixes = slices.Insert(tr.prefixes, at, p)
		tr.names += len(name)
	}
}

// leavePrefix ends what Join began.
func (t *Table[C]) leavePrefix(tr *Tracker[C], p *Prefix[C]) {
	if delete(p.Members, tr); len(p.Members) == 0 {
		at, _ := findPrefix(t.prefixes, p.Name)
		t.prefixes = slices.Delete(t.prefixes, at, at+1)
	}
}

// findPrefix returns where the prefix of a name is, or would be, in a list by name.
func findPrefix[C comparable](list []*Prefix[C], name string) (at int, ok bool) {
	return slices.BinarySearchFunc(list, name, func(p *Prefix[C], name string) int { return strings.Compare(p.Name, name) })
}

// RecordChange records a changed key for the clients that listen to a prefix of it. actor is the client that
// changed it, the zero value if no client did.
func (t *Table[C]) RecordChange(key []byte, actor C) {
	name := ""
	for _, p := range t.prefixes {
		if len(p.Name) > len(key) || string(key[:len(p.Name)]) != p.Name {
			continue
		}
		if p.changed == nil {
			p.changed = map[string]C{}
		}
		if by, ok := p.changed[string(key)]; ok && by == actor {
			continue
		}
		if name == "" {
			name = string(key)
		}
		p.changed[name] = actor
	}
}

// Changed returns the keys that have changed since the last message, sorted; nil: none.
func (p *Prefix[C]) Changed() []string {
	if len(p.changed) == 0 {
		return nil
	}
	return slices.Sorted(maps.Keys(p.changed))
}

// ChangedByOthers returns those of Changed that a client did not change itself.
func (p *Prefix[C]) ChangedByOthers(changed []string, than C) []string {
	return slices.DeleteFunc(slices.Clone(changed), func(key string) bool { return p.changed[key] == than })
}

// MarkSent forgets the changed keys: the clients have got the message.
func (p *Prefix[C]) MarkSent() { p.changed = nil }

// Overlap reports whether one of two prefixes begins with the other: a client would get some keys twice.
func Overlap(a, b string) bool { return strings.HasPrefix(a, b) || strings.HasPrefix(b, a) }
