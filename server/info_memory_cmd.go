package server

import (
	"fmt"

	"lockserver/internal/rusage"
	"lockserver/server/stats"
)

func infoMemory(ex *executor, w *infoWriter) {
	used := uint64(ex.store.Used())
	heap := stats.ReadHeap().Allocated
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
	counts := ex.scripts.Counts()
	w.line("number_of_cached_scripts", counts.Scripts)
	w.line("number_of_functions", counts.Functions)
	w.line("number_of_libraries", counts.Libraries)
	w.line("mem_allocator", "go")
	w.line("go_heap", heap)
	w.line("go_heap_human", human(heap))
}

// human writes bytes with one unit, as Redis does: "1.50M".
func human(n uint64) string {
	f := float64(n)
	switch {
	case n < 1<<10:
		return fmt.Sprintf("%dB", n)
	case n < 1<<20:
		return fmt.Sprintf("%.2fK", f/(1<<10))
	case n < 1<<30:
		return fmt.Sprintf("%.2fM", f/(1<<20))
	default:
		return fmt.Sprintf("%.2fG", f/(1<<30))
	}
}
