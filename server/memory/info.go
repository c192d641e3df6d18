package memory

import (
	"fmt"

	"lockserver/internal/rusage"
	"lockserver/server/info"
)

// WriteInfo writes INFO's section memory, in Redis' order.
func (u *Usage) WriteInfo(t *info.Text) {
	f := newFigures(u)
	both := func(name string, bytes uint64) {
		t.Line(name, bytes)
		t.Line(name+"_human", info.Human(bytes))
	}
	both("used_memory", f.used)
	both("used_memory_rss", f.resident)
	both("used_memory_peak", uint64(u.peak()))
	t.Line("used_memory_peak_perc", fmt.Sprintf("%.2f%%", u.peakPercent()))
	t.Line("used_memory_overhead", u.Overhead())
	t.Line("used_memory_startup", Startup)
	t.Line("used_memory_dataset", u.dataset())
	t.Line("used_memory_dataset_perc", fmt.Sprintf("%.2f%%", u.datasetPercent()))
	t.Line("allocator_allocated", f.heap.Allocated)
	t.Line("allocator_active", f.heap.Active())
	t.Line("allocator_resident", f.heap.Resident())
	t.Line("allocator_muzzy", 0)
	both("total_system_memory", rusage.MachineBytes())
	u.infoScripts(t)
	both("maxmemory", uint64(u.MaxBytes))
	t.Line("maxmemory_policy", u.Policy)
	f.info(t)
	t.Line("mem_not_counted_for_evict", u.Log+u.History)
	t.Line("mem_replication_backlog", u.History)
	t.Line("mem_total_replication_buffers", u.History)
	t.Zeros("mem_clients_slaves") // replicas share the history, and have nothing of their own
	t.Line("mem_clients_normal", u.Clients)
	t.Line("mem_cluster_links", 0)
	t.Line("mem_aof_buffer", u.Log)
	t.Line("mem_allocator", "go")
	t.Zeros("mem_overhead_db_hashtable_rehashing", "active_defrag_running")
	t.Zeros("lazyfree_pending_objects")
	t.Line("lazyfreed_objects", u.LazyFreed)
}

// infoScripts writes the lines about scripts and functions.
func (u *Usage) infoScripts(t *info.Text) {
	t.Line("used_memory_lua", u.ScriptVM)
	t.Line("used_memory_vm_eval", u.ScriptVM)
	t.Line("used_memory_lua_human", info.Human(uint64(u.ScriptVM)))
	t.Line("used_memory_scripts_eval", u.ScriptCache)
	t.Line("number_of_cached_scripts", u.Scripts)
	t.Line("number_of_functions", u.Functions)
	t.Line("number_of_libraries", u.FunctionLibraries)
	t.Line("used_memory_vm_functions", u.FunctionVM)
	t.Line("used_memory_vm_total", u.machines())
	t.Line("used_memory_vm_total_human", info.Human(uint64(u.machines())))
	t.Line("used_memory_functions", u.Libraries)
	t.Line("used_memory_scripts", u.code())
	t.Line("used_memory_scripts_human", info.Human(uint64(u.code())))
}

// figures holds the figures of the system and the runtime, in addition to the counts.
type figures struct {
	used, resident uint64
	heap           *Heap
}

func newFigures(u *Usage) figures {
	return figures{uint64(u.Used()), rusage.ResidentBytes(), ReadHeap()}
}

// ratio is the quotient and the difference of two sizes.
type ratio struct {
	name  string
	by    float64
	bytes int64
}

func ratioOf(name string, a, b uint64) ratio {
	return ratio{name, float64(a) / float64(max(1, b)), int64(a) - int64(b)}
}

// ratios compares the size in use on one level with the size on the next: objects, pages of the heap, the
// heap, the process. The last ratio is between the first level and the last.
func (f *figures) ratios() [4]ratio {
	return [...]ratio{
		ratioOf("allocator_frag", f.heap.Active(), f.heap.Allocated),
		ratioOf("allocator_rss", f.heap.Resident(), f.heap.Active()),
		ratioOf("rss_overhead", f.resident, f.heap.Resident()),
		ratioOf("mem_fragmentation", f.resident, f.used),
	}
}

func (f *figures) info(t *info.Text) {
	for _, r := range f.ratios() {
		t.Line(r.name+"_ratio", r.by)
		t.Line(r.name+"_bytes", r.bytes)
	}
}
