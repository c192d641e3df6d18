package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// identity holds the name of a release and its source.
type identity struct {
	version string
	commit  string // 12 digits, and "-dirty" if the tree differs from the commit
	date    time.Time
}

// isVersion matches the line of the program's source that has the version.
var isVersion = regexp.MustCompile(`(?m)^\s*version\s*=\s*"([0-9][^"]*)"`)

// identify reads the source and asks git. VERSION, COMMIT and SOURCE_DATE_EPOCH in the environment take
// precedence, for a tree without git.
func identify(ctx context.Context, root string) (identity, error) {
	id := identity{version: os.Getenv("VERSION"), commit: os.Getenv("COMMIT")}
	if id.version == "" {
		text, err := os.ReadFile(filepath.Join(root, "cmd", "lockserver", "version.go"))
		if err != nil {
			return id, err
		}
		m := isVersion.FindSubmatch(text)
		if m == nil {
			return id, errors.New("cmd/lockserver/version.go has no version")
		}
		id.version = string(m[1])
	}
	if id.commit == "" {
		head, err := git(ctx, root, "rev-parse", "--short=12", "HEAD")
		if err != nil {
			return id, fmt.Errorf("which commit is it? Without git, set COMMIT and SOURCE_DATE_EPOCH: %w", err)
		}
		changes, err := git(ctx, root, "status", "--porcelain")
		if err != nil {
			return id, err
		}
		if id.commit = head; changes != "" {
			id.commit += "-dirty"
		}
	}
	epoch := os.Getenv("SOURCE_DATE_EPOCH")
	if epoch == "" {
		var err error
		if epoch, err = git(ctx, root, "log", "-1", "--format=%ct"); err != nil {
			return id, fmt.Errorf("when was the commit made? Without git, set SOURCE_DATE_EPOCH: %w", err)
		}
	}
	seconds, err := strconv.ParseInt(epoch, 10, 64)
	id.date = time.Unix(seconds, 0).UTC()
	return id, err
}

func git(ctx context.Context, root string, args ...string) (string, error) {
	text, err := exec.CommandContext(ctx, "git", append([]string{"-C", root}, args...)...).Output()
	return strings.TrimSpace(string(text)), err
}
