// Package otellocks has metrics and spans of a client's locks for OpenTelemetry:
//
//	telemetry, err := otellocks.New(otel.GetMeterProvider(), otel.GetTracerProvider())
//	if err != nil {
//		return err
//	}
//	locks, err := client.New(rdb, client.Observe(telemetry.Hooks()))
//	if err != nil {
//		return err
//	}
//	telemetry.Watch(locks)
//
// The names of the metrics, with the attribute outcome, are those of the client for Java: lockserver.wait
// and lockserver.hold in seconds, lockserver.held, lockserver.waiting, lockserver.attached, and
// lockserver.client.oldest.hold in seconds.
//
// A call for a lock is a span "lock wait", a child of the span of the call's context. The server knows it
// as the trace of the wait. The lock is a span "lock hold" after that, with the same parent. Both have the
// attribute lockserver.keys. Keys are no attributes of metrics, for there is no limit to their number.
package otellocks

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"lockserver/client"
)

const scope = "lockserver/client/otellocks"

// Telemetry is that of one client.
type Telemetry struct {
	tracer     trace.Tracer
	wait, hold metric.Float64Histogram
	attached   atomic.Int64
	client     atomic.Pointer[client.Client]
}

// New returns telemetry of a client that is to be made. Its error is one of the meter.
func New(meters metric.MeterProvider, tracers trace.TracerProvider) (*Telemetry, error) {
	t := &Telemetry{tracer: tracers.Tracer(scope)}
	meter := meters.Meter(scope)
	var errs [7]error
	t.wait, errs[0] = meter.Float64Histogram("lockserver.wait", metric.WithUnit("s"), metric.WithDescription("Time of calls for a lock"))
	t.hold, errs[1] = meter.Float64Histogram("lockserver.hold", metric.WithUnit("s"), metric.WithDescription("Time for which locks were held that are over"))
	held, err := meter.Int64ObservableGauge("lockserver.held", metric.WithUnit("{lock}"), metric.WithDescription("Locks that are held now"))
	errs[2] = err
	waiting, err := meter.Int64ObservableGauge("lockserver.waiting", metric.WithUnit("{call}"), metric.WithDescription("Calls that wait now"))
	errs[3] = err
	attached, err := meter.Int64ObservableGauge("lockserver.attached", metric.WithDescription("1 if the client's connection is there"))
	errs[4] = err
	oldest, err := meter.Float64ObservableGauge("lockserver.client.oldest.hold", metric.WithUnit("s"), metric.WithDescription("The age of the oldest lock that is held now"))
	errs[5] = err
	_, errs[6] = meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		o.ObserveInt64(attached, t.attached.Load())
		if c := t.client.Load(); c != nil {
			stats := c.Stats()
			o.ObserveInt64(held, int64(stats.Held))
			o.ObserveInt64(waiting, int64(stats.Waiting))
			o.ObserveFloat64(oldest, stats.Oldest.Seconds())
		}
		return nil
	}, held, waiting, attached, oldest)
	return t, errors.Join(errs[:]...)
}

// Watch has the gauges show the figures of a client. Without it only lockserver.attached is there.
func (t *Telemetry) Watch(c *client.Client) { t.client.Store(c) }

// Hooks returns the hooks for client.Observe.
func (t *Telemetry) Hooks() client.Hooks {
	record := func(histogram metric.Float64Histogram, outcome string, d time.Duration) {
		histogram.Record(context.Background(), d.Seconds(), metric.WithAttributes(attribute.String("outcome", outcome)))
	}
	return client.Hooks{
		Acquired: func(_ string, waited time.Duration) { record(t.wait, client.Ending(nil), waited) },
		Refused:  func(_ string, waited time.Duration, err error) { record(t.wait, client.Ending(err), waited) },
		Released: func(_ string, held time.Duration) { record(t.hold, "released", held) },
		Lost:     func(lost *client.LostError) { record(t.hold, lost.Reason, lost.Held) },
		Connected: func(err error) {
			if err != nil {
				t.attached.Store(0)
				return
			}
			t.attached.Store(1)
		},
		Begin: t.begin,
	}
}

// begin has the spans of one call.
func (t *Telemetry) begin(parent context.Context, keys []string) client.Call {
	about := trace.WithAttributes(attribute.StringSlice("lockserver.keys", keys))
	ctx, wait := t.tracer.Start(parent, "lock wait", about, trace.WithSpanKind(trace.SpanKindClient))
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	var hold trace.Span
	return client.Call{
		Trace: carrier["traceparent"],
		Had: func(err error) {
			end(wait, client.Ending(err), err)
			if err == nil {
				_, hold = t.tracer.Start(parent, "lock hold", about)
			}
		},
		Over: func(why error) {
			var lost *client.LostError
			if errors.As(why, &lost) {
				end(hold, lost.Reason, lost)
				return
			}
			end(hold, "released", nil)
		},
	}
}

// end ends a span with an outcome.
func end(span trace.Span, outcome string, err error) {
	span.SetAttributes(attribute.String("outcome", outcome))
	if err != nil {
		span.RecordError(err)
		span.SetStatus(codes.Error, outcome)
	}
	span.End()
}
