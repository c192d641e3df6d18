package testkit

import (
	"os"
	"runtime"
	"strconv"
	"strings"
)

// Busy returns how many times as long as on a quiet machine something may take, from 1 to 6. It is half of
// the load average of the last minute for each processor. Systems other than Linux do not have that, so it is
// 1 there. Tests lengthen timeouts of the server with it, such as a group's election timeout. Waits of tests
// do not need it: they wait for a condition.
func Busy() float64 {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 1
	}
	return busy(string(text), runtime.NumCPU())
}

func busy(loadavg string, processors int) float64 {
	minute, _, _ := strings.Cut(loadavg, " ")
	load, err := strconv.ParseFloat(minute, 64)
	if err != nil {
		return 1
	}
	return min(6, max(1, load/float64(processors)/2))
}
