package attach

import (
	"slices"
	"strings"

	"github.com/tidwall/btree"
)

// LeastPrefix is the shortest allowed prefix: a shorter prefix would match the owners of other programs.
const LeastPrefix = 8

// prefix is the beginning of the owners' names that connections keep alive (LOCK.ATTACH PREFIX).
type prefix[S comparable] struct {
	text string
	by   []S // in the order of their calls; at least one
}

// prefixes holds all prefixes. While there is a prefix, the table knows the locks of all owners, even of
// owners without attached connections. So it finds the locks under a prefix without looking at other locks.
type prefixes[S comparable] struct {
	byText  map[string]*prefix[S]
	lengths []prefixLength               // of all prefixes, the shortest first
	sorted  btree.Map[string, *Owner[S]] // all owners of the table, while there is a prefix
	// ended says that there are no prefixes any more, and that Forget has looked at the owners before from.
	ended bool
	from  string
}

// prefixLength is a length with the number of prefixes that have it.
type prefixLength struct{ bytes, count int }

// of visits the prefixes of an owner's name, the shortest first, until visit returns false.
func (ps *prefixes[S]) of(owner []byte, visit func(p *prefix[S]) bool) {
	// plant:prefixes-of
	for _, length := range ps.lengths {
		if length.bytes > len(owner) {
			return
		}
		if p := ps.byText[string(owner[:length.bytes])]; p != nil && !visit(p) {
			return
		}
	}
}

func (ps *prefixes[S]) countLength(bytes, by int) {
	i, found := slices.BinarySearchFunc(ps.lengths, bytes, func(l prefixLength, bytes int) int { return l.bytes - bytes })
	if !found {
		ps.lengths = slices.Insert(ps.lengths, i, prefixLength{bytes: bytes})
	}
	if ps.lengths[i].count += by; ps.lengths[i].count == 0 {
		ps.lengths = slices.Delete(ps.lengths, i, i+1)
	}
}

// Prefixes returns the prefixes that the connection is attached to, in no order.
func (v *Attachments[S]) Prefixes() (texts []string) {
	for text := range v.prefixes {
		texts = append(texts, text)
	}
	return texts
}

// HasPrefixes reports whether a connection is attached to a prefix. The table then has to know all locks.
func (t *Table[S]) HasPrefixes() bool { return len(t.prefixes.byText) > 0 }

// AttachPrefix attaches s to every owner, present and future, that begins with a text. first says that it is
// the table's only prefix. Then the caller must report the locks of all owners (Track, Hold).
func (t *Table[S]) AttachPrefix(s S, v *Attachments[S], text []byte) (first bool) {
	if v.prefixes[string(text)] != nil {
		return false
	}
	ps := &t.prefixes
	if first = !t.HasPrefixes(); first {
		*ps = prefixes[S]{byText: make(map[string]*prefix[S])}
		for name, o := range t.owners {
			ps.sorted.Set(name, o)
		}
	}
	p := ps.byText[string(text)]
	if p == nil {
		p = &prefix[S]{text: string(text)}
		ps.byText[p.text] = p
		ps.countLength(len(p.text), 1)
	}
	p.by = append(p.by, s)
	if v.prefixes == nil {
		v.prefixes = make(map[string]*prefix[S])
	}
	v.prefixes[p.text] = p
	v.bytes += attachmentBytes + len(text)
	t.attached++
	return first
}

// DetachPrefix ends the attachment, and returns locks under the prefix that no connection keeps alive any
// more. It only looks at the first mostLeft locks, as Detach does.
func (t *Table[S]) DetachPrefix(s S, v *Attachments[S], text string) (left []*Lock[S]) {
	p := v.prefixes[text]
	if p == nil {
		return nil
	}
	delete(v.prefixes, text)
	v.bytes -= attachmentBytes + len(text)
	t.attached--
	i := slices.Index(p.by, s)
	if p.by = slices.Delete(p.by, i, i+1); len(p.by) > 0 {
		return nil
	}
	ps := &t.prefixes
	delete(ps.byText, text)
	ps.countLength(len(text), -1)
	looked := 0
	t.under(text, func(l *Lock[S]) bool {
		if !t.IsAttached([]byte(l.Owner.Name)) {
			left = append(left, l)
		}
		looked++
		return looked < mostLeft
	})
	ps.ended = !t.HasPrefixes()
	t.detached()
	return left
}

// Forget removes owners and locks that the table knew because of detached connections. budget limits the
// work. more says that there are more to remove.
func (t *Table[S]) Forget(budget int) (more bool) {
	ps := &t.prefixes
	for ; budget > 0 && ps.ended; budget-- {
		found := false
		ps.sorted.Ascend(ps.from, func(name string, o *Owner[S]) bool {
			found, ps.from = true, name+"\x00"
			if len(o.By) == 0 {
				t.others = append(t.others, o)
			}
			return false
		})
		if !found {
			*ps = prefixes[S]{}
		}
	}
	for ; budget > 0 && len(t.others) > 0; budget-- {
		last := len(t.others) - 1
		o := t.others[last]
		unknown := t.owners[o.Name] != o || len(o.By) > 0 || t.HasPrefixes()
		if !unknown && o.first != nil {
			t.drop(o.first)
		}
		if unknown || o.first == nil {
			t.others = t.others[:last]
		}
		if !unknown && o.first == nil {
			t.forget(o)
		}
	}
	return ps.ended || len(t.others) > 0
}

// EachUnder visits the locks of the owners that begin with a text. It looks at no other owner. It visits no
// lock if there is no prefix.
func (t *Table[S]) EachUnder(text string, visit func(l *Lock[S])) {
	if !t.HasPrefixes() {
		return
	}
	t.under(text, func(l *Lock[S]) bool {
		visit(l)
		return true
	})
}

// under does what EachUnder does, until visit returns false. There is a prefix, or was one until now.
func (t *Table[S]) under(text string, visit func(l *Lock[S]) bool) {
	t.prefixes.sorted.Ascend(text, func(name string, o *Owner[S]) bool {
		if !strings.HasPrefix(name, text) {
			return false
		}
		for l := o.first; l != nil; l = l.next {
			if !visit(l) {
				return false
			}
		}
		return true
	})
}

// Track returns an owner. The table must know the locks of that owner from now on. It returns nil if the
// table need not know them.
func (t *Table[S]) Track(name []byte) *Owner[S] {
	o := t.owners[string(name)]
	if o == nil && t.HasPrefixes() {
		o = t.add(name)
	}
	return o
}

// IsAttached reports whether a connection is attached to an owner, or to a prefix of it.
func (t *Table[S]) IsAttached(owner []byte) (yes bool) {
	t.Each(owner, func(S, bool) bool {
		yes = true
		return false
	})
	return yes
}

// AttachedBy reports whether one connection is attached to an owner, or to a prefix of it.
func (t *Table[S]) AttachedBy(s S, owner []byte) (yes bool) {
	t.Each(owner, func(other S, _ bool) bool {
		yes = other == s
		return !yes
	})
	return yes
}

// Each visits the connections that are attached to an owner, and then those that are attached to a prefix of
// it, until visit returns false. It may visit a connection more than once.
func (t *Table[S]) Each(owner []byte, visit func(s S, byPrefix bool) bool) {
	if o := t.owners[string(owner)]; o != nil {
		for _, s := range o.By {
			if !visit(s, false) {
				return
			}
		}
	}
	t.prefixes.of(owner, func(p *prefix[S]) bool {
		for _, s := range p.by {
			if !visit(s, true) {
				return false
			}
		}
		return true
	})
}

// All returns the connections that Each visits, each of them once. byPrefix is false for the first byOwner of
// them.
func (t *Table[S]) All(owner []byte) (all []S, byOwner int) {
	of := t.owners[string(owner)]
	t.prefixes.of(owner, func(p *prefix[S]) bool {
		for _, s := range p.by {
			if !slices.Contains(all, s) {
				all = append(all, s)
			}
		}
		return true
	})
	if of == nil {
		return all, 0
	}
	if all == nil {
		return of.By, len(of.By)
	}
	own := slices.DeleteFunc(slices.Clone(of.By), func(s S) bool { return slices.Contains(all, s) })
	return append(own, all...), len(own)
}
