package server

import (
	"lockserver/internal/rusage"
	"lockserver/server/info"
	"lockserver/server/stats"
)

func (ex *executor) infoMemory(t *info.Text) {
	used := uint64(ex.store.Used())
	heap := stats.ReadHeap().Allocated
	t.Line("used_memory", used)
	t.Line("used_memory_human", info.Human(used))
	t.Line("used_memory_rss", rusage.ResidentBytes())
	t.Line("used_memory_rss_human", info.Human(rusage.ResidentBytes()))
	t.Line("used_memory_overhead", ex.store.Overhead())
	t.Line("used_memory_dataset", ex.store.Used()-ex.store.Overhead())
	t.Line("total_system_memory", rusage.MachineBytes())
	t.Line("total_system_memory_human", info.Human(rusage.MachineBytes()))
	t.Line("maxmemory", ex.config.MaxMemory)
	t.Line("maxmemory_human", info.Human(uint64(ex.config.MaxMemory)))
	t.Line("maxmemory_policy", ex.config.MaxMemoryPolicy)
	t.Line("mem_not_counted_for_evict", heap-min(heap, used))
	counts := ex.scripts.Counts()
	t.Line("number_of_cached_scripts", counts.Scripts)
	t.Line("number_of_functions", counts.Functions)
	t.Line("number_of_libraries", counts.Libraries)
	t.Line("mem_allocator", "go")
	t.Line("go_heap", heap)
	t.Line("go_heap_human", info.Human(heap))
}
