package benchkit

import (
	"context"
	"fmt"
	"os/exec"
	"runtime"
	"strings"
	"time"
)

// Machine returns the item of a list that describes this machine.
func Machine() string {
	return fmt.Sprintf("- Machine: %d cores, %s, %s/%s, load average %s at the start", runtime.NumCPU(), CPUModel(), runtime.GOOS,
		runtime.GOARCH, LoadAverage())
}

// CommandLine returns the item of a list with the command line and the time.
func CommandLine(program string, args []string) string {
	return fmt.Sprintf("- Command line: `%s`, %s", strings.Join(append([]string{program}, args...), " "),
		time.Now().UTC().Format("2006-01-02 15:04 UTC"))
}

// VersionOf returns the first line of a program's output for --version.
func VersionOf(ctx context.Context, path string) string {
	out, err := exec.CommandContext(ctx, path, "--version").Output()
	line, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	if err != nil || line == "" {
		return "unknown version of " + path
	}
	return line
}
