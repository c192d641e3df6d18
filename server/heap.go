package server

import "runtime/metrics"

// heap is what Go's runtime says of its heap. It is read with runtime/metrics: runtime.ReadMemStats stops the
// world, and whoever asks holds the executor.
type heap struct {
	allocated   uint64 // bytes: of objects, those included that are garbage and not yet collected
	unused      uint64 // bytes: between objects
	free        uint64 // bytes: kept for later
	released    uint64 // bytes: given back to the system
	objects     uint64
	collections uint64
}

// active is what is set aside for objects, and resident what the heap takes of the machine's memory.
func (h *heap) active() uint64   { return h.allocated + h.unused }
func (h *heap) resident() uint64 { return h.allocated + h.unused + h.free }

func readHeap() *heap {
	var h heap
	figures := [...]struct {
		name string
		at   *uint64
	}{
		{"/memory/classes/heap/objects:bytes", &h.allocated},
		{"/memory/classes/heap/unused:bytes", &h.unused},
		{"/memory/classes/heap/free:bytes", &h.free},
		{"/memory/classes/heap/released:bytes", &h.released},
		{"/gc/heap/objects:objects", &h.objects},
		{"/gc/cycles/total:gc-cycles", &h.collections},
	}
	var samples [len(figures)]metrics.Sample
	for i, f := range figures {
		samples[i].Name = f.name
	}
	metrics.Read(samples[:])
	for i, f := range figures {
		if samples[i].Value.Kind() == metrics.KindUint64 {
			*f.at = samples[i].Value.Uint64()
		}
	}
	return &h
}
