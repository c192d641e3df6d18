package server

import "lockserver/server/durability"

// This file is durability.Program, the whole of it: what the log and snapshots ask of the server.

// durabilityHost is the executor as what is kept on disk sees it.
type durabilityHost struct{ executor *executor }

var _ durability.Program = durabilityHost{}

// Background implements durability.Program.
func (h durabilityHost) Background(f func()) { h.executor.host.background(f) }

// NewReplayer implements durability.Program.
func (h durabilityHost) NewReplayer() durability.Replayer { return h.executor.newReplayer() }

// Libraries implements durability.Program.
func (h durabilityHost) Libraries() [][]byte { return h.executor.scripts.Libraries() }

// LoadLibraries implements durability.Program.
func (h durabilityHost) LoadLibraries(code [][]byte, replace bool) error {
	return h.executor.scripts.LoadLibraries(code, replace)
}

// ReplaceLibraries implements durability.Program.
func (h durabilityHost) ReplaceLibraries(code [][]byte) error {
	return h.executor.scripts.ReplaceLibraries(code)
}

// DropLibraries implements durability.Program.
func (h durabilityHost) DropLibraries() { h.executor.scripts.DropLibraries() }
