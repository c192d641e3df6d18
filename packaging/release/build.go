package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// build compiles the program for a platform and returns the path of the binary, in a new directory.
func (r *release) build(ctx context.Context, system, arch string) (string, error) {
	name := "lockserver"
	if system == "windows" {
		name += ".exe"
	}
	path := filepath.Join(r.stage, system+"_"+arch, name)
	flags := fmt.Sprintf("-s -w -buildid= -X main.version=%s -X main.commit=%s -X main.date=%s",
		r.version, r.commit, r.date.Format(time.RFC3339))
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false",
		"-pgo="+filepath.Join("cmd", "lockserver", "release.pgo"), "-ldflags", flags, "-o", path, "./cmd/lockserver")
	cmd.Dir, cmd.Stderr = r.root, os.Stderr
	cmd.Env = append(without(os.Environ(), "GOFLAGS", "GOEXPERIMENT", "GOAMD64", "GOARM64"),
		"CGO_ENABLED=0", "GOWORK=off", "GOOS="+system, "GOARCH="+arch)
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("go build: %w", err)
	}
	return path, nil
}

// without returns an environment without the variables that would change the binary.
func without(env []string, names ...string) []string {
	return slices.DeleteFunc(env, func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return slices.Contains(names, name)
	})
}
