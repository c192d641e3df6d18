//go:build !linux

package background

import "time"

// Enter does nothing where threads have no priority of their own.
func Enter() {}

// Breathe gives the processor away for a moment.
func Breathe() { time.Sleep(100 * time.Microsecond) }
