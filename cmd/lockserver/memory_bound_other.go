//go:build !linux

package main

import "lockserver/internal/rusage"

// boundBytes returns the memory that the machine has; 0 where the system does not tell.
func boundBytes() uint64 { return rusage.MachineBytes() }
