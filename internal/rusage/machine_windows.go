package rusage

import (
	"unsafe"

	"golang.org/x/sys/windows"
)

// memoryStatus is MEMORYSTATUSEX of the Windows API.
type memoryStatus struct {
	length, load                                                                 uint32
	total, free, pageTotal, pageFree, virtualTotal, virtualFree, virtualExtended uint64
}

// MachineBytes returns the memory of the machine; 0 if the system does not report it.
func MachineBytes() uint64 {
	ask := windows.NewLazySystemDLL("kernel32.dll").NewProc("GlobalMemoryStatusEx")
	m := memoryStatus{length: uint32(unsafe.Sizeof(memoryStatus{}))}
	if ok, _, _ := ask.Call(uintptr(unsafe.Pointer(&m))); ok == 0 {
		return 0
	}
	return m.total
}
