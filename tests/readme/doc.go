// Package readme keeps the README and the pages in docs true: its tests run what these pages
// show, in the order in which they show it. The list is pages, in blocks_test.go; a page with
// blocks that is not in it fails a test.
//
// A fenced block of a page says behind its language which part it plays. "console alice" is what one
// terminal with redis-cli shows, and "sh server" starts the server. "go" stands word for word in one of this
// package's test files, "java" and "python" in a test of tests/clients. The blocks of a translated page are
// blocks of its original (page.original). The package owns the reading of those blocks and a formatter that
// prints replies as redis-cli does, so that plain `go test` needs nothing installed. With the build tag
// oracle the same transcripts go through the real redis-cli. It must not reach into the server other than as
// its users do: over the wire, or through package server.
//
// To add a command to a page, type it into a transcript with what redis-cli answers; the test does the rest.
// If the page has a translation that shows the block, copy it there as well.
// A new kind of block gets its word in blocks_test.go, and a place that uses it: no block may go unused.
package readme
