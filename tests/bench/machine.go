package main

import (
	"context"
	"fmt"
	"os/exec"
	"runtime"
	"strings"
	"time"
)

// machine says where and with what the figures were made.
func (b *bench) machine(ctx context.Context, args []string) string {
	lines := []string{
		fmt.Sprintf("- Machine: %d cores, %s, %s/%s, load average %s at the start", runtime.NumCPU(), cpuModel(), runtime.GOOS,
			runtime.GOARCH, loadAverage()),
		fmt.Sprintf("- Redis: %s; %s", versionOf(ctx, b.tools.server), versionOf(ctx, b.tools.benchmark)),
		fmt.Sprintf("- lockserver: %s", versionOf(ctx, b.pair[1].path)),
		fmt.Sprintf("- Command line: `%s`, %s", strings.Join(append([]string{"go run ./tests/bench"}, args...), " "),
			time.Now().UTC().Format("2006-01-02 15:04 UTC")),
	}
	if b.quick {
		lines = append(lines, "- **Quick: one round of little work. It shows that everything runs; the figures mean little.**")
	}
	return strings.Join(lines, "\n") + "\n"
}

// versionOf is the first line that a program prints for --version.
func versionOf(ctx context.Context, path string) string {
	out, err := exec.CommandContext(ctx, path, "--version").Output()
	line, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	if err != nil || line == "" {
		return "unknown version of " + path
	}
	return line
}
