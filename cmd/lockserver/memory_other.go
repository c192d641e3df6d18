//go:build !unix

package main

import "time"

// processorTime is not known here, so that nothing is collected before it is due.
func processorTime() (time.Duration, bool) { return 0, false }
