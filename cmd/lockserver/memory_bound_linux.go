package main

import (
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"

	"lockserver/internal/rusage"
)

// boundBytes returns the memory that the process may use: the limit of its control groups, or the memory of
// the machine if that is less. It is 0 if the system does not report it.
func boundBytes() uint64 { return boundIn(os.DirFS("/"), rusage.MachineBytes()) }

// boundIn is boundBytes on a system with these files, and machine bytes of memory.
func boundIn(files fs.FS, machine uint64) uint64 {
	text, _ := fs.ReadFile(files, "proc/self/cgroup")
	bound := machine
	for line := range strings.Lines(string(text)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3) // its number, its controllers, its path
		if len(parts) < 3 {
			continue
		}
		root, name := "sys/fs/cgroup", "memory.max"
		switch {
		case parts[1] == "memory":
			root, name = "sys/fs/cgroup/memory", "memory.limit_in_bytes"
		case parts[1] != "":
			continue
		}
		// In a container the path is that of the host, and the group is mounted at the root.
		for dir := path.Join("/", parts[2]); ; dir = path.Dir(dir) {
			limit, _ := fs.ReadFile(files, path.Join(root, dir, name))
			if n, err := strconv.ParseUint(strings.TrimSpace(string(limit)), 10, 64); err == nil { // "max" is none
				bound = min(bound, n)
			}
			if dir == "/" {
				break
			}
		}
	}
	return bound
}
