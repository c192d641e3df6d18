// Package tracecontext reads and writes the header traceparent of W3C Trace Context.
//
// It owns the form of that header and the rules for a valid one. It must not know spans, exporters or the
// server: package main exports spans. It needs nothing but the standard library.
//
// To accept a newer version of the header, extend Parse. A newer version may have more fields behind the
// first four, which are skipped.
package tracecontext
