package server

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/internal/resp"
	"lockserver/internal/tracecontext"
	"lockserver/server/wait"
)

// traceparent makes one; each number is another trace. It is sampled.
func traceparent(n int) string { return fmt.Sprintf("00-%032x-%016x-01", n, n+1000) }

// collector keeps spans.
type collector struct {
	mu    sync.Mutex
	spans []WaitSpan
}

func (c *collector) Wait(w *WaitSpan) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.spans = append(c.spans, *w)
}

func (c *collector) Counts() (delivered, dropped int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return int64(len(c.spans)), 7
}

// take returns the spans so far, and forgets them.
func (c *collector) take() []WaitSpan {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := c.spans
	c.spans = nil
	return list
}

// wordOf is a field of a map; the zero value if it has none.
func wordOf(t *testing.T, v resp.Value, name string) string {
	t.Helper()
	return entries(t, v)[name].Str
}

// TestTraceOfHoldersAndWaiters: LOCK.INFO, LOCK.WAITERS and the history show the trace of a call.
func TestTraceOfHoldersAndWaiters(t *testing.T) {
	t.Parallel()
	clock := NewManualClock(time.UnixMilli(historyStartMS))
	srv := startWith(t, Options{Clock: clock}, nil)
	a, b, asks := client(t, srv), client(t, srv), client(t, srv)
	a.Do("LOCK", "k", "a", "PX", "60000", "trace", traceparent(1))
	require.Equal(t, traceparent(1), wordOf(t, asks.Do("LOCK.INFO", "k"), "trace"))
	b.Send("LOCK", "k", "b", "PX", "60000", "WAIT", "0", "TRACE", traceparent(2))
	awaitParked(t, srv, 1)
	waiter := entries(t, asks.Do("LOCK.INFO", "k"))["waiters"].Elems[0]
	require.Equal(t, traceparent(2), wordOf(t, waiter, "trace"))
	require.Equal(t, traceparent(2), wordOf(t, asks.Do("LOCK.WAITERS").Elems[0], "trace"))
	a.Do("RENEW", "k", "a", "PX", "60000")
	a.Do("UNLOCK", "k", "a")
	b.Receive()
	require.Equal(t, traceparent(2), wordOf(t, asks.Do("LOCK.INFO", "k"), "trace"))
	b.Do("LOCK", "k", "b", "PX", "60000", "ONCE", "TRACE", traceparent(3))
	require.Equal(t, traceparent(3), wordOf(t, asks.Do("LOCK.INFO", "k"), "trace"), "the latest call counts")
	b.Do("LOCK", "k", "b", "PX", "60000", "ONCE")
	require.Equal(t, traceparent(3), wordOf(t, asks.Do("LOCK.INFO", "k"), "trace"), "one without a trace changes nothing")
	a.Do("LOCK", "k", "a", "TRACE", traceparent(4))
	clock.Advance(time.Minute)
	a.Do("LOCK", "k", "a", "PX", "60000")
	require.NotContains(t, entries(t, asks.Do("LOCK.INFO", "k")), "trace")
	one, two, three, four := " trace="+traceparent(1), " trace="+traceparent(2), " trace="+traceparent(3), " trace="+traceparent(4)
	require.Equal(t, []string{"0 granted k a" + one, "0 queued k b" + two, "0 renewed-by-hand k a" + one, "0 released k a" + one,
		"0 granted k b" + two, "0 renewed-by-hand k b once" + three, "0 renewed-by-hand k b once" + three, "0 refused k a held" + four,
		"60000 expired k b" + three + " held=60000", "60000 granted k a"}, historyOf(t, asks))
	srv.executor.Mu.Lock()
	defer srv.executor.Mu.Unlock()
	require.Empty(t, srv.executor.Waits.LockEvents.Traces, "what is released is forgotten")
}

// TestTraceOfEveryKind: shared locks, MLOCK and semaphores keep a trace for each holder; RENAME moves it.
func TestTraceOfEveryKind(t *testing.T) {
	t.Parallel()
	srv := startWith(t, Options{}, nil)
	a, asks := client(t, srv), client(t, srv)
	a.Do("LOCK", "s", "a", "SHARED", "TRACE", traceparent(1))
	a.Do("LOCK", "s", "b", "SHARED", "TRACE", traceparent(2))
	a.Do("LOCK", "s", "c", "SHARED")
	a.Do("SEM.ACQUIRE", "pool", "a", "LIMIT", "3", "TRACE", traceparent(3))
	a.Do("MLOCK", "2", "x", "y", "a", "TRACE", traceparent(4))
	traces := make(map[string]string)
	for _, key := range []string{"s", "pool"} {
		for _, h := range entries(t, asks.Do("LOCK.INFO", key))["holders"].Elems {
			traces[key+" "+wordOf(t, h, "owner")] = wordOf(t, h, "trace")
		}
	}
	require.Equal(t, map[string]string{"s a": traceparent(1), "s b": traceparent(2), "s c": "", "pool a": traceparent(3)}, traces)
	a.Do("RENAME", "x", "z")
	for _, key := range []string{"y", "z"} {
		require.Equal(t, traceparent(4), wordOf(t, asks.Do("LOCK.INFO", key), "trace"))
	}
	for _, words := range []string{"UNLOCK s a", "UNLOCK s b", "SEM.RELEASE pool a", "UNLOCK y a", "DEL z"} {
		require.EqualValues(t, 1, max(a.Do(strings.Fields(words)...).Int, 1), words)
	}
	srv.executor.Mu.Lock()
	defer srv.executor.Mu.Unlock()
	require.Empty(t, srv.executor.Waits.LockEvents.Traces)
}

// TestBadTraces: a traceparent that is not valid is an error, and changes nothing.
func TestBadTraces(t *testing.T) {
	t.Parallel()
	srv := startWith(t, Options{}, nil)
	a := client(t, srv)
	for _, bad := range []string{"x", "", strings.ToUpper(traceparent(10)), "00-" + strings.Repeat("0", 32) + "-0000000000000001-01", traceparent(1) + "-00"} {
		for _, words := range [][]string{{"LOCK", "k", "a", "TRACE", bad}, {"MLOCK", "1", "k", "a", "TRACE", bad}, {"SEM.ACQUIRE", "k", "a", "LIMIT", "1", "TRACE", bad},
			{"LOCK", "k", "a", "WAIT", "0", "NOTIFY", "TRACE", bad}} {
			require.Contains(t, a.Do(words...).String(), "ERR TRACE needs a traceparent", "%q", words)
		}
	}
	for _, words := range [][]string{{"LOCK", "k", "a", "TRACE"}, {"LOCK", "k", "a", "TRACE", traceparent(1), "TRACE", traceparent(2)},
		{"SEM.ACQUIRE", "k", "a", "LIMIT", "1", "TRACE", traceparent(1), "TRACE", traceparent(1)}} {
		require.Contains(t, a.Do(words...).String(), "ERR syntax error", "%q", words)
	}
	require.Zero(t, a.Do("EXISTS", "k").Int)
	require.EqualValues(t, 0, entries(t, a.Do("LOCK.HISTORY"))["last-id"].Int)
	// A key and an owner may have such names.
	require.Positive(t, a.Do("LOCK", "TRACE", traceparent(1), "PX", "60000").Int)
	require.Positive(t, a.Do("LOCK", "k", "trace", "PX", "60000", "TRACE", traceparent(2)).Int)
}

// TestSpansOfWaits: a wait in a sampled trace is handed on when it ends, with the holders that it waited for.
func TestSpansOfWaits(t *testing.T) {
	t.Parallel()
	clock := NewManualClock(time.UnixMilli(historyStartMS))
	var to collector
	srv := startWith(t, Options{Clock: clock, Spans: &to}, nil)
	a, b := client(t, srv), client(t, srv)
	token := a.Do("LOCK", "k", "a", "TRACE", traceparent(1)).Int
	b.Send("LOCK", "k", "b", "WAIT", "5000", "TRACE", traceparent(2))
	awaitParked(t, srv, 1)
	clock.Advance(3 * time.Second)
	require.Empty(t, to.take())
	a.Do("UNLOCK", "k", "a")
	got := b.Receive().Int
	spans := to.take()
	require.Len(t, spans, 1)
	s := spans[0]
	require.Equal(t, traceparent(2), s.Context.String())
	require.Equal(t, []any{"lock", 0, []string{"k"}, "b", "exclusive", "granted", []int64{got}, "a"},
		[]any{s.Command, s.DB, s.Keys, s.Owner, s.Mode, s.Outcome, s.Tokens, s.Holder})
	require.Equal(t, 3*time.Second, s.End.Sub(s.Begin))
	require.Len(t, s.Holders, 1)
	require.Equal(t, traceparent(1), s.Holders[0].Context.String())
	require.Equal(t, HolderSpan{Context: s.Holders[0].Context, Key: "k", Owner: "a", Token: token}, s.Holders[0])

	// There is no span without a trace, or in a trace that is not sampled.
	for _, words := range []string{"", "TRACE 00-" + strings.Repeat("1", 32) + "-" + strings.Repeat("2", 16) + "-00"} {
		a.Send(append(strings.Fields("LOCK k a WAIT 10"), strings.Fields(words)...)...)
		awaitParked(t, srv, 1)
		clock.Advance(10 * time.Millisecond)
		require.True(t, a.Receive().IsNull())
	}
	require.Empty(t, to.take())

	// The spans of refused waits have the reason. A wait that the end of the connection ends is a span,
	// too.
	a.Send("LOCK", "k", "a", "WAIT", "10", "TRACE", traceparent(3))
	awaitParked(t, srv, 1)
	clock.Advance(10 * time.Millisecond)
	require.True(t, a.Receive().IsNull())
	require.Equal(t, "timeout", to.take()[0].Outcome)
	a.Send("LOCK", "k", "a", "WAIT", "0", "TRACE", traceparent(4))
	awaitParked(t, srv, 1)
	a.Close()
	awaitParked(t, srv, 0)
	spans = to.take()
	require.Equal(t, "disconnected", spans[0].Outcome)
	require.Nil(t, spans[0].Tokens)
	f := srv.Figures()
	require.Equal(t, []int64{0, 7}, []int64{f.SpansDelivered, f.SpansDropped})
	srv.executor.Mu.Lock()
	defer srv.executor.Mu.Unlock()
	require.Empty(t, srv.executor.Waits.LockEvents.Spans)
}

// TestSpanHasABound: a wait that outlasts many holders links to the first of them, and counts the others.
func TestSpanHasABound(t *testing.T) {
	t.Parallel()
	var to collector
	srv := startWith(t, Options{Spans: &to}, nil)
	a, b := client(t, srv), client(t, srv)
	for i := range 20 {
		a.Do("SEM.ACQUIRE", "pool", fmt.Sprint("a", i), "LIMIT", "20", "TRACE", traceparent(i+1))
	}
	b.Send("SEM.ACQUIRE", "pool", "b", "PERMITS", "20", "WAIT", "0", "TRACE", traceparent(99))
	awaitParked(t, srv, 1)
	for i := range 20 {
		a.Do("SEM.RELEASE", "pool", fmt.Sprint("a", i))
	}
	require.Positive(t, b.Receive().Int)
	spans := to.take()
	require.Len(t, spans, 1)
	require.Len(t, spans[0].Holders, wait.MostLinks)
	require.Equal(t, 20-wait.MostLinks, spans[0].MoreHolders)
	require.Equal(t, "semaphore", spans[0].Mode)
}

// TestTracesAreBounded: the number of holders with a trace is bounded.
func TestTracesAreBounded(t *testing.T) {
	t.Parallel()
	srv := startWith(t, Options{}, nil)
	srv.executor.Mu.Lock()
	defer srv.executor.Mu.Unlock()
	st := &srv.executor.Waits.LockEvents
	for token := range int64(wait.MostTraces + 100) {
		st.KeepTrace(token+1, tracecontext.Context{Flags: 1})
	}
	require.Len(t, st.Traces, wait.MostTraces)
	require.Contains(t, st.Traces, int64(wait.MostTraces+100))
}
