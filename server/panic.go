package server

import (
	"runtime/debug"

	"lockserver/server/shard"
)

// The damage of a panic: docs/decisions/0007. Commands contain their own (executor.call and contain). Some
// work around commands is done for one connection: decoding, looking ahead, sending. A panic there costs that
// connection (session.contain, and the connections' own). After a panic in what all clients share, no code
// can know what is intact: the panic passes through all of those as a damage, and ends the process.

// Panicked implements transport.Session: it logs a panic that costs a connection only. A damage of shared
// things goes on.
func (s *session) Panicked(p any) {
	if d, ok := p.(shard.Damage); ok {
		panic(d)
	}
	s.executor.Logger.Error("a connection panicked", "client", s.Number, "addr", s.Info.Addr, "panic", p, "stack", string(debug.Stack()))
}
