package memory

import (
	"fmt"
	"runtime/debug"
	"sync/atomic"

	"lockserver/commands"
)

func memoryRow(on func(h handler) func(c *commands.Ctx) error) commands.Row {
	row := func(name string, run func(*commands.Ctx) error, summary string, args ...commands.Arg) commands.Row {
		return commands.Row{Name: name, Group: commands.Server, Since: "4.0.0", Run: run, Summary: summary, Complexity: "O(1)", Args: args}
	}
	usage := row("usage", memoryUsage, "Says about how many bytes a key takes.",
		commands.Key("key", commands.RO), commands.Opt(commands.Int("count").After("SAMPLES")))
	usage.Flags = commands.ReadOnly
	stats := row("stats", on(memoryStats), "Tells what memory is used for.")
	doctor := row("doctor", on(memoryDoctor), "Says what stands out about memory.")
	malloc := row("malloc-stats", mallocStats, "Tells about Go's heap.")
	for _, r := range []*commands.Row{&stats, &doctor, &malloc} {
		r.Tips = []string{"nondeterministic_output", "request_policy:all_shards", "response_policy:special"}
	}
	purge := row("purge", on(memoryPurge), "Collects garbage and gives free memory back to the system.")
	purge.Tips = []string{"request_policy:all_shards", "response_policy:all_succeeded"}
	return commands.Row{Name: "memory", Group: commands.Server, Since: "4.0.0",
		Summary: "Commands about memory.", Complexity: "Depends on the subcommand.",
		Sub: []commands.Row{usage, stats, doctor, malloc, purge}}
}

// memoryUsage looks at no element, for any SAMPLES: every value knows its size.
func memoryUsage(c *commands.Ctx) error {
	a := c.Args()
	key := a.Key()
	for a.More() {
		if a.Option(); a.Left() == 0 || a.Int() < 0 {
			a.Syntax()
		}
	}
	if err := a.Err(); err != nil {
		return err
	}
	if r := c.DB.LookQuietly(key); r.OK() {
		c.Out.Int(int64(r.Weight(key)))
	} else {
		c.Out.Null()
	}
	return nil
}

func memoryStats(u *Usage, c *commands.Ctx) error {
	f := newFigures(u)
	num := func(name string, n int) {
		c.Out.BulkString(name)
		c.Out.Int(int64(n))
	}
	c.Out.Map(31 + len(u.Keyspaces))
	num("peak.allocated", u.peak())
	num("total.allocated", u.Used())
	num("startup.allocated", Startup)
	num("replication.backlog", 0)
	num("clients.slaves", 0)
	num("clients.normal", u.Clients)
	num("cluster.links", 0)
	num("aof.buffer", u.Log)
	num("lua.caches", u.ScriptCache)
	num("functions.caches", u.Libraries)
	for _, k := range u.Keyspaces {
		c.Out.BulkString(fmt.Sprintf("db.%d", k.DB))
		c.Out.Map(2)
		num("overhead.hashtable.main", k.Main)
		num("overhead.hashtable.expires", k.Deadlines)
	}
	num("overhead.db.hashtable.lut", 0)
	num("overhead.db.hashtable.rehashing", 0)
	num("overhead.total", u.Overhead())
	num("db.dict.rehashing.count", 0)
	num("keys.count", u.keys())
	num("keys.bytes-per-key", u.dataset()/max(1, u.keys()))
	num("dataset.bytes", u.dataset())
	c.Out.BulkString("dataset.percentage")
	c.Out.Double(u.datasetPercent())
	c.Out.BulkString("peak.percentage")
	c.Out.Double(u.peakPercent())
	num("allocator.allocated", int(f.heap.Allocated))
	num("allocator.active", int(f.heap.Active()))
	num("allocator.resident", int(f.heap.Resident()))
	num("allocator.muzzy", 0)
	for i, r := range f.ratios() {
		c.Out.BulkString(ratioNames[i].ratio)
		c.Out.Double(r.by)
		num(ratioNames[i].bytes, int(r.bytes))
	}
	return nil
}

// ratioNames holds the names of the ratios in MEMORY STATS.
var ratioNames = [...]struct{ ratio, bytes string }{
	{"allocator-fragmentation.ratio", "allocator-fragmentation.bytes"},
	{"allocator-rss.ratio", "allocator-rss.bytes"},
	{"rss-overhead.ratio", "rss-overhead.bytes"},
	{"fragmentation", "fragmentation.bytes"},
}

// notableGarbage is the difference between the heap and the used memory from which on MEMORY DOCTOR mentions
// it.
const notableGarbage = 256 << 20

func memoryDoctor(u *Usage, c *commands.Ctx) error {
	heap, used := int64(ReadHeap().Allocated), int64(u.Used())
	text := "Nothing stands out.\n"
	switch {
	case u.Full:
		text = fmt.Sprintf("%d bytes are used, more than maxmemory allows (%d); clients take %d of them.\n", used, u.MaxBytes, u.Clients)
	case heap-used > used+notableGarbage:
		text = fmt.Sprintf("The heap holds %d bytes; %d of them are counted as used: the rest is garbage, or what a snapshot keeps.\n", heap, used)
	}
	c.Out.Verbatim("txt", text)
	return nil
}

func mallocStats(c *commands.Ctx) error {
	h := ReadHeap()
	c.Out.Verbatim("txt", fmt.Sprintf("heap: %d bytes in %d objects, %d in use, %d from the system, %d given back\ngarbage collections: %d\n",
		h.Allocated, h.Objects, h.Active(), h.Resident()+h.Released, h.Released, h.Collections))
	return nil
}

// Purger returns memory to the system. The zero value is ready for use.
type Purger struct{ running atomic.Bool }

// memoryPurge begins to return memory, which may take a second. It does not wait, because it holds the
// executor.
func memoryPurge(u *Usage, c *commands.Ctx) error {
	if running := &u.Purger.running; running.CompareAndSwap(false, true) {
		go func() {
			defer running.Store(false)
			debug.FreeOSMemory()
		}()
	}
	c.Out.OK()
	return nil
}
