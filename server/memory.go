package server

import (
	"lockserver/store"
)

// evictionBudget is how many keys one slice evicts: about half a millisecond, for a key goes in some
// microseconds whatever it holds, most of them for looking at the keys among which it is chosen.
const evictionBudget = 128

// policies are the words of maxmemory-policy.
var policies = map[string]store.Policy{
	"noeviction":  store.NoEviction,
	"allkeys-lru": store.AllKeysLRU, "allkeys-lfu": store.AllKeysLFU, "allkeys-random": store.AllKeysRandom,
	"volatile-lru": store.VolatileLRU, "volatile-lfu": store.VolatileLFU, "volatile-random": store.VolatileRandom,
	"volatile-ttl": store.VolatileTTL,
}

// boundMemory tells the store what the directives say of memory.
func (ex *executor) boundMemory() {
	c := ex.config
	ex.store.SetMemory(store.Memory{MaxBytes: int(c.MaxMemory), Policy: policies[c.MaxMemoryPolicy], Samples: c.MaxMemorySamples,
		LogFactor: c.LFULogFactor, DecayMinutes: c.LFUDecayMinutes}, ex.rand)
	ex.evicting = ex.store.Full() && policies[c.MaxMemoryPolicy] != store.NoEviction
}

// evict makes room for one slice's time, as a unit of its own: whoever waits for a key that went is served.
// It reports whether memory is within its bound or soon will be; the ticker goes on with what a slice leaves.
func (ex *executor) evict() bool {
	defer ex.damaging()
	removed := ex.store.Evict(evictionBudget)
	ex.evicting = removed > 0 && ex.store.Full()
	if removed > 0 {
		ex.endUnit()
	}
	return removed > 0 || !ex.store.Full()
}
