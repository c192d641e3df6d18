package testkit

import (
	"runtime"
	"runtime/metrics"
)

// Heap returns the size of all objects in use, in bytes, without garbage.
func Heap() int {
	runtime.GC()
	runtime.GC() // the second collection frees the objects that finalizers held in the first
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return int(sample[0].Value.Uint64())
}
