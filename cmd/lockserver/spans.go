package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"lockserver/internal/config"
	"lockserver/internal/lockhistory"
	"lockserver/internal/tracecontext"
	"lockserver/server"
)

const (
	// mostSpansQueued is the largest number of waits between the server and the collector. More are dropped.
	mostSpansQueued = 4096
	// spansAtOnce is the largest number of spans in a request, and spansEvery the time that a span waits for
	// others.
	spansAtOnce, spansEvery = 512, time.Second
	// spansEnd is how long the end of the process may wait for the collector.
	spansEnd = 3 * time.Second
	// spansComplain is the time between two log lines about a collector that accepts nothing.
	spansComplain = time.Minute
)

// spanExporter sends waits to a collector of OpenTelemetry as spans. It implements server.SpanExporter: the
// server never waits for it. Waits that do not fit into its queue are dropped, and so are spans that the
// collector does not accept.
type spanExporter struct {
	queue              chan *server.WaitSpan
	provider           *sdktrace.TracerProvider
	sink               *countedSink
	stop, stopped      chan struct{}
	delivered, dropped atomic.Int64
}

// countedSink counts the spans that a collector accepts.
type countedSink struct {
	sdktrace.SpanExporter
	of       *spanExporter
	log      *slog.Logger
	saidLast time.Time // the time of the latest line in the log; one goroutine exports
}

// ExportSpans implements sdktrace.SpanExporter.
func (s *countedSink) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	err := s.SpanExporter.ExportSpans(ctx, spans)
	if err == nil {
		s.of.delivered.Add(int64(len(spans)))
		return nil
	}
	s.of.dropped.Add(int64(len(spans)))
	if time.Since(s.saidLast) >= spansComplain {
		s.saidLast = time.Now()
		s.log.Warn("The collector (otlp-endpoint) does not take spans", "cause", err, "dropped", s.of.dropped.Load())
	}
	return nil // it is counted and logged
}

// openSpans returns an exporter for the collector of the configuration; nil if there is no collector. The
// variables of the environment that OpenTelemetry defines have an effect as well: OTEL_EXPORTER_OTLP_HEADERS,
// OTEL_RESOURCE_ATTRIBUTES, OTEL_SERVICE_NAME, and so on.
func openSpans(c *config.Config, log *slog.Logger) (*spanExporter, error) {
	if c.OTLPEndpoint == "" {
		return nil, nil
	}
	endpoint, err := collectorURL(c.OTLPEndpoint)
	if err != nil {
		return nil, err
	}
	ctx := context.Background()
	to, err := otlptrace.New(ctx, otlptracehttp.NewClient(otlptracehttp.WithEndpointURL(endpoint)))
	if err != nil {
		return nil, fmt.Errorf("otlp-endpoint: %w", err)
	}
	attributes := []attribute.KeyValue{attribute.String("service.name", "lockserver"), attribute.String("service.version", version)}
	if c.Raft.ID != "" {
		attributes = append(attributes, attribute.String("service.instance.id", c.Raft.ID))
	}
	of, err := resource.New(ctx, resource.WithTelemetrySDK(), resource.WithAttributes(attributes...), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.Debug("OpenTelemetry", "cause", err) }))
	return newSpans(to, of, log), nil
}

func newSpans(to sdktrace.SpanExporter, of *resource.Resource, log *slog.Logger) *spanExporter {
	e := &spanExporter{queue: make(chan *server.WaitSpan, mostSpansQueued), stop: make(chan struct{}), stopped: make(chan struct{})}
	e.sink = &countedSink{SpanExporter: to, of: e, log: log}
	e.provider = sdktrace.NewTracerProvider(sdktrace.WithResource(of),
		// Our own queue drops waits and counts them. This one waits.
		sdktrace.WithBatcher(e.sink, sdktrace.WithBlocking(), sdktrace.WithMaxExportBatchSize(spansAtOnce), sdktrace.WithBatchTimeout(spansEvery)))
	go e.run()
	return e
}

// collectorURL reads the directive. The error does not repeat it, because a URL may contain a login. Without
// a scheme it is http, and without a path the path is that of OTLP.
func collectorURL(text string) (string, error) {
	if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", errors.New("otlp-endpoint: the value is no URL such as http://127.0.0.1:4318")
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = "/v1/traces"
	}
	return u.String(), nil
}

// Wait implements server.SpanExporter.
func (e *spanExporter) Wait(w *server.WaitSpan) {
	select {
	case e.queue <- w:
	default:
		e.dropped.Add(1)
	}
}

// Counts implements server.SpanExporter.
func (e *spanExporter) Counts() (delivered, dropped int64) {
	return e.delivered.Load(), e.dropped.Load()
}

// run makes spans of waits until close is called, and then of the waits that are still in the queue.
func (e *spanExporter) run() {
	defer close(e.stopped)
	tracer := e.provider.Tracer("lockserver")
	for {
		select {
		case w := <-e.queue:
			export(tracer, w)
		case <-e.stop:
			for len(e.queue) > 0 {
				export(tracer, <-e.queue)
			}
			return
		}
	}
}

// close sends the remaining spans, within spansEnd.
func (e *spanExporter) close() {
	if e == nil {
		return
	}
	close(e.stop)
	ctx, cancel := context.WithTimeout(context.Background(), spansEnd)
	defer cancel()
	select {
	case <-e.stopped:
	case <-ctx.Done():
	}
	_ = e.provider.Shutdown(ctx) // what was not taken is in the log
}

// export makes a span of a wait.
func export(tracer trace.Tracer, w *server.WaitSpan) {
	links := make([]trace.Link, 0, len(w.Holders))
	for _, h := range w.Holders {
		links = append(links, trace.Link{SpanContext: spanContext(&h.Context), Attributes: []attribute.KeyValue{
			attribute.String("lockserver.key", valid(h.Key)), attribute.String("lockserver.owner", valid(h.Owner)),
			attribute.Int64("lockserver.token", h.Token)}})
	}
	keys := make([]string, 0, len(w.Keys))
	for _, key := range w.Keys {
		keys = append(keys, valid(key))
	}
	attributes := []attribute.KeyValue{attribute.String("lockserver.command", w.Command), attribute.Int("lockserver.db", w.DB),
		attribute.StringSlice("lockserver.keys", keys), attribute.String("lockserver.owner", valid(w.Owner)),
		attribute.String("lockserver.mode", w.Mode), attribute.String("lockserver.outcome", w.Outcome)}
	if w.Notify {
		attributes = append(attributes, attribute.Bool("lockserver.notify", true))
	}
	if w.Holder != "" {
		attributes = append(attributes, attribute.String("lockserver.holder", valid(w.Holder)))
	}
	if len(w.Tokens) > 0 {
		attributes = append(attributes, attribute.Int64Slice("lockserver.tokens", w.Tokens))
	}
	if w.MoreHolders > 0 {
		attributes = append(attributes, attribute.Int("lockserver.more_holders", w.MoreHolders))
	}
	ctx := trace.ContextWithRemoteSpanContext(context.Background(), spanContext(&w.Context))
	_, span := tracer.Start(ctx, "wait "+w.Command, trace.WithSpanKind(trace.SpanKindServer), trace.WithTimestamp(w.Begin),
		trace.WithLinks(links...), trace.WithAttributes(attributes...))
	if w.Outcome != lockhistory.Granted.String() {
		span.SetStatus(codes.Error, w.Outcome)
	}
	span.End(trace.WithTimestamp(w.End))
}

func spanContext(c *tracecontext.Context) trace.SpanContext {
	return trace.NewSpanContext(trace.SpanContextConfig{TraceID: c.Trace, SpanID: c.Span, TraceFlags: trace.TraceFlags(c.Flags), Remote: true})
}

// valid returns a text that OTLP accepts: names of keys and owners may have any bytes.
func valid(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }
