// Package readme keeps the README and the pages in docs correct: its tests run what these pages show, in the
// same order. pages, in blocks_test.go, lists the pages; a page with blocks that is not listed fails a test.
//
// The word after the language of a fenced block names its role. "console alice" is the output of one terminal
// with redis-cli, and "sh server" starts the server. "go" is word for word in one of this package's test
// files, "java" and "python" in a test of tests/clients. The blocks of a translated page are blocks of its
// original (page.original). The package owns the reading of those blocks and a formatter that prints replies
// like redis-cli, so that plain `go test` needs nothing installed. With the build tag oracle the same
// transcripts go through the real redis-cli. It must use the server only as users do: over the wire, or
// through package server.
//
// To add a command to a page, type it into a transcript with the output of redis-cli; the test does the rest.
// If the page has a translation that shows the block, copy it there as well. A new kind of block gets its
// word in blocks_test.go, and a test that uses it: no block may be unused.
package readme
