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
}

// added is an entry of a stream, with the time when it was due.
type added struct {
	value string
	dueMS int64
}

// delayModel models the server, one command after the other.
type delayModel struct {
	waiting map[string]map[string]pending // by stream and id
	streams map[string][]added
	arrived int
}

func newDelayModel() *delayModel {
	return &delayModel{waiting: map[string]map[string]pending{}, streams: map[string][]added{}}
}

func (m *delayModel) clone() *delayModel {
	c := newDelayModel()
	c.arrived = m.arrived
	for stream, entries := range m.waiting {
		c.waiting[stream] = maps.Clone(entries)
	}
	for stream, entries := range m.streams {
		c.streams[stream] = slices.Clone(entries)
	}
	return c
}

// put adds or moves an entry.
func (m *delayModel) put(stream, id, value string, dueMS int64) {
	if m.waiting[stream] == nil {
		m.waiting[stream] = map[string]pending{}
	}
	m.arrived++
	m.waiting[stream][id] = pending{id, dueMS, m.arrived, value}
}

// sorted returns the entries of a stream in the order in which they become due.
func (m *delayModel) sorted(stream string) []pending {
	return slices.SortedFunc(maps.Values(m.waiting[stream]), func(a, b pending) int {
		return cmp.Or(cmp.Compare(a.dueMS, b.dueMS), cmp.Compare(a.arrived, b.arrived))
	})
}

// fire adds the due entries to the streams.
func (m *delayModel) fire(nowMS int64) {
	for stream := range m.waiting {
		for _, p := range m.sorted(stream) {
			if p.dueMS <= nowMS {
				m.streams[stream] = append(m.streams[stream], added{p.value, p.dueMS})
				delete(m.waiting[stream], p.id)
			}
		}
	}
}

// list returns the reply of DELAY.LIST.
func (m *delayModel) list(stream string) string {
	text := "["
	for i, p := range m.sorted(stream) {
		if i > 0 {
			text += " "
		}
		text += fmt.Sprintf(`[%q %d ["v" %q]]`, p.id, p.dueMS, p.value)
	}
	return text + "]"
}
