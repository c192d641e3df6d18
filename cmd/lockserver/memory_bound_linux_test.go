package main

import (
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

func TestControlGroupsBoundTheMemory(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	for name, c := range map[string]struct {
		files fstest.MapFS
		want  uint64
	}{
		"none":              {fstest.MapFS{}, 1000},
		"no bound":          {fstest.MapFS{"proc/self/cgroup": file("0::/a/b\n"), "sys/fs/cgroup/a/b/memory.max": file("max\n")}, 1000},
		"of the service":    {fstest.MapFS{"proc/self/cgroup": file("0::/a/b\n"), "sys/fs/cgroup/a/b/memory.max": file("300\n")}, 300},
		"of all services":   {fstest.MapFS{"proc/self/cgroup": file("0::/a/b\n"), "sys/fs/cgroup/a/memory.max": file("200\n"), "sys/fs/cgroup/a/b/memory.max": file("300\n")}, 200},
		"of the container":  {fstest.MapFS{"proc/self/cgroup": file("0::/\n"), "sys/fs/cgroup/memory.max": file("400\n")}, 400},
		"above the machine": {fstest.MapFS{"proc/self/cgroup": file("0::/\n"), "sys/fs/cgroup/memory.max": file("4000\n")}, 1000},
		"of version 1":      {fstest.MapFS{"proc/self/cgroup": file("9:memory:/docker/x\n0::/y\n"), "sys/fs/cgroup/memory/memory.limit_in_bytes": file("500\n")}, 500},
		"of another kind":   {fstest.MapFS{"proc/self/cgroup": file("9:cpu:/a\n"), "sys/fs/cgroup/a/memory.max": file("5\n")}, 1000},
	} {
		require.Equal(t, c.want, boundIn(c.files, 1000), name)
	}
}
