package wait

import (
	"slices"
	"time"

	"lockserver/commands"
	"lockserver/internal/lockhistory"
	"lockserver/internal/tracecontext"
)

// The traces that clients name with TRACE. A holder's trace is kept by its token, a waiter's is in the words
// of its command. A wait in a sampled trace becomes a span, with links to the traces of the holders that it
// waited for. The server hands spans to Options.Spans, and knows no exporter.

// WaitSpan is a wait for locks or permits that has ended.
type WaitSpan struct {
	Context tracecontext.Context // of the caller: the span's parent
	Command string               // "lock", "mlock" or "sem.acquire"
	DB      int
	Keys    []string
	Owner   string
	Mode    string // "exclusive", "shared" or "semaphore"
	Notify  bool   // the wait blocked no connection
	Begin   time.Time
	End     time.Time
	// Outcome is "granted", "deadlock", or the reason of a refusal as in LOCK.HISTORY.
	Outcome string
	Tokens  []int64 // of the grant, in the order of the keys; nil: the wait was refused
	// Holder is an owner that held one of the locks when the wait began; empty: none did.
	Holder string
	// Holders are the holders with a trace, those at the beginning first. MoreHolders counts those that did
	// not fit.
	Holders     []HolderSpan
	MoreHolders int
}

// HolderSpan is a holder that a wait has waited for.
type HolderSpan struct {
	Context tracecontext.Context
	Key     string
	Owner   string
	Token   int64
}

// SpanExporter takes the spans of waits. The server calls it while it holds the executor: a method must not
// block, and must not call the server.
type SpanExporter interface {
	// Wait takes a wait. It is the exporter's from then on.
	Wait(w *WaitSpan)
	// Counts returns how many spans were delivered, and how many were dropped.
	Counts() (delivered, dropped int64)
}

const (
	// MostTraces bounds the holders with a trace, and mostSpans the waits that will be spans.
	MostTraces, mostSpans = 1 << 16, 1 << 14
	// MostLinks bounds the holders of a span. mostLooked bounds the holders and waiters that are looked at.
	MostLinks, mostLooked = 8, 64
)

// traceEvent keeps or ends the trace of a holder, and returns the trace that the event of c belongs to; nil:
// none. The result is valid until the next event.
func (ws *Waits) traceEvent(c *commands.Ctx) *tracecontext.Context {
	st, e := &ws.LockEvents, &c.Event
	if c.Traced && (e.Kind == lockhistory.Granted || e.Kind == lockhistory.Renewed) {
		st.KeepTrace(e.Token, c.Trace)
		if len(st.Spans) > 0 && e.Kind == lockhistory.Granted {
			ws.linkWaiters(c, HolderSpan{Context: c.Trace, Key: string(e.Key), Owner: string(e.Owner), Token: e.Token})
		}
		return &c.Trace
	}
	if e.Kind == lockhistory.Refused {
		if c.Traced {
			return &c.Trace
		}
		return nil
	}
	trace, ok := st.Traces[e.Token]
	if !ok {
		return nil
	}
	if lockhistory.EndsHold(e.Kind.String(), e.Reason.String()) {
		delete(st.Traces, e.Token)
	}
	return &trace
}

// KeepTrace keeps the trace of a holder.
func (st *lockEvents) KeepTrace(token int64, trace tracecontext.Context) {
	if _, has := st.Traces[token]; !has && len(st.Traces) >= MostTraces {
		for old := range st.Traces {
			delete(st.Traces, old)
			break
		}
	}
	st.Traces[token] = trace
}

// beginSpan begins the span of a wait, if its caller records the trace.
func (ws *Waits) beginSpan(w *Parked) {
	st := &ws.LockEvents
	trace, ok := w.lock.Trace(w.Words)
	if !ok || !trace.Sampled() {
		return
	}
	if len(st.Spans) >= mostSpans {
		st.skipped++
		return
	}
	_, notify := w.Call().(*queuedWait)
	span := &WaitSpan{Context: trace, Command: w.Row.Name, DB: w.DB(), Owner: w.Owner(), Mode: w.lock.Mode().String(), Notify: notify,
		Begin: time.UnixMicro(w.sinceUS)}
	looked := 0
	for pl := w.First(); pl != nil; pl = pl.Sibling() {
		span.Keys = append(span.Keys, pl.Key())
		if looked >= mostLooked {
			continue
		}
		commands.EachHolder(ws.Store.DB(w.DB()).PeekLive([]byte(pl.Key())), func(h commands.Holder) bool {
			looked++
			if span.Holder == "" {
				span.Holder = string(h.Owner)
			}
			if of, ok := st.Traces[h.Token]; ok {
				span.link(HolderSpan{Context: of, Key: pl.Key(), Owner: string(h.Owner), Token: h.Token})
			}
			return looked < mostLooked
		})
	}
	st.Spans[w] = span
}

// link adds a holder, if there is space for one more. The later trace of a holder replaces the earlier one.
func (w *WaitSpan) link(h HolderSpan) {
	if i := slices.IndexFunc(w.Holders, func(of HolderSpan) bool { return of.Token == h.Token }); i >= 0 {
		w.Holders[i] = h
		return
	}
	if len(w.Holders) >= MostLinks {
		w.MoreHolders++
		return
	}
	w.Holders = append(w.Holders, h)
}

// linkWaiters adds a new holder to the spans of the calls that wait for the same key.
func (ws *Waits) linkWaiters(c *commands.Ctx, h HolderSpan) {
	q := ws.Queues.Of(c.DB.ID(), []byte(h.Key))
	if q == nil {
		return
	}
	looked := 0
	for pl := q.First(); pl != nil && looked < mostLooked; pl = pl.Next() {
		looked++
		w := ParkedOf(pl.Waiter())
		if span := ws.LockEvents.Spans[w]; span != nil && w != ws.LockEvents.trying {
			span.link(h)
		}
	}
}

// endSpan hands the span of a wait to the exporter.
func (ws *Waits) endSpan(w *Parked, granted bool, why lockhistory.Reason) {
	span := ws.LockEvents.Spans[w]
	if span == nil {
		return
	}
	delete(ws.LockEvents.Spans, w)
	span.End = time.UnixMicro(max(ws.Store.NowUS(), w.sinceUS))
	switch {
	case granted:
		span.Outcome, span.Tokens = lockhistory.Granted.String(), w.lock.AppendTokens(nil)
	case why == deadlocked:
		span.Outcome = lockhistory.Deadlock.String()
	default:
		span.Outcome = why.String()
	}
	ws.Exporter.Wait(span)
}

// SpanCounts returns how many spans of waits were delivered, and how many were dropped.
func (ws *Waits) SpanCounts() (delivered, dropped int64) {
	if ws.Exporter == nil {
		return 0, 0
	}
	delivered, dropped = ws.Exporter.Counts()
	return delivered, dropped + ws.LockEvents.skipped
}
