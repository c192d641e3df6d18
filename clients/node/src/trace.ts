// The trace that a call belongs to, as the header `traceparent` of W3C Trace Context.

/** The parts of @opentelemetry/api that are used. */
interface Api {
  context: { active(): unknown };
  trace: { getSpanContext(context: unknown): { traceId: string; spanId: string; traceFlags: number } | undefined };
  isSpanContextValid(of: unknown): boolean;
}

let api: Api | null | undefined; // null: the program does not have it

function apiOf(): Api | null {
  try {
    return require('@opentelemetry/api') as Api;
  } catch {
    return null;
  }
}

/**
 * Returns the traceparent of OpenTelemetry's current span; empty: there is no such span, or the program does not have
 * @opentelemetry/api.
 */
export function currentTrace(): string {
  if (api === undefined) api = apiOf();
  if (!api) return '';
  const span = api.trace.getSpanContext(api.context.active());
  if (!span || !api.isSpanContextValid(span)) return '';
  return `00-${span.traceId}-${span.spanId}-${(span.traceFlags & 0xff).toString(16).padStart(2, '0')}`;
}
