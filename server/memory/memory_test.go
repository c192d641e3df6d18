package memory

import (
	"bufio"
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/commands"
	"lockserver/internal/resp"
	"lockserver/server/info"
	"lockserver/store"
)

// asker runs the commands of this package, without anything of a server.
type asker struct {
	t     *testing.T
	usage Usage
	table *commands.Table
	store *store.Store
	rand  *rand.Rand
}

func newAsker(t *testing.T) *asker {
	a := &asker{t: t, store: store.New(1, store.Limits{}), rand: rand.New(rand.NewPCG(1, 1))}
	a.table = commands.NewTable(append(commands.Families(), Rows(a.usageOf))...)
	return a
}

// do runs a command and returns what is answered, as text.
func (a *asker) do(call string) string {
	a.t.Helper()
	return a.ask(call).String()
}

// ask runs a command.
func (a *asker) ask(call string) resp.Value {
	a.t.Helper()
	argv, ok := resp.SplitWords(nil, []byte(call))
	require.True(a.t, ok)
	row, err := a.table.Resolve(argv)
	require.NoError(a.t, err)
	out := &resp.Writer{Proto: 3}
	if err := row.Run(&commands.Ctx{Argv: argv, Row: row, Table: a.table, Out: out, DB: a.store.DB(0), Rand: a.rand,
		Settings: &commands.Settings{MaxStringBytes: math.MaxInt64}}); err != nil {
		out.Error(err.Error())
	}
	v, err := resp.ReadValue(bufio.NewReader(bytes.NewReader(out.Buf)))
	require.NoError(a.t, err)
	return v
}

// usageOf returns the memory of the asker's store, and the figures that a test sets for the rest.
func (a *asker) usageOf(*commands.Ctx) *Usage {
	u := a.usage
	u.Purger = new(Purger)
	u.Data, u.Full = a.store.Used(), a.store.Full()
	keys, deadlines := a.store.DB(0).Keys().Overhead()
	u.Keyspaces = []Keyspace{{Keys: a.store.DB(0).Len(), Main: keys, Deadlines: deadlines}}
	return &u
}

// TestMemory: what keys take adds up to what is used, and the other subcommands answer.
func TestMemory(t *testing.T) {
	a := newAsker(t)
	a.do("SET s " + strings.Repeat("x", 1000) + " EX 1000")
	a.do("HSET h f v")
	a.do("RPUSH l a b")
	sum := int64(0)
	for _, key := range []string{"s", "h", "l"} {
		sum += a.ask("MEMORY USAGE " + key + " SAMPLES 0").Int
	}
	require.Equal(t, int64(a.store.Used()), sum)
	require.Greater(t, a.ask("MEMORY USAGE s").Int, int64(1000))
	require.Less(t, a.ask("MEMORY USAGE s").Int, int64(1300))
	require.Equal(t, "nil", a.do("MEMORY USAGE gone"))
	for _, words := range []string{"s SAMPLES", "s SAMPLES -1", "s BAD 1"} {
		require.Equal(t, "-ERR syntax error", a.do("MEMORY USAGE "+words), words)
	}
	require.Equal(t, "-ERR value is not an integer or out of range", a.do("MEMORY USAGE gone SAMPLES x"))
	require.Equal(t, "+OK", a.do("MEMORY PURGE"))
	require.Contains(t, a.do("MEMORY DOCTOR"), "Nothing stands out.")
	a.store.SetMemory(store.Memory{MaxBytes: 1, Policy: store.NoEviction}, a.rand)
	a.usage.MaxBytes = 1
	require.Contains(t, a.do("MEMORY DOCTOR"), "more than maxmemory allows (1)")
	require.Contains(t, a.do("MEMORY MALLOC-STATS"), "heap: ")
}

// TestStats: MEMORY STATS has Redis' fields in their order, and they add up.
func TestStats(t *testing.T) {
	a := newAsker(t)
	a.do("SET s " + strings.Repeat("x", 1000) + " EX 1000")
	a.do("HSET h f v")
	a.usage.Parts = Parts{Clients: 1, PubSub: 2, Tracking: 4, ScriptVM: 8, FunctionVM: 16, ScriptCache: 32, Libraries: 64}
	a.usage.Log, a.usage.Peak = 128, 10<<20
	v := a.ask("MEMORY STATS")
	facts := map[string]resp.Value{}
	var names []string
	for i := 0; i < len(v.Elems); i += 2 {
		names = append(names, v.Elems[i].Str)
		facts[v.Elems[i].Str] = v.Elems[i+1]
	}
	require.Equal(t, "peak.allocated total.allocated startup.allocated replication.backlog clients.slaves clients.normal cluster.links "+
		"aof.buffer lua.caches functions.caches db.0 overhead.db.hashtable.lut overhead.db.hashtable.rehashing overhead.total "+
		"db.dict.rehashing.count keys.count keys.bytes-per-key dataset.bytes dataset.percentage peak.percentage allocator.allocated "+
		"allocator.active allocator.resident allocator.muzzy allocator-fragmentation.ratio allocator-fragmentation.bytes "+
		"allocator-rss.ratio allocator-rss.bytes rss-overhead.ratio rss-overhead.bytes fragmentation fragmentation.bytes",
		strings.Join(names, " "))
	used := int64(a.store.Used() + Startup + 255)
	require.Equal(t, used, facts["total.allocated"].Int)
	require.Equal(t, used, facts["dataset.bytes"].Int+facts["overhead.total"].Int)
	require.Equal(t, int64(2), facts["keys.count"].Int)
	require.Equal(t, facts["dataset.bytes"].Int/2, facts["keys.bytes-per-key"].Int)
	require.Equal(t, int64(10<<20), facts["peak.allocated"].Int)
	require.Equal(t, []int64{1, 32, 64, 128}, []int64{facts["clients.normal"].Int, facts["lua.caches"].Int,
		facts["functions.caches"].Int, facts["aof.buffer"].Int})
	tables := facts["db.0"].Elems
	require.Equal(t, facts["overhead.total"].Int, int64(Startup+255)+tables[1].Int+tables[3].Int)
}

// TestInfo: the lines are Redis' in their order, and say what MEMORY STATS does.
func TestInfo(t *testing.T) {
	u := Usage{Parts: Parts{Clients: 1, ScriptVM: 1000, FunctionVM: 1048, ScriptCache: 5, Libraries: 6}, Data: 5000, Log: 7,
		MaxBytes: 3 << 20, Policy: "noeviction", LazyFreed: 9}
	lines := map[string]string{}
	var names []string
	var text info.Text
	u.WriteInfo(&text)
	for line := range strings.Lines(text.String()) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		names = append(names, name)
		lines[name] = value
	}
	require.Equal(t, "used_memory used_memory_human used_memory_rss used_memory_rss_human used_memory_peak used_memory_peak_human "+
		"used_memory_peak_perc used_memory_overhead used_memory_startup used_memory_dataset used_memory_dataset_perc "+
		"allocator_allocated allocator_active allocator_resident allocator_muzzy total_system_memory total_system_memory_human "+
		"used_memory_lua used_memory_vm_eval used_memory_lua_human used_memory_scripts_eval number_of_cached_scripts "+
		"number_of_functions number_of_libraries used_memory_vm_functions used_memory_vm_total used_memory_vm_total_human "+
		"used_memory_functions used_memory_scripts used_memory_scripts_human maxmemory maxmemory_human maxmemory_policy "+
		"allocator_frag_ratio allocator_frag_bytes allocator_rss_ratio allocator_rss_bytes rss_overhead_ratio rss_overhead_bytes "+
		"mem_fragmentation_ratio mem_fragmentation_bytes mem_not_counted_for_evict mem_replication_backlog "+
		"mem_total_replication_buffers mem_clients_slaves mem_clients_normal mem_cluster_links mem_aof_buffer mem_allocator "+
		"mem_overhead_db_hashtable_rehashing active_defrag_running lazyfree_pending_objects lazyfreed_objects", strings.Join(names, " "))
	for name, want := range map[string]string{
		"used_memory": fmt.Sprint(Startup + 7067), "used_memory_human": "518.90K", "used_memory_dataset": "5000",
		"used_memory_dataset_perc": "70.75%", "used_memory_peak_perc": "100.00%", "used_memory_vm_total_human": "2.00K",
		"used_memory_scripts_human": "11B", "maxmemory_human": "3.00M", "mem_not_counted_for_evict": "7", "lazyfreed_objects": "9",
	} {
		require.Equal(t, want, lines[name], name)
	}
}
