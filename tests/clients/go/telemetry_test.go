package clients

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"lockserver/client"
	"lockserver/client/otellocks"
	"lockserver/client/prometheuslocks"
)

// use has each way in which a call and a lock end. Two locks are released and one is lost. One call finds
// the lock taken, and one runs into its caller's deadline. meanwhile is called while one lock is held.
func use(t *testing.T, s *server, c *client.Client, ctx context.Context, meanwhile func()) {
	t.Helper()
	lock, err := c.Lock(ctx, "k")
	require.NoError(t, err)
	_, err = c.TryLock(ctx, "k")
	require.ErrorIs(t, err, client.ErrNotAcquired)
	limited, cancel := context.WithTimeout(ctx, time.Millisecond)
	defer cancel()
	_, err = c.Lock(limited, "k")
	require.ErrorIs(t, err, context.DeadlineExceeded)
	meanwhile()
	require.NoError(t, lock.Unlock(ctx))
	lock, err = c.Lock(ctx, "k")
	require.NoError(t, err)
	require.NoError(t, lock.Unlock(ctx))
	lock, err = c.Lock(ctx, "k")
	require.NoError(t, err)
	require.NoError(t, s.connect(t).Do(ctx, "LOCK.FORCE", "k").Err())
	<-lock.Context().Done()
}

// TestNativePrometheus: the metrics of a client have the names of those of Java, and count what was done.
func TestNativePrometheus(t *testing.T) {
	s, ctx := start(t), within(t)
	metrics, registry := prometheuslocks.New(), prometheus.NewPedanticRegistry()
	require.NoError(t, registry.Register(metrics))
	heard := make(chan *client.LostError, 1)
	c, err := client.New(s.connect(t), client.Observe(metrics.Hooks()), client.Observe(client.Hooks{Lost: func(lost *client.LostError) { heard <- lost }}))
	require.NoError(t, err)
	metrics.Watch(c)
	figures := func() map[string]float64 {
		families, err := registry.Gather()
		require.NoError(t, err)
		found := map[string]float64{}
		for _, family := range families {
			for _, m := range family.GetMetric() {
				switch family.GetType() {
				case dto.MetricType_HISTOGRAM:
					found[family.GetName()+" "+m.GetLabel()[0].GetValue()] = float64(m.GetHistogram().GetSampleCount())
				default:
					found[family.GetName()] = m.GetGauge().GetValue()
				}
			}
		}
		return found
	}
	use(t, s, c, ctx, func() {
		now := figures()
		require.Positive(t, now["lockserver_client_oldest_hold_seconds"])
		delete(now, "lockserver_client_oldest_hold_seconds")
		require.Equal(t, map[string]float64{"lockserver_held": 1, "lockserver_waiting": 0, "lockserver_attached": 1,
			"lockserver_wait_seconds acquired": 1, "lockserver_wait_seconds not_acquired": 1, "lockserver_wait_seconds timeout": 1}, now)
	})
	require.Equal(t, "forced", (<-heard).Reason)
	c.Close()
	require.Equal(t, map[string]float64{"lockserver_held": 0, "lockserver_waiting": 0, "lockserver_attached": 0, "lockserver_client_oldest_hold_seconds": 0,
		"lockserver_wait_seconds acquired": 3, "lockserver_wait_seconds not_acquired": 1, "lockserver_wait_seconds timeout": 1,
		"lockserver_hold_seconds released": 2, "lockserver_hold_seconds forced": 1}, figures())
}

// TestNativeOpenTelemetry: the same for OpenTelemetry, with spans of waits and holds in the trace of the
// caller. The server knows the wait by its span.
func TestNativeOpenTelemetry(t *testing.T) {
	s, ctx := start(t), within(t)
	reader, spans := metric.NewManualReader(), tracetest.NewSpanRecorder()
	tracers := trace.NewTracerProvider(trace.WithSpanProcessor(spans))
	telemetry, err := otellocks.New(metric.NewMeterProvider(metric.WithReader(reader)), tracers)
	require.NoError(t, err)
	heard := make(chan error, 3)
	c, err := client.New(s.connect(t), client.Observe(telemetry.Hooks()),
		client.Observe(client.Hooks{Begin: func(context.Context, []string) client.Call {
			return client.Call{Over: func(why error) { heard <- why }}
		}}))
	require.NoError(t, err)
	telemetry.Watch(c)
	figures := func() map[string]float64 {
		var all metricdata.ResourceMetrics
		require.NoError(t, reader.Collect(ctx, &all))
		found := map[string]float64{}
		for _, m := range all.ScopeMetrics[0].Metrics {
			switch data := m.Data.(type) {
			case metricdata.Histogram[float64]:
				for _, point := range data.DataPoints {
					outcome, _ := point.Attributes.Value("outcome")
					found[m.Name+" "+outcome.AsString()] = float64(point.Count)
				}
			case metricdata.Gauge[int64]:
				found[m.Name] = float64(data.DataPoints[0].Value)
			case metricdata.Gauge[float64]:
				found[m.Name] = data.DataPoints[0].Value
			}
		}
		return found
	}
	caller, parent := tracers.Tracer("test").Start(ctx, "checkout")
	use(t, s, c, caller, func() {
		now := figures()
		require.Positive(t, now["lockserver.client.oldest.hold"])
		delete(now, "lockserver.client.oldest.hold")
		require.Equal(t, map[string]float64{"lockserver.held": 1, "lockserver.waiting": 0, "lockserver.attached": 1,
			"lockserver.wait acquired": 1, "lockserver.wait not_acquired": 1, "lockserver.wait timeout": 1}, now)
		info, err := s.connect(t).Do(ctx, "LOCK.INFO", "k").Result()
		require.NoError(t, err)
		require.Contains(t, fmt.Sprint(info), parent.SpanContext().TraceID().String())
	})
	for range 3 {
		<-heard
	}
	c.Close()
	require.Equal(t, map[string]float64{"lockserver.held": 0, "lockserver.waiting": 0, "lockserver.attached": 0, "lockserver.client.oldest.hold": 0,
		"lockserver.wait acquired": 3, "lockserver.wait not_acquired": 1, "lockserver.wait timeout": 1,
		"lockserver.hold released": 2, "lockserver.hold forced": 1}, figures())

	ended := map[string]int{}
	for _, span := range spans.Ended() {
		require.Equal(t, parent.SpanContext().SpanID(), span.Parent().SpanID())
		outcome := ""
		for _, of := range span.Attributes() {
			switch of.Key {
			case "outcome":
				outcome = of.Value.AsString()
			case "lockserver.keys":
				require.Equal(t, attribute.StringSliceValue([]string{"k"}), of.Value)
			}
		}
		ended[span.Name()+": "+outcome]++
	}
	require.Equal(t, map[string]int{"lock wait: acquired": 3, "lock wait: not_acquired": 1, "lock wait: timeout": 1,
		"lock hold: released": 2, "lock hold: forced": 1}, ended)
}
