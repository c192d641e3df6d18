package server

import (
	"math/bits"

	"lockserver/commands"
)

// latencySamples is how many samples of an event are kept, as Redis.
const latencySamples = 160

// latency is what LATENCY tells about. It is only touched under the executor.
type latency struct {
	events     map[string]*latencyEvent
	histograms map[*commands.Row]*histogram
}

// latencyEvent is a kind of thing that took long, with its last samples, oldest
// first; of a second the worst one.
type latencyEvent struct {
	samples []latencySample
	worstMS int64 // ever
}

type latencySample struct{ atS, ms int64 }

// add keeps a sample.
func (l *latency) add(event string, atS, ms int64) {
	if l.events == nil {
		l.events = map[string]*latencyEvent{}
	}
	e := l.events[event]
	if e == nil {
		e = &latencyEvent{}
		l.events[event] = e
	}
	e.worstMS = max(e.worstMS, ms)
	if n := len(e.samples); n > 0 && e.samples[n-1].atS == atS {
		e.samples[n-1].ms = max(e.samples[n-1].ms, ms)
		return
	}
	if e.samples = append(e.samples, latencySample{atS, ms}); len(e.samples) > latencySamples {
		e.samples = e.samples[1:]
	}
}

// figures are what there is to say about the samples of an event.
type figures struct {
	least, most, sum, average, deviation int64 // ms; deviation: the mean distance from the average
	spanS                                int64 // from the first sample to now
}

func (e *latencyEvent) figures(nowS int64) (f figures) {
	n := int64(len(e.samples))
	f.least, f.most = e.samples[0].ms, e.samples[0].ms
	for _, s := range e.samples {
		f.least, f.most, f.sum = min(f.least, s.ms), max(f.most, s.ms), f.sum+s.ms
	}
	f.average = f.sum / n
	for _, s := range e.samples {
		f.deviation += max(s.ms-f.average, f.average-s.ms)
	}
	f.deviation /= n
	f.spanS = max(nowS-e.samples[0].atS, 1)
	return f
}

// histogramBuckets is enough for 2^40 us, which is twelve days.
const histogramBuckets = 41

// histogram counts calls by how long they took: bucket i those of at most 2^i us, and of more than half that.
type histogram struct {
	calls   int64
	buckets [histogramBuckets]int64
}

// count notes how long a call took.
func (l *latency) count(row *commands.Row, us int64) {
	if l.histograms == nil {
		l.histograms = map[*commands.Row]*histogram{}
	}
	h := l.histograms[row]
	if h == nil {
		h = &histogram{}
		l.histograms[row] = h
	}
	h.calls++
	h.buckets[min(bits.Len64(uint64(max(us-1, 0))), histogramBuckets-1)]++
}
