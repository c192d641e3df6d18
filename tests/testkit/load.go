package testkit

import (
	"os"
	"runtime"
	"strconv"
	"strings"
)

// Busy returns a factor from 1 to 6: how much longer an action may take than on a quiet machine. It is half
// of the load average of the last minute for each processor. Only Linux reports that; elsewhere it is
//  1. Tests lengthen timeouts of the server with it, such as a group's election timeout. Waits of tests do
//     not need it: they wait for a condition.
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
