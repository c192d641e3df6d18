//go:build !linux

package server

import "time"

// becomeBackground does nothing where threads have no priority of their own.
func becomeBackground() {}

// breathe gives the processor away for a moment.
func breathe() { time.Sleep(100 * time.Microsecond) }
