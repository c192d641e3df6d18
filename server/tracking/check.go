package tracking

import (
	"fmt"
	"slices"
	"strings"
)

// Check returns the first inconsistency in the table, or nil. It is for tests.
func (t *Table[C]) Check() error {
	if len(t.keys) != len(t.order) {
		return fmt.Errorf("%d keys by name, %d by place", len(t.keys), len(t.order))
	}
	readings := 0
	for i, k := range t.order {
		if k.place != i || t.keys[k.Name] != k || len(k.Readers) == 0 {
			return fmt.Errorf("key %q at %d: place %d, %d readers", k.Name, i, k.place, len(k.Readers))
		}
		for j, r := range k.Readers {
			if r.place != j || r.key != k || r.By.reads[k.Name] != r {
				return fmt.Errorf("reader %d of %q: place %d, of %q", j, k.Name, r.place, r.key.Name)
			}
			if _, ok := t.trackers[r.By]; ok != (r.By.state == tracks) || (t.resting[r.By.Of] == r.By) != (r.By.state == rests) ||
				slices.Contains(t.leaving, r.By) != (r.By.state == left) {
				return fmt.Errorf("reader %d of %q: its state is %d", j, k.Name, r.By.state)
			}
		}
		readings += len(k.Readers)
	}
	of := 0
	for tr := range t.trackers {
		of += len(tr.reads)
		for _, p := range tr.prefixes {
			if _, member := p.Members[tr]; !member {
				return fmt.Errorf("a tracker is no member of its prefix %q", p.Name)
			}
		}
	}
	for _, tr := range t.resting {
		if len(tr.reads) == 0 {
			return fmt.Errorf("one who rests has read nothing")
		}
		of += len(tr.reads)
	}
	for _, tr := range t.leaving {
		of += len(tr.reads)
	}
	if readings != t.readings || readings != of {
		return fmt.Errorf("%d readings, of keys %d, of trackers %d", t.readings, readings, of)
	}
	return t.checkPrefixes()
}

func (t *Table[C]) checkPrefixes() error {
	if !slices.IsSortedFunc(t.prefixes, func(a, b *Prefix[C]) int { return strings.Compare(a.Name, b.Name) }) {
		return fmt.Errorf("the prefixes are not sorted")
	}
	for _, p := range t.prefixes {
		if len(p.Members) == 0 {
			return fmt.Errorf("prefix %q has no member", p.Name)
		}
		for tr := range p.Members {
			if _, tracks := t.trackers[tr]; !tracks || !slices.Contains(tr.prefixes, p) {
				return fmt.Errorf("a member of prefix %q does not know it, or no longer tracks", p.Name)
			}
		}
	}
	return nil
}
