// Package admin is the admin port: a small HTTP server beside the event loops, for those who look after a
// server and not for those who use it.
//
// It owns the listener with its limits, the paths, and what /healthz and /readyz say. It must not know an
// executor, a session or a command's handler. Its data come from a Source, as plain values, or from ordinary
// commands over a connection of its own (Source.Dial), for which a user logs in. Only cmd/ imports it. A
// program that embeds the server gets neither this package nor its dependencies; internal/tidy checks that.
//
// To add a page, write a method of Port in a file of its subject, and add a line to Port.routes. More than a
// page or two (the console) is a package below this one. It declares the part of Source that it needs as its
// own interface. A function returns its http.Handler, which is in Port.routes under the common path of its
// pages. A handler that writes for longer than writeTimeout, as server-sent events do, moves its own deadline
// with http.ResponseController. A figure that no command returns is a field of server.Figures. One that needs
// a walk is read in pieces, as Server.EachSale does.
//
// To add a metric that is a field of INFO, add a row in fields. For another metric, add a variable beside the
// others, a place in commandMetrics or nativeMetrics, and the line that sends it. docs/METRICS.md follows
// (make docs).
package admin
