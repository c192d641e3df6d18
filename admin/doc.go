// Package admin is the admin port: a small HTTP server beside the event loops, for those who look after a
// server and not for those who use it.
//
// It owns the listener with its limits, the paths, and what /healthz and /readyz say. It must not know an
// executor, a session or a command's handler: what it tells it gets from a Source, in figures that are plain
// values, or by ordinary commands over a connection of its own (Source.Dial), for which a user logs in. It is
// imported by cmd/ alone. Who embeds the server gets neither this package nor what it depends on, which
// internal/tidy sees to.
//
// To add a page: a method of Port in a file of its subject, and a line in Port.routes. What is more than a
// page or two (the console) is a package below this one: it declares what it needs of a Source as an
// interface of its own, and has a function that returns an http.Handler, which stands in Port.routes under
// the path that all of its pages have in common. A handler that writes for longer than writeTimeout, as
// server-sent events do, moves its own deadline with http.ResponseController. A figure that no command tells
// is a field of server.Figures; one that takes a walk is told in pieces, as Server.EachSale does.
//
// To add a metric: a row in fields if it is a field of INFO, otherwise a variable beside the others, a place
// in commandMetrics or nativeMetrics, and the line that sends it. docs/METRICS.md follows (make docs).
package admin
