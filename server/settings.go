package server

import (
	"fmt"

	"lockserver/commands"
	"lockserver/internal/config"
	"lockserver/internal/rusage"
	"lockserver/server/stats"
	"lockserver/store"
	"lockserver/store/hash"
	"lockserver/store/hll"
	"lockserver/store/list"
	"lockserver/store/set"
	"lockserver/store/stream"
	"lockserver/store/zset"
)

// The directives in the form in which they are used.

// applyConfig turns the directives into the forms in which they are used: at the start, and after CONFIG
// SET. After the start it runs under the executor.
func (ex *executor) applyConfig() {
	c := ex.config
	ex.limits.configure(c)
	ex.settings = commands.Settings{
		MaxStringBytes: c.ProtoMaxBulkLen,
		LockWatchdogMS: c.LockWatchdogTimeoutMS,
		Events:         c.NotifyKeyspaceEvents.Effective(),
	}
	ex.followEvents()
	ex.users.Configure(c.ACLPubSubDefault == "allchannels", c.ACLLogMaxLen)
	ex.tracking.Bound(c.TrackingTableMaxKeys)
	ex.scripts.SetTimeLimit(c.BusyReplyThresholdMS)
	ex.boundMemory()
	ex.replication.Reconfigured()
	ex.acks.open()
	ex.guarded = ex.follows && c.Replication.ReadOnly || c.Replication.MinToWrite > 0
	ex.mayBeStale, ex.acks.needed = ex.follows && !c.Replication.ServeStale, !ex.follows && c.Replication.MinAck > 0
	if ex.member != nil {
		ex.guarded, ex.mayBeStale, ex.acks.needed = false, ex.follows, !ex.follows
	}
	ex.store.SetOwnDeadlines(ex.follows && ex.member == nil)
	ex.gauge.Configure(c.SlowlogSlowerThanUS, c.LatencyMonitorThresholdMS)
	ex.stats.Tracking, ex.stats.Percentiles = c.LatencyTracking, nil
	for _, p := range c.LatencyPercentiles {
		ex.stats.Percentiles = append(ex.stats.Percentiles, stats.Percentile{Of: p, Text: config.PercentileText(p)})
	}
	ex.gauge.ConfigureLogs(c.CommandlogRequestLargerThan, c.CommandlogReplyLargerThan, c.CommandlogLockWaitLongerThanUS)
	ex.stats.Requests.Most, ex.stats.Replies.Most = c.CommandlogLargeRequestMaxLen, c.CommandlogLargeReplyMaxLen
	ex.stats.Waits.Most = c.CommandlogLockWaitMaxLen
	ex.stats.Slow.Most, ex.stats.Events.ThresholdMS = c.SlowlogMaxLen, c.LatencyMonitorThresholdMS
	ex.store.SetLimits(store.Limits{
		Hash: hash.Limits{Entries: int(c.HashMaxListpackEntries), Value: int(c.HashMaxListpackValue)},
		Set: set.Limits{IntsetEntries: int(c.SetMaxIntsetEntries), Entries: int(c.SetMaxListpackEntries),
			Value: int(c.SetMaxListpackValue)},
		ZSet:      zset.Limits{Entries: int(c.ZSetMaxListpackEntries), Value: int(c.ZSetMaxListpackValue)},
		List:      list.Limits{Fill: c.ListMaxListpackSize},
		HLL:       hll.Limits{SparseBytes: int(c.HLLSparseMaxBytes)},
		Stream:    stream.Limits{NodeMaxBytes: int(c.StreamNodeMaxBytes), NodeMaxEntries: int(c.StreamNodeMaxEntries)},
		Producers: stream.ProducerLimits{DurationS: c.StreamIdmpDuration, MaxSize: c.StreamIdmpMaxSize},
	})
	if ex.opts.LogLevel != nil {
		ex.opts.LogLevel.Set(c.LogLevel.SlogLevel())
	}
	ex.story.configure(ex)
}

// boundMemory tells the store what the directives say of memory.
func (ex *executor) boundMemory() {
	c := ex.config
	ex.store.SetMemory(store.Memory{MaxBytes: ex.memoryBound(), Policy: policies[c.MaxMemoryPolicy], Samples: c.MaxMemorySamples,
		LogFactor: c.LFULogFactor, DecayMinutes: c.LFUDecayMinutes}, ex.rand)
	ex.store.SetLazy(store.Lazy{Eviction: c.LazyEviction, Expire: c.LazyExpire, ServerDel: c.LazyServerDel, UserDel: c.LazyUserDel,
		UserFlush: c.LazyUserFlush})
	ex.memory.evicting = ex.mustEvict()
	ex.memory.clientLimit = clientLimitOf(c)
	ex.memory.mostEvictions = evictionKeys(c.EvictionTenacity)
}

// mustEvict reports whether memory is full, and keys go then.
func (ex *executor) mustEvict() bool {
	return ex.store.Full() && policies[ex.config.MaxMemoryPolicy] != store.NoEviction
}

// memoryBound is maxmemory. A replica has no bound unless it is configured to have one: its master decides
// which keys are evicted.
func (ex *executor) memoryBound() int {
	if ex.follows && (ex.config.Replication.IgnoreMaxMemory || ex.member != nil) {
		return 0
	}
	return int(ex.config.MaxMemory)
}

// policies are the words of maxmemory-policy.
var policies = map[string]store.Policy{
	"noeviction":  store.NoEviction,
	"allkeys-lru": store.AllKeysLRU, "allkeys-lfu": store.AllKeysLFU, "allkeys-random": store.AllKeysRandom,
	"volatile-lru": store.VolatileLRU, "volatile-lfu": store.VolatileLFU, "volatile-random": store.VolatileRandom,
	"volatile-ttl": store.VolatileTTL,
}

// reservedDescriptors is how many descriptors are kept for what is not a client, as in Redis:
// files, listeners, the runtime's.
const reservedDescriptors = 32

// FitMaxClients makes the process able to have so many clients (maxclients), and two descriptors for each
// further event loop (of io-threads): it raises the limit of open files. Where it may not, fits is how many
// clients there can be instead, and warning says so; it is empty if all is well. err says that the limit
// leaves nothing for clients. It is for programs that own their process.
func FitMaxClients(maxClients, loops int) (fits int, warning string, err error) {
	return fitMaxClients(maxClients, loops, rusage.OpenFiles)
}

func fitMaxClients(maxClients, loops int, openFiles func(need uint64) (uint64, bool, error)) (fits int, warning string, err error) {
	reserved := uint64(reservedDescriptors + 2*max(0, loops-1))
	need := uint64(maxClients) + reserved
	limit, ok, cause := openFiles(need)
	switch {
	case !ok || limit >= need:
		return maxClients, "", nil
	case limit <= reserved:
		return 0, "", fmt.Errorf("the limit of open files (ulimit -n) is %d, which leaves none for clients: %d are reserved, "+
			"and maxclients %d needs %d", limit, reserved, maxClients, need)
	}
	warning = fmt.Sprintf("maxclients is %d instead of %d: that many would need %d open files, and the limit (ulimit -n) is %d, "+
		"which the system does not raise: %v", limit-reserved, maxClients, need, limit, cause)
	return int(limit - reserved), warning, nil
}
