// Package inspect shows a person at a terminal what a running server is doing: which owners hold locks, which
// owners wait and why, what happened before, and how sales go. It is `lockserver top`, `lockserver locks`,
// `lockserver why` and `lockserver history`, from an open connection to the printed text.
//
// It is a client: it sends ordinary commands, and its user's rights limit what it sees. It must not know the
// server's packages. server.go reads replies into values (reply.go). look.go reads the figures of `top` once
// a second, and sample.go stores them. lasting.go reconnects `top`. locks.go, why.go and history.go print
// lists. then.go finds out how a lock was held at a time in the past. top.go handles keys, view.go and
// list.go draw. A new figure of `top` is a field of Sample, filled in look.go, and a cell in view.go.
package inspect
