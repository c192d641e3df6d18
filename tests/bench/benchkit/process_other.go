//go:build !linux

package benchkit

import (
	"errors"
	"runtime"
	"time"
)

var errNeedsLinux = errors.New("measuring a process needs Linux")

// CPUTime fails here.
func CPUTime(int) (time.Duration, error) { return 0, errNeedsLinux }

// ResidentBytes fails here.
func ResidentBytes(int) (int64, error) { return 0, errNeedsLinux }

// PeakBytes fails here.
func PeakBytes(int) (int64, error) { return 0, errNeedsLinux }

// CPUModel returns the name of the architecture.
func CPUModel() string { return runtime.GOARCH }

// LoadAverage is unknown here.
func LoadAverage() string { return "unknown" }
