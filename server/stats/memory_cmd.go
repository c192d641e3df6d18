package stats

import (
	"fmt"
	"runtime/debug"

	"lockserver/commands"
)

func memoryRow(on binding) commands.Row {
	row := func(name string, run func(*commands.Ctx) error, summary string, args ...commands.Arg) commands.Row {
		return commands.Row{Name: name, Group: commands.Server, Since: "4.0.0", Run: run, Summary: summary, Complexity: "O(1)", Args: args}
	}
	usage := row("usage", memoryUsage, "Says about how many bytes a key takes.",
		commands.Key("key", commands.RO), commands.Opt(commands.Int("count").After("SAMPLES")))
	usage.Flags = commands.ReadOnly
	stats := row("stats", memoryStats, "Tells what memory is used for.")
	stats.Tips = []string{"nondeterministic_output"}
	return commands.Row{Name: "memory", Group: commands.Server, Since: "4.0.0",
		Summary: "Commands about memory.", Complexity: "Depends on the subcommand.",
		Sub: []commands.Row{usage, stats,
			row("doctor", memoryDoctor, "Says what stands out about memory."),
			row("malloc-stats", mallocStats, "Tells about Go's heap."),
			row("purge", on(memoryPurge), "Collects garbage and gives free memory back to the system."),
		}}
}

// memoryUsage looks at no element, whatever SAMPLES says: every value knows its size.
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

func memoryStats(c *commands.Ctx) error {
	st := c.DB.Store()
	h := ReadHeap()
	keys := 0
	for id := range st.Len() {
		keys += st.DB(id).Len()
	}
	data := st.Used() - st.Overhead()
	facts := []struct {
		name  string
		value int64
	}{
		{"total.allocated", int64(h.Allocated)},
		{"overhead.total", int64(st.Overhead())},
		{"keys.count", int64(keys)},
		{"keys.bytes-per-key", int64(st.Used() / max(1, keys))},
		{"dataset.bytes", int64(data)},
		{"allocator.allocated", int64(h.Allocated)},
		{"allocator.active", int64(h.Active())},
		{"allocator.resident", int64(h.Resident())},
	}
	c.Out.Map(len(facts) + 1)
	for _, f := range facts {
		c.Out.BulkString(f.name)
		c.Out.Int(f.value)
	}
	c.Out.BulkString("dataset.percentage")
	c.Out.Double(100 * float64(data) / float64(max(1, st.Used())))
	return nil
}

// notableGarbage is how much larger than the data the heap may be before it is worth a word.
const notableGarbage = 256 << 20

func memoryDoctor(c *commands.Ctx) error {
	st := c.DB.Store()
	h := ReadHeap()
	text := "Nothing stands out.\n"
	switch {
	case st.Full():
		text = fmt.Sprintf("The data takes %d bytes, more than maxmemory allows (%d).\n", st.Used(), st.Memory().MaxBytes)
	case int64(h.Allocated)-int64(st.Used()) > int64(st.Used())+notableGarbage:
		text = fmt.Sprintf("The heap holds %d bytes and the data takes %d: the rest is garbage, buffers of clients or a snapshot.\n",
			h.Allocated, st.Used())
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

// memoryPurge begins to give memory back, which may take a second, and does not wait for it: it has the
// executor.
func memoryPurge(b *Book, c *commands.Ctx) error {
	if b.purging.CompareAndSwap(false, true) {
		go func() {
			defer b.purging.Store(false)
			debug.FreeOSMemory()
		}()
	}
	c.Out.OK()
	return nil
}
