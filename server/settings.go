package server

import (
	"time"

	"lockserver/commands"
	"lockserver/internal/config"
	"lockserver/internal/resp"
	"lockserver/store"
	"lockserver/store/hash"
	"lockserver/store/hll"
	"lockserver/store/list"
	"lockserver/store/set"
	"lockserver/store/stream"
	"lockserver/store/zset"
)

// applyConfig turns the directives into the forms in which they are used: at the start, and after CONFIG SET.
// After the start it runs under the executor.
func (srv *Server) applyConfig() {
	c := srv.config
	srv.settings = settings{
		keepAlive: keepAliveOf(c.TCPKeepaliveMS),
		output:    newOutputLimits(&c.ClientOutputBufferLimit),
	}
	srv.executor.settings = commands.Settings{
		MaxStringBytes: c.ProtoMaxBulkLen,
		LockWatchdogMS: c.LockWatchdogTimeoutMS,
		Events:         c.NotifyKeyspaceEvents.Effective(),
	}
	srv.events.follow()
	srv.tracking.most = c.TrackingTableMaxKeys
	srv.boundMemory()
	srv.gauge.configure(srv.table, c.SlowlogSlowerThanUS, c.SlowlogMaxLen, c.LatencyMonitorThresholdMS, c.LatencyTracking)
	srv.store.SetLimits(store.Limits{
		Hash: hash.Limits{Entries: int(c.HashMaxListpackEntries), Value: int(c.HashMaxListpackValue)},
		Set: set.Limits{IntsetEntries: int(c.SetMaxIntsetEntries), Entries: int(c.SetMaxListpackEntries),
			Value: int(c.SetMaxListpackValue)},
		ZSet:   zset.Limits{Entries: int(c.ZSetMaxListpackEntries), Value: int(c.ZSetMaxListpackValue)},
		List:   list.Limits{Fill: c.ListMaxListpackSize},
		HLL:    hll.Limits{SparseBytes: int(c.HLLSparseMaxBytes)},
		Stream: stream.Limits{NodeMaxBytes: int(c.StreamNodeMaxBytes), NodeMaxEntries: int(c.StreamNodeMaxEntries)},
	})
	srv.coalesceUS.Store(c.IOCoalesceUS)
	srv.decoderLimits.Store(&resp.Limits{MaxBulk: c.ProtoMaxBulkLen, MaxQuery: c.ClientQueryBufferLimit})
	if srv.opts.LogLevel != nil {
		srv.opts.LogLevel.Set(c.LogLevel.SlogLevel())
	}
}

// keepAlive is how long a connection is idle before it is probed; 0: it never is.
func (srv *Server) keepAlive() time.Duration {
	srv.mu.Lock()
	defer srv.mu.Unlock()
	return srv.settings.keepAlive
}

// coalesce is how far apart the rounds of a busy event loop are at most; 0: it never waits.
func (srv *Server) coalesce() time.Duration {
	return time.Duration(srv.coalesceUS.Load()) * time.Microsecond
}

// Config returns a copy of the directives as they are now.
func (srv *Server) Config() *config.Config {
	srv.mu.Lock()
	defer srv.mu.Unlock()
	return srv.config.Clone()
}
