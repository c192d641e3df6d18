package server

import (
	"io"

	"lockserver/server/durability"
)

// Check verifies a snapshot, an append-only log, or a directory with such, without a server,
// and writes to w what it holds. The error is what would keep a server from starting on it,
// with file and offset. Nothing is changed.
func Check(path string, w io.Writer) error { return durability.Check(path, w) }
