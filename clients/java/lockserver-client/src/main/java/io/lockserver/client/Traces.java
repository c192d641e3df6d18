package io.lockserver.client;

import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.SpanContext;

/** The trace that a call belongs to, as the header {@code traceparent} of W3C Trace Context. */
final class Traces {
    private static final boolean PRESENT = isPresent();

    private Traces() {
    }

    private static boolean isPresent() {
        try {
            Class.forName("io.opentelemetry.api.trace.Span", false, Traces.class.getClassLoader());
            return true;
        } catch (ClassNotFoundException | LinkageError e) {
            return false;
        }
    }

    /** The traceparent of OpenTelemetry's current span; empty: there is none, or the program does not have opentelemetry-api. */
    static String current() {
        return PRESENT ? OpenTelemetry.current() : "";
    }

    /** It is loaded only if opentelemetry-api is there. */
    private static final class OpenTelemetry {
        static String current() {
            SpanContext span = Span.current().getSpanContext();
            return span.isValid() ? "00-" + span.getTraceId() + "-" + span.getSpanId() + "-" + span.getTraceFlags().asHex() : "";
        }
    }
}
