package testkit

import (
	"runtime"
	"runtime/metrics"
)

// Heap returns how many bytes objects in use take, garbage not included.
func Heap() int {
	runtime.GC()
	runtime.GC() // what finalizers held in the first goes in the second
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return int(sample[0].Value.Uint64())
}
