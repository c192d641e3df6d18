package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	spans "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"lockserver/internal/tracecontext"
	"lockserver/tests/testkit"
)

// spansWithin is how long something may take on a busy machine.
const spansWithin = 60 * time.Second

// receiver is a collector. It refuses what it gets while it is closed.
type receiver struct {
	*httptest.Server
	mu      sync.Mutex
	spans   []*spans.Span
	service string
	closed  bool
	refused int
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{}
	r.Server = httptest.NewServer(http.HandlerFunc(r.take))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) take(w http.ResponseWriter, q *http.Request) {
	body, err := io.ReadAll(q.Body)
	var request collector.ExportTraceServiceRequest
	if err == nil {
		err = proto.Unmarshal(body, &request)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case err != nil || q.URL.Path != "/v1/traces" || q.Method != http.MethodPost:
		w.WriteHeader(http.StatusNotFound)
	case r.closed:
		r.refused++
		w.WriteHeader(http.StatusForbidden)
	default:
		for _, of := range request.ResourceSpans {
			r.service = texts(of.Resource.Attributes)["service.name"]
			for _, s := range of.ScopeSpans {
				r.spans = append(r.spans, s.Spans...)
			}
		}
	}
}

// all returns the spans so far, in the order of their beginnings.
func (r *receiver) all() []*spans.Span {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := slices.Clone(r.spans)
	slices.SortFunc(list, func(a, b *spans.Span) int { return int(int64(a.StartTimeUnixNano) - int64(b.StartTimeUnixNano)) })
	return list
}

func (r *receiver) await(t *testing.T, n int) []*spans.Span {
	t.Helper()
	require.Eventually(t, func() bool { return len(r.all()) >= n }, spansWithin, 5*time.Millisecond)
	require.Len(t, r.all(), n)
	return r.all()
}

// texts are attributes as text.
func texts(attributes []*common.KeyValue) map[string]string {
	m := make(map[string]string)
	for _, a := range attributes {
		m[a.Key] = textOf(a.Value)
	}
	return m
}

func textOf(v *common.AnyValue) string {
	switch of := v.Value.(type) {
	case *common.AnyValue_StringValue:
		return of.StringValue
	case *common.AnyValue_IntValue:
		return fmt.Sprint(of.IntValue)
	case *common.AnyValue_BoolValue:
		return fmt.Sprint(of.BoolValue)
	case *common.AnyValue_ArrayValue:
		var words []string
		for _, e := range of.ArrayValue.Values {
			words = append(words, textOf(e))
		}
		return strings.Join(words, " ")
	}
	return fmt.Sprint(v)
}

// spanParent makes a traceparent. Each number is another trace.
func spanParent(n int, flags string) string {
	return fmt.Sprintf("00-%032x-%016x-%s", 0xabc000+n, 0xdef000+n, flags)
}

// isSpanParent reports whether identifiers of a span are those of a traceparent.
func isSpanParent(t *testing.T, text string, trace, span []byte) bool {
	t.Helper()
	c, ok := tracecontext.Parse([]byte(text))
	require.True(t, ok)
	return string(c.Trace[:]) == string(trace) && string(c.Span[:]) == string(span)
}

// spanWorld is a server program that exports to a receiver.
type spanWorld struct {
	*testkit.Process
	to    *receiver
	admin string
}

func startExporting(t *testing.T, args ...string) spanWorld {
	t.Helper()
	to, port := newReceiver(t), testkit.FreePort(t)
	p := testkit.Start(t, testkit.Command{Program: testkit.Lockserver(t), Dir: t.TempDir(),
		Args: append([]string{"--port", "0", "--save", "", "--admin-port", port, "--otlp-endpoint", to.URL}, args...)})
	return spanWorld{p, to, "http://127.0.0.1:" + port}
}

// waiting waits until so many calls wait for locks.
func (w spanWorld) waiting(t *testing.T, n int) {
	t.Helper()
	c := w.Client(t)
	defer c.Close()
	require.Eventually(t, func() bool { return len(c.Do("LOCK.WAITERS").Elems) == n }, spansWithin, time.Millisecond)
}

// metric is the value of a metric without labels.
func (w spanWorld) metric(t *testing.T, name string) string {
	t.Helper()
	reply, err := http.Get(w.admin + "/metrics")
	require.NoError(t, err)
	text, err := io.ReadAll(reply.Body)
	require.NoError(t, err)
	require.NoError(t, reply.Body.Close())
	found := regexp.MustCompile(`(?m)^` + name + ` (\S+)$`).FindSubmatch(text)
	require.NotNil(t, found, name)
	return string(found[1])
}

// TestWaitLinksToTheHolder: the span of a wait is a child of the waiter's span, and links to the traces of
// all holders that it waited for.
func TestWaitLinksToTheHolder(t *testing.T) {
	t.Parallel()
	w := startExporting(t)
	a, b, c := w.Client(t), w.Client(t), w.Client(t)
	tokenA := a.Do("LOCK", "order:42", "ann", "PX", "600000", "TRACE", spanParent(1, "01")).Int
	b.Send("LOCK", "order:42", "bob", "WAIT", "0", "TRACE", spanParent(2, "01"))
	w.waiting(t, 1)
	c.Send("LOCK", "order:42", "cleo", "WAIT", "0", "TRACE", spanParent(3, "01"))
	w.waiting(t, 2)
	require.EqualValues(t, 1, a.Do("UNLOCK", "order:42", "ann").Int)
	tokenB := b.Receive().Int
	require.EqualValues(t, 1, b.Do("UNLOCK", "order:42", "bob").Int)
	tokenC := c.Receive().Int

	of := w.to.await(t, 2)
	bob, cleo := of[0], of[1]
	c2, _ := tracecontext.Parse([]byte(spanParent(2, "01")))
	require.Equal(t, c2.Trace[:], bob.TraceId)
	require.Equal(t, c2.Span[:], bob.ParentSpanId)
	require.Equal(t, "wait lock", bob.Name)
	require.Equal(t, spans.Span_SPAN_KIND_SERVER, bob.Kind)
	require.Less(t, bob.StartTimeUnixNano, bob.EndTimeUnixNano)
	require.Equal(t, map[string]string{"lockserver.command": "lock", "lockserver.db": "0", "lockserver.keys": "order:42", "lockserver.owner": "bob",
		"lockserver.mode": "exclusive", "lockserver.outcome": "granted", "lockserver.holder": "ann", "lockserver.tokens": fmt.Sprint(tokenB)}, texts(bob.Attributes))
	require.Len(t, bob.Links, 1)
	require.True(t, isSpanParent(t, spanParent(1, "01"), bob.Links[0].TraceId, bob.Links[0].SpanId))
	require.Equal(t, map[string]string{"lockserver.key": "order:42", "lockserver.owner": "ann", "lockserver.token": fmt.Sprint(tokenA)}, texts(bob.Links[0].Attributes))

	require.Equal(t, fmt.Sprint(tokenC), texts(cleo.Attributes)["lockserver.tokens"])
	require.Len(t, cleo.Links, 2, "it waited for ann, and then for bob")
	require.True(t, isSpanParent(t, spanParent(1, "01"), cleo.Links[0].TraceId, cleo.Links[0].SpanId))
	require.True(t, isSpanParent(t, spanParent(2, "01"), cleo.Links[1].TraceId, cleo.Links[1].SpanId))
	require.Equal(t, "bob", texts(cleo.Links[1].Attributes)["lockserver.owner"])
	require.Equal(t, "lockserver", w.to.service)
	require.Eventually(t, func() bool { return w.metric(t, "lockserver_trace_spans_total") == "2" }, spansWithin, 5*time.Millisecond)
	require.Equal(t, "0", w.metric(t, "lockserver_trace_spans_dropped_total"))
}

// TestWaitsOfEveryKind: MLOCK, SEM.ACQUIRE and NOTIFY make spans, refused waits too. Waits in no trace, or in
// one that is not recorded, make none.
func TestWaitsOfEveryKind(t *testing.T) {
	t.Parallel()
	w := startExporting(t)
	a := w.Client(t)
	a.Do("LOCK", "x", "ann", "PX", "600000", "TRACE", spanParent(1, "00"))
	a.Do("SEM.ACQUIRE", "pool", "ann", "LIMIT", "1", "PX", "600000", "TRACE", spanParent(1, "01"))
	waits := [][]string{
		{"MLOCK", "2", "x", "y", "bob", "WAIT", "0", "TRACE", spanParent(2, "01")},
		{"SEM.ACQUIRE", "pool", "cleo", "WAIT", "0", "TRACE", spanParent(3, "01")},
		{"LOCK", "x", "dan", "SHARED", "WAIT", "30", "TRACE", spanParent(4, "03")},
		{"LOCK", "x", "eve", "WAIT", "30", "TRACE", spanParent(5, "00")},
		{"LOCK", "x", "fay", "WAIT", "30"},
	}
	var clients []*testkit.Client
	for i, words := range waits {
		c := w.Client(t)
		clients = append(clients, c)
		c.Send(words...)
		if i < 2 {
			w.waiting(t, i+1)
		}
	}
	for _, c := range clients[2:] {
		require.True(t, c.Receive().IsNull())
	}
	n := w.Client(t)
	require.Equal(t, "+QUEUED", n.Do("LOCK", "x", "gus", "WAIT", "0", "NOTIFY", "TRACE", spanParent(6, "01")).String())
	a.Do("UNLOCK", "x", "ann")
	require.Len(t, clients[0].Receive().Elems, 2)
	a.Do("SEM.RELEASE", "pool", "ann")
	require.Positive(t, clients[1].Receive().Int)
	clients[0].Do("MUNLOCK", "2", "x", "y", "bob")

	byOwner := make(map[string]*spans.Span)
	for _, s := range w.to.await(t, 4) {
		byOwner[texts(s.Attributes)["lockserver.owner"]] = s
	}
	bob, cleo, dan, gus := byOwner["bob"], byOwner["cleo"], byOwner["dan"], byOwner["gus"]
	require.Equal(t, "x y", texts(bob.Attributes)["lockserver.keys"])
	require.Len(t, strings.Fields(texts(bob.Attributes)["lockserver.tokens"]), 2)
	require.Equal(t, "wait mlock", bob.Name)
	require.True(t, isSpanParent(t, spanParent(1, "00"), bob.Links[0].TraceId, bob.Links[0].SpanId))
	require.Equal(t, "semaphore", texts(cleo.Attributes)["lockserver.mode"])
	require.True(t, isSpanParent(t, spanParent(1, "01"), cleo.Links[0].TraceId, cleo.Links[0].SpanId))
	require.Equal(t, "timeout", texts(dan.Attributes)["lockserver.outcome"])
	require.Equal(t, spans.Status_STATUS_CODE_ERROR, dan.Status.Code)
	require.Equal(t, "true", texts(gus.Attributes)["lockserver.notify"])
	require.True(t, isSpanParent(t, spanParent(2, "01"), gus.Links[len(gus.Links)-1].TraceId, gus.Links[len(gus.Links)-1].SpanId), "the holder before it")
}

// TestCollectorThatTakesNothing: the server answers as before, and counts what was dropped. It sends what it
// still has when it ends.
func TestCollectorThatTakesNothing(t *testing.T) {
	t.Parallel()
	w := startExporting(t)
	w.to.mu.Lock()
	w.to.closed = true
	w.to.mu.Unlock()
	a, b := w.Client(t), w.Client(t)
	wait := func(i int) {
		t.Helper()
		a.Do("LOCK", "k", "ann", "PX", "600000", "TRACE", spanParent(1, "01"))
		b.Send("LOCK", "k", "bob", "WAIT", "0", "TRACE", spanParent(i, "01"))
		w.waiting(t, 1)
		a.Do("UNLOCK", "k", "ann")
		require.Positive(t, b.Receive().Int)
		b.Do("UNLOCK", "k", "bob")
	}
	wait(2)
	require.Eventually(t, func() bool { return w.metric(t, "lockserver_trace_spans_dropped_total") == "1" }, spansWithin, 5*time.Millisecond)
	require.Equal(t, "0", w.metric(t, "lockserver_trace_spans_total"))
	w.to.mu.Lock()
	w.to.closed = false
	w.to.mu.Unlock()
	wait(3)
	code, err := w.Terminate()
	require.NoError(t, err)
	require.Zero(t, code)
	require.Len(t, w.to.all(), 1)
	require.Contains(t, w.Log(), "The collector (otlp-endpoint) does not take spans")
}

// TestEndpointIsChecked: a directive that is no URL keeps the program from starting. The log does not repeat
// a login that it contains.
func TestEndpointIsChecked(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"ftp://127.0.0.1:4318", "http://", "http://127.0.0.1:x", "http://u:hush@127.0.0.1:x", "ftp://u:hush@127.0.0.1"} {
		p := testkit.Prepare(t, testkit.Command{Program: testkit.Lockserver(t), Args: []string{"--port", "0", "--save", "", "--otlp-endpoint", bad}})
		require.NoError(t, p.Launch(), bad)
		code, err := p.Wait()
		require.NoError(t, err, bad)
		require.Equal(t, 1, code, bad)
		require.Contains(t, p.Log(), "otlp-endpoint", bad)
		require.NotContains(t, p.Log(), "hush", bad)
	}
}
