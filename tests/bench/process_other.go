//go:build !linux

package main

import (
	"errors"
	"runtime"
	"time"
)

var errNeedsLinux = errors.New("measuring a process needs Linux")

func cpuTime(int) (time.Duration, error) { return 0, errNeedsLinux }

func residentBytes(int) (int64, error) { return 0, errNeedsLinux }

func cpuModel() string { return runtime.GOARCH }

func loadAverage() string { return "unknown" }
