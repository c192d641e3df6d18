package tracking

import (
	"maps"
	"slices"
	"strings"
)

// Prefix is a prefix that clients track with BCAST. It is removed with its last member.
type Prefix[C comparable] struct {
	Name    string
	Members map[*Tracker[C]]struct{} // only changed by the table
	// changed holds the keys that have changed since the last message, each with the client that changed it
	// last, or the zero value.
	changed map[string]C
}

// Prefixes returns the prefixes with at least one client, by name. The slice belongs to the table.
func (t *Table[C]) Prefixes() []*Prefix[C] { return t.prefixes }

// Prefixes returns the client's prefixes, by name. The slice belongs to the tracker.
func (tr *Tracker[C]) Prefixes() []*Prefix[C] { return tr.prefixes }

// Join adds tr to a prefix. It does nothing if tr is a member already.
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

// leavePrefix removes tr from a prefix.
func (t *Table[C]) leavePrefix(tr *Tracker[C], p *Prefix[C]) {
	if delete(p.Members, tr); len(p.Members) == 0 {
		at, _ := findPrefix(t.prefixes, p.Name)
		t.prefixes = slices.Delete(t.prefixes, at, at+1)
	}
}

// findPrefix returns the index of a prefix in a list by name, or the index where it would be.
func findPrefix[C comparable](list []*Prefix[C], name string) (at int, ok bool) {
	return slices.BinarySearchFunc(list, name, func(p *Prefix[C], name string) int { return strings.Compare(p.Name, name) })
}

// RecordChange records a changed key for the members of its prefixes. actor is the client that changed it, or
// the zero value.
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

// Changed returns the keys that have changed since the last message, sorted, or nil.
func (p *Prefix[C]) Changed() []string {
	if len(p.changed) == 0 {
		return nil
	}
	return slices.Sorted(maps.Keys(p.changed))
}

// ChangedByOthers returns the keys of changed that a client did not change itself.
func (p *Prefix[C]) ChangedByOthers(changed []string, than C) []string {
	return slices.DeleteFunc(slices.Clone(changed), func(key string) bool { return p.changed[key] == than })
}

// MarkSent clears the changed keys, because the clients have got the message.
func (p *Prefix[C]) MarkSent() { p.changed = nil }

// Overlap reports whether one of two prefixes begins with the other: a client would get some keys twice.
func Overlap(a, b string) bool { return strings.HasPrefix(a, b) || strings.HasPrefix(b, a) }
