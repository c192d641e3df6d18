package server

import (
	"lockserver/commands"
	"lockserver/internal/resp"
	"lockserver/store"
	"lockserver/store/hash"
	"lockserver/store/set"
	"lockserver/store/stream"
)

// applyConfig turns the directives into the forms in which they are used: at the start, and after CONFIG SET. After
// the start it runs under the executor.
func (srv *Server) applyConfig() {
	c := srv.config
	srv.settings = settings{
		keepAlive:       keepAliveOf(c.TCPKeepaliveMS),
		outputHardBytes: c.ClientOutputBufferLimit.Normal.HardBytes,
		decoder:         resp.Limits{MaxBulk: c.ProtoMaxBulkLen, MaxQuery: c.ClientQueryBufferLimit},
	}
	srv.executor.settings = commands.Settings{
		MaxStringBytes:       c.ProtoMaxBulkLen,
		LockWatchdogMS:       c.LockWatchdogTimeoutMS,
		StreamNodeMaxEntries: c.StreamNodeMaxEntries,
	}
	srv.store.SetLimits(store.Limits{
		Hash: hash.Limits{Entries: int(c.HashMaxListpackEntries), Value: int(c.HashMaxListpackValue)},
		Set: set.Limits{IntsetEntries: int(c.SetMaxIntsetEntries), Entries: int(c.SetMaxListpackEntries),
			Value: int(c.SetMaxListpackValue)},
		Stream: stream.Limits{NodeMaxBytes: int(c.StreamNodeMaxBytes), NodeMaxEntries: int(c.StreamNodeMaxEntries)},
	})
	for _, s := range srv.clients {
		s.decoder.SetLimits(srv.settings.decoder)
	}
}
