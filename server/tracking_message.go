package server

import (
	"maps"
	"slices"
	"strings"

	"lockserver/internal/resp"
)

// invalidationChannel is where connections in version 2 of the protocol hear of keys that others track.
const invalidationChannel = "__redis__:invalidate"

// invalidation says that copies of keys are no longer good, encoded when it is first needed.
type invalidation struct {
	keys    []string  // nil: of all keys
	encoded [2][]byte // in version 2 and 3 of the protocol
}

// in returns the bytes for a version of the protocol, which many share: nobody may write to them.
func (m *invalidation) in(proto int) []byte {
	i := 0
	if proto >= 3 {
		i = 1
	}
	if m.encoded[i] != nil {
		return m.encoded[i]
	}
	size := 64
	for _, key := range m.keys {
		size += len(key) + 16
	}
	w := resp.Writer{Proto: proto, Buf: make([]byte, 0, size)}
	if proto >= 3 {
		w.Push(2)
		w.BulkString("invalidate")
	} else {
		w.Push(3)
		w.BulkString("message")
		w.BulkString(invalidationChannel)
	}
	if m.keys == nil {
		w.Null()
	} else {
		w.Array(len(m.keys))
		for _, key := range m.keys {
			w.BulkString(key)
		}
	}
	m.encoded[i] = w.Buf
	return w.Buf
}

// tell sends a tracker a message, or whom it has named instead. Version 2 of the protocol has no messages but
// those to subscribers, so nothing else reaches a client there.
func (ex *executor) tell(tr *tracker, m *invalidation) {
	to := tr.session
	if tr.redirect != 0 {
		if to = ex.clients[tr.redirect]; to == nil {
			ex.tellBroken(tr)
			return
		}
	}
	if to.out.Proto >= 3 || tr.redirect != 0 && to.subs != nil {
		ex.deliver(to, m.in(to.out.Proto))
	}
}

// tellBroken tells a tracker that nobody hears its messages any more.
func (ex *executor) tellBroken(tr *tracker) {
	tr.broken = true
	if tr.session.out.Proto < 3 {
		return
	}
	w := resp.Writer{Proto: 3}
	w.Push(2)
	w.BulkString("tracking-redir-broken")
	w.Int(tr.redirect)
	ex.deliver(tr.session, w.Buf)
}

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
