package memory

import "runtime/metrics"

// Heap is what Go's runtime says of its heap. It is read with runtime/metrics: runtime.ReadMemStats stops the
// world, and the caller holds the executor.
type Heap struct {
	Allocated   uint64 // bytes: of objects, those included that are garbage and not yet collected
	Unused      uint64 // bytes: between objects
	Free        uint64 // bytes: kept for later
	Released    uint64 // bytes: given back to the system
	Objects     uint64
	Collections uint64
}

// Active is what is set aside for objects, in bytes.
func (h *Heap) Active() uint64 { return h.Allocated + h.Unused }

// Resident is what the heap takes of the machine's memory, in bytes.
func (h *Heap) Resident() uint64 { return h.Allocated + h.Unused + h.Free }

// ReadHeap asks the runtime.
func ReadHeap() *Heap {
	var h Heap
	figures := [...]struct {
		name string
		at   *uint64
	}{
		{"/memory/classes/heap/objects:bytes", &h.Allocated},
		{"/memory/classes/heap/unused:bytes", &h.Unused},
		{"/memory/classes/heap/free:bytes", &h.Free},
		{"/memory/classes/heap/released:bytes", &h.Released},
		{"/gc/heap/objects:objects", &h.Objects},
		{"/gc/cycles/total:gc-cycles", &h.Collections},
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
