// Package traces runs the server program with a collector of OpenTelemetry, which is the test itself, and
// looks at the spans of waits. It must not know how the program exports.
//
// To add an attribute of a span, look for it here.
package traces
