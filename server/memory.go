package server

import (
	"lockserver/internal/rusage"
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

func infoMemory(ex *executor, w *infoWriter) {
	used := uint64(ex.store.Used())
	heap := readHeap().allocated
	w.line("used_memory", used)
	w.line("used_memory_human", human(used))
	w.line("used_memory_rss", rusage.ResidentBytes())
	w.line("used_memory_rss_human", human(rusage.ResidentBytes()))
	w.line("used_memory_overhead", ex.store.Overhead())
	w.line("used_memory_dataset", ex.store.Used()-ex.store.Overhead())
	w.line("total_system_memory", rusage.MachineBytes())
	w.line("total_system_memory_human", human(rusage.MachineBytes()))
	w.line("maxmemory", ex.config.MaxMemory)
	w.line("maxmemory_human", human(uint64(ex.config.MaxMemory)))
	w.line("maxmemory_policy", ex.config.MaxMemoryPolicy)
	w.line("mem_not_counted_for_evict", heap-min(heap, used))
	w.line("number_of_cached_scripts", len(ex.scripts.cache.bySHA))
	w.line("number_of_functions", len(ex.scripts.libraries.functions))
	w.line("number_of_libraries", len(ex.scripts.libraries.byName))
	w.line("mem_allocator", "go")
	w.line("go_heap", heap)
	w.line("go_heap_human", human(heap))
}
