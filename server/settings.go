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
func (ex *executor) applyConfig() {
	c := ex.config
	ex.keepAlive = keepAliveOf(c.TCPKeepaliveMS)
	ex.outputLimits = newOutputLimits(&c.ClientOutputBufferLimit)
	ex.settings = commands.Settings{
		MaxStringBytes: c.ProtoMaxBulkLen,
		LockWatchdogMS: c.LockWatchdogTimeoutMS,
		Events:         c.NotifyKeyspaceEvents.Effective(),
	}
	ex.events.follow()
	ex.tracking.most = c.TrackingTableMaxKeys
	ex.boundMemory()
	ex.gauge.configure(ex.table, c.SlowlogSlowerThanUS, c.SlowlogMaxLen, c.LatencyMonitorThresholdMS, c.LatencyTracking)
	ex.store.SetLimits(store.Limits{
		Hash: hash.Limits{Entries: int(c.HashMaxListpackEntries), Value: int(c.HashMaxListpackValue)},
		Set: set.Limits{IntsetEntries: int(c.SetMaxIntsetEntries), Entries: int(c.SetMaxListpackEntries),
			Value: int(c.SetMaxListpackValue)},
		ZSet:   zset.Limits{Entries: int(c.ZSetMaxListpackEntries), Value: int(c.ZSetMaxListpackValue)},
		List:   list.Limits{Fill: c.ListMaxListpackSize},
		HLL:    hll.Limits{SparseBytes: int(c.HLLSparseMaxBytes)},
		Stream: stream.Limits{NodeMaxBytes: int(c.StreamNodeMaxBytes), NodeMaxEntries: int(c.StreamNodeMaxEntries)},
	})
	ex.coalesceUS.Store(c.IOCoalesceUS)
	ex.decoderLimits.Store(&resp.Limits{MaxBulk: c.ProtoMaxBulkLen, MaxQuery: c.ClientQueryBufferLimit})
	if ex.opts.LogLevel != nil {
		ex.opts.LogLevel.Set(c.LogLevel.SlogLevel())
	}
}

// keepAlive is how long a connection is idle before it is probed; 0: it never is.
func (srv *Server) keepAlive() time.Duration {
	srv.executor.mu.Lock()
	defer srv.executor.mu.Unlock()
	return srv.executor.keepAlive
}

// coalesce is how far apart the rounds of a busy event loop are at most; 0: it never waits.
func (srv *Server) coalesce() time.Duration {
	return time.Duration(srv.executor.coalesceUS.Load()) * time.Microsecond
}

// Config returns a copy of the directives as they are now.
func (srv *Server) Config() *config.Config {
	srv.executor.mu.Lock()
	defer srv.executor.mu.Unlock()
	return srv.executor.config.Clone()
}
