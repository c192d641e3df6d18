//go:build profile

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime/pprof"
)

// profiled runs the program, and writes a processor profile into a file of the directory in the environment
// variable LOCKSERVER_PROFILES. `make profile` builds the program so.
func profiled(run func() int) int {
	file, err := os.Create(filepath.Join(os.Getenv("LOCKSERVER_PROFILES"), fmt.Sprintf("%d.cpu", os.Getpid())))
	if err == nil {
		defer file.Close()
		err = pprof.StartCPUProfile(file)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "lockserver: no profile:", err)
		return 1
	}
	defer pprof.StopCPUProfile()
	return run()
}
