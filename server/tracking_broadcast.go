package server

import (
	"maps"
	"slices"
	"strings"
)

// prefix is what trackers with BCAST listen to; there is none without a member.
type prefix struct {
	name    string
	members map[*tracker]struct{}
	// changed are the keys that have changed since the last message, with whose command
	// did it last, nil if nobody's.
	changed map[string]*session
}

// joinPrefix makes tr hear of keys that begin with a name; it does nothing if tr does already.
func (t *tracking) joinPrefix(tr *tracker, name string) {
	at, ok := findPrefix(t.prefixes, name)
	if !ok {
		t.prefixes = slices.Insert(t.prefixes, at, &prefix{name: name, members: map[*tracker]struct{}{}})
	}
	p := t.prefixes[at]
	p.members[tr] = struct{}{}
	if at, ok = findPrefix(tr.prefixes, name); !ok {
		tr.prefixes = slices.Insert(tr.prefixes, at, p)
	}
}

// leavePrefix ends what joinPrefix began.
func (t *tracking) leavePrefix(tr *tracker, p *prefix) {
	if delete(p.members, tr); len(p.members) == 0 {
		at, _ := findPrefix(t.prefixes, p.name)
		t.prefixes = slices.Delete(t.prefixes, at, at+1)
	}
}

// findPrefix returns where the prefix of a name is, or would be, in a list by name.
func findPrefix(list []*prefix, name string) (at int, ok bool) {
	return slices.BinarySearchFunc(list, name, func(p *prefix, name string) int { return strings.Compare(p.name, name) })
}

// noteChange notes a changed key for those who listen to a prefix of it.
func (t *tracking) noteChange(key []byte) {
	name := ""
	for _, p := range t.prefixes {
		if len(p.name) > len(key) || string(key[:len(p.name)]) != p.name {
			continue
		}
		if p.changed == nil {
			p.changed = map[string]*session{}
		}
		if by, ok := p.changed[string(key)]; ok && by == t.actor {
			continue
		}
		if name == "" {
			name = string(key)
		}
		p.changed[name] = t.actor
	}
}

// broadcast tells of the changed keys, each once, in the order of their names.
func (ex *executor) broadcast() {
	for _, p := range ex.tracking.prefixes {
		if len(p.changed) == 0 {
			continue
		}
		all := invalidation{keys: slices.Sorted(maps.Keys(p.changed))}
		for tr := range p.members {
			if !tr.noLoop {
				ex.tell(tr, &all)
				continue
			}
			others := slices.DeleteFunc(slices.Clone(all.keys), func(key string) bool { return p.changed[key] == tr.session })
			if len(others) > 0 {
				ex.tell(tr, &invalidation{keys: others})
			}
		}
		p.changed = nil
	}
}

// overlap reports whether one of two prefixes begins with the other: some keys would be told of twice.
func overlap(a, b string) bool { return strings.HasPrefix(a, b) || strings.HasPrefix(b, a) }
