package stats

import (
	"maps"
	"slices"
)

// mostSamples is how many samples of an event are kept, as Redis.
const mostSamples = 160

// Events are kinds of things that took long, by name.
type Events struct {
	// ThresholdMS is the time from which on something took long; 0: nothing does.
	ThresholdMS int64
	byName      map[string]*Event
}

// Event is one kind, with its last samples, oldest first; of a second the worst one.
type Event struct {
	Samples []Sample // at least one
	WorstMS int64    // ever
}

// Sample is one thing that took long.
type Sample struct{ AtS, MS int64 }

// Wanted reports whether any events are kept.
func (l *Events) Wanted() bool { return l.ThresholdMS > 0 }

// Add keeps a sample, if it took long.
func (l *Events) Add(name string, atS, ms int64) {
	if !l.Wanted() || ms < l.ThresholdMS {
		return
	}
	if l.byName == nil {
		l.byName = map[string]*Event{}
	}
	e := l.byName[name]
	if e == nil {
		e = &Event{}
		l.byName[name] = e
	}
	e.WorstMS = max(e.WorstMS, ms)
	if n := len(e.Samples); n > 0 && e.Samples[n-1].AtS == atS {
		e.Samples[n-1].MS = max(e.Samples[n-1].MS, ms)
		return
	}
	if e.Samples = append(e.Samples, Sample{atS, ms}); len(e.Samples) > mostSamples {
		e.Samples = e.Samples[1:]
	}
}

// Of returns an event; nil: nothing of that name took long.
func (l *Events) Of(name string) *Event { return l.byName[name] }

// Names are the names of all events, sorted.
func (l *Events) Names() []string { return slices.Sorted(maps.Keys(l.byName)) }

// Reset forgets the events of these names, or all if there is no name, and returns how many it had of them.
func (l *Events) Reset(names ...string) int {
	before := len(l.byName)
	if len(names) == 0 {
		l.byName = nil
	}
	for _, name := range names {
		delete(l.byName, name)
	}
	return before - len(l.byName)
}

// Figures are what there is to say about the samples of an event.
type Figures struct {
	Least, Most, Sum, Average, Deviation int64 // ms; Deviation: the mean distance from the average
	SpanS                                int64 // from the first sample to now
}

// Figures sums the samples up.
func (e *Event) Figures(nowS int64) (f Figures) {
	n := int64(len(e.Samples))
	f.Least, f.Most = e.Samples[0].MS, e.Samples[0].MS
	for _, s := range e.Samples {
		f.Least, f.Most, f.Sum = min(f.Least, s.MS), max(f.Most, s.MS), f.Sum+s.MS
	}
	f.Average = f.Sum / n
	for _, s := range e.Samples {
		f.Deviation += max(s.MS-f.Average, f.Average-s.MS)
	}
	f.Deviation /= n
	f.SpanS = max(nowS-e.Samples[0].AtS, 1)
	return f
}
