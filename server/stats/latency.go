package stats

import (
	"maps"
	"slices"
)

// mostSamples limits the samples of an event, as in Redis.
const mostSamples = 160

// Events holds the kinds of slow events by name.
type Events struct {
	// ThresholdMS is the shortest time that is recorded; 0: nothing is recorded.
	ThresholdMS int64
	byName      map[string]*Event
}

// Event is a kind of slow event with its last samples, the oldest first. It keeps the worst sample of each
// second.
type Event struct {
	Samples []Sample // at least one
	WorstMS int64    // the longest ever
}

// Sample is a slow event.
type Sample struct{ AtS, MS int64 }

// Wanted reports whether events are recorded.
func (l *Events) Wanted() bool { return l.ThresholdMS > 0 }

// Add records a sample, if it is long enough.
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

// Of returns an event, or nil.
func (l *Events) Of(name string) *Event { return l.byName[name] }

// Names returns the names of all events, sorted.
func (l *Events) Names() []string { return slices.Sorted(maps.Keys(l.byName)) }

// Reset removes the events with these names, or all events if there is no name. It returns the number of
// removed events.
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

// Figures summarizes the samples of an event.
type Figures struct {
	Least, Most, Sum, Average, Deviation int64 // ms; Deviation: the mean distance from the average
	SpanS                                int64 // from the first sample to now
}

// Figures computes the figures of the samples.
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
