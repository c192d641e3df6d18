package timed

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
)

// pending is an entry that waits. arrived is its position among those that are due at the same time.
type pending struct {
	id      string
	dueMS   int64
	arrived int
	value   string
	rule    *rule // nil: it does not recur
}

// added is an entry of a stream, with the time when it was due.
type added struct {
	value string
	dueMS int64
}

// text returns the value of an entry, and the time if the entry recurs.
func (p *pending) text() string {
	if p.rule == nil {
		return p.value
	}
	return fmt.Sprintf("%s due %d", p.value, p.dueMS)
}

// delayModel models the server, one command after the other.
type delayModel struct {
	waiting map[string]map[string]pending // by stream and id
	streams map[string][]added
	arrived int
	sinceMS int64 // when the server began to add entries
}

func newDelayModel() *delayModel {
	return &delayModel{waiting: map[string]map[string]pending{}, streams: map[string][]added{}}
}

func (m *delayModel) clone() *delayModel {
	c := newDelayModel()
	c.arrived, c.sinceMS = m.arrived, m.sinceMS
	for stream, entries := range m.waiting {
		c.waiting[stream] = maps.Clone(entries)
	}
	for stream, entries := range m.streams {
		c.streams[stream] = slices.Clone(entries)
	}
	return c
}

// put adds or moves an entry.
func (m *delayModel) put(stream, id, value string, dueMS int64, r *rule) {
	if m.waiting[stream] == nil {
		m.waiting[stream] = map[string]pending{}
	}
	m.arrived++
	m.waiting[stream][id] = pending{id, dueMS, m.arrived, value, r}
}

// sorted returns the entries of a stream in the order in which they become due.
func (m *delayModel) sorted(stream string) []pending {
	return slices.SortedFunc(maps.Values(m.waiting[stream]), func(a, b pending) int {
		return cmp.Or(cmp.Compare(a.dueMS, b.dueMS), cmp.Compare(a.arrived, b.arrived))
	})
}

// fire adds the entries that are due when the server looks at a time, the earliest first.
func (m *delayModel) fire(nowMS int64) {
	m.sinceMS = min(m.sinceMS, nowMS)
	for stream := range m.waiting {
		for {
			list := m.sorted(stream)
			if len(list) == 0 || list[0].dueMS > nowMS {
				break
			}
			p := list[0]
			delete(m.waiting[stream], p.id)
			add, again := true, false
			next, r := int64(0), p.rule
			if r != nil {
				next, r, add, again = p.rule.step(p.dueMS, nowMS, m.sinceMS)
			}
			if add {
				m.streams[stream] = append(m.streams[stream], added{p.text(), p.dueMS})
			}
			if again {
				m.put(stream, p.id, p.value, next, r)
			}
		}
	}
}

// pass lets time go on until nowMS while the server runs: it looks at each time at which an entry is due.
func (m *delayModel) pass(nowMS int64) {
	for {
		first, due := nowMS, false
		for stream := range m.waiting {
			if list := m.sorted(stream); len(list) > 0 && list[0].dueMS <= first {
				first, due = list[0].dueMS, true
			}
		}
		if !due {
			return
		}
		m.fire(first)
	}
}

// list returns the reply of DELAY.LIST.
func (m *delayModel) list(stream string) string {
	text := "["
	for i, p := range m.sorted(stream) {
		if i > 0 {
			text += " "
		}
		text += fmt.Sprintf(`[%q %d ["v" %q]%s]`, p.id, p.dueMS, p.value, p.rule.text())
	}
	return text + "]"
}
