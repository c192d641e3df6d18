// Command release makes the files of a release. For each platform there is an archive with the static binary,
// the manual pages and the completions of shells. For Linux there are also packages (.deb, .rpm) and a
// container image. The packages for other languages, which are built before, are included. It also writes
// SHA256SUMS.
//
// It owns how these are put together. The content of a package is defined in ../nfpm.yaml and ../scripts;
// pages, completions and the configuration file are made by internal/gendocs. The same commit gives the same
// bytes, wherever and whenever it is built: every time in them is that of the commit, and nothing depends on
// the machine. To add a form, add it to release.platform, and its requirements to ../check.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
)

func main() {
	var (
		root      = flag.String("root", "..", "the tree")
		out       = flag.String("out", "../dist", "where the files go; those of an earlier run are removed")
		platforms = flag.String("platforms", "linux/amd64,linux/arm64,darwin/amd64,darwin/arm64,windows/amd64,windows/arm64", "for which")
		with      = flag.String("with", "", "directories of files that are handed out as well, such as packages for other languages")
	)
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *root, *out, words(*platforms), words(*with)); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// words splits a list at commas and blanks.
func words(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
}

// run makes all files.
func run(ctx context.Context, root, out string, platforms, with []string) error {
	root, err := filepath.Abs(root)
	if err != nil {
		return err
	}
	if out, err = filepath.Abs(out); err != nil {
		return err
	}
	for i := range with {
		if with[i], err = filepath.Abs(with[i]); err != nil { // the packages are made in another directory
			return err
		}
	}
	r := release{root: root, out: out}
	if r.identity, err = identify(ctx, root); err != nil {
		return err
	}
	if r.stage, err = os.MkdirTemp("", "release-"); err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(r.stage) }()
	if err := r.clear(); err != nil {
		return err
	}
	if err := r.pages(); err != nil {
		return err
	}
	for _, name := range platforms {
		if err := r.platform(ctx, name); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	for _, dir := range with {
		if err := r.include(dir); err != nil {
			return err
		}
	}
	return r.sums()
}

// release is one run of this program.
type release struct {
	identity
	root, out string // absolute
	stage     string // the files before they are put together; removed afterwards
}

// platform makes all files for one platform.
func (r *release) platform(ctx context.Context, name string) error {
	system, arch, ok := strings.Cut(name, "/")
	if !ok {
		return fmt.Errorf("a platform is system/architecture")
	}
	binary, err := r.build(ctx, system, arch)
	if err != nil {
		return err
	}
	if err := r.archive(binary, system, arch); err != nil || system != "linux" {
		return err
	}
	for _, format := range []string{"deb", "rpm"} {
		if err := r.pack(format, filepath.Dir(binary), arch); err != nil {
			return fmt.Errorf("%s: %w", format, err)
		}
	}
	return r.image(binary, arch)
}
