// Package inspect shows a person at a terminal what a running server is doing: who holds which lock, who
// waits for it and why, and how sales go. It is `lockserver top`, `lockserver locks` and `lockserver why`,
// from an open connection to what is printed.
//
// It is a client: it sends ordinary commands and sees what the user that it logged in as may see. It must
// not know the server's packages. server.go reads replies into values (reply.go); look.go is what `top` looks
// at once a second, sample.go what it keeps of that; locks.go and why.go print lists; top.go is what keys do,
// and view.go and list.go are how it looks. A new figure of `top` is a field of Sample, filled in look.go,
// and a cell in view.go.
package inspect
