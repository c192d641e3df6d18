package memory

import "runtime/metrics"

// Heap holds the sizes of Go's heap. It is read with runtime/metrics, because runtime.ReadMemStats stops the
// world, and the caller holds the executor.
type Heap struct {
	Allocated   uint64 // bytes of objects, including garbage that is not collected yet
	Unused      uint64 // bytes between objects
	Free        uint64 // bytes kept for later
	Released    uint64 // bytes returned to the system
	Objects     uint64
	Collections uint64
}

// Active returns the memory reserved for objects, in bytes.
func (h *Heap) Active() uint64 { return h.Allocated + h.Unused }

// Resident returns the heap's part of the machine's memory, in bytes.
func (h *Heap) Resident() uint64 { return h.Allocated + h.Unused + h.Free }

// ReadHeap reads the sizes from the runtime.
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
