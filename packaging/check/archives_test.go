package check

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"debug/buildinfo"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestChecksums: SHA256SUMS names every file with the right checksum.
func TestChecksums(t *testing.T) {
	entries, err := os.ReadDir(*dist)
	require.NoError(t, err)
	var want strings.Builder
	for _, e := range entries {
		if e.Name() != "SHA256SUMS" {
			data, err := os.ReadFile(filepath.Join(*dist, e.Name()))
			require.NoError(t, err)
			fmt.Fprintf(&want, "%x  %s\n", sha256.Sum256(data), e.Name())
		}
	}
	sums, err := os.ReadFile(made(t, "SHA256SUMS"))
	require.NoError(t, err)
	require.Equal(t, want.String(), string(sums))
}

// TestPackageForPython: the wheel and the sdist have the version of the release. make clients-python-package
// tests what they do.
func TestPackageForPython(t *testing.T) {
	for _, pattern := range []string{"lockserver-*-py3-none-any.whl", "lockserver-*.tar.gz"} {
		version := strings.Split(filepath.Base(made(t, pattern)), "-")[1]
		require.Contains(t, filepath.Base(made(t, "lockserver_*_linux_amd64.tar.gz")), strings.TrimSuffix(version, ".tar.gz"))
	}
}

// TestPackagesForOtherLanguages: the Maven repository and the package for Node have the version of the
// release.
func TestPackagesForOtherLanguages(t *testing.T) {
	version := strings.Split(filepath.Base(made(t, "lockserver_*_linux_amd64.tar.gz")), "_")[1]
	require.Equal(t, "maven-lockserver-"+version+".tar.gz", filepath.Base(made(t, "maven-lockserver-*.tar.gz")))
	require.Equal(t, "lockserver-"+version+".tgz", filepath.Base(made(t, "lockserver-*.tgz")))
}

// unpacked returns the files of an archive by their names in its directory.
func unpacked(t *testing.T, path string) map[string][]byte {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	files := make(map[string][]byte)
	add := func(name string, r io.Reader) {
		text, err := io.ReadAll(r)
		require.NoError(t, err)
		dir, rest, _ := strings.Cut(name, "/")
		require.True(t, strings.HasPrefix(filepath.Base(path), dir+"."), name)
		files[rest] = text
	}
	if strings.HasSuffix(path, ".zip") {
		r, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
		require.NoError(t, err)
		for _, f := range r.File {
			text, err := f.Open()
			require.NoError(t, err)
			add(f.Name, text)
		}
		return files
	}
	r, err := gzip.NewReader(bytes.NewReader(data))
	require.NoError(t, err)
	for members := tar.NewReader(r); ; {
		header, err := members.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		require.NoError(t, err)
		add(header.Name, members)
	}
}

// host returns the files of the archive for this machine.
func host(t *testing.T) map[string][]byte {
	t.Helper()
	return unpacked(t, made(t, fmt.Sprintf("lockserver_*_linux_%s.tar.gz", runtime.GOARCH)))
}

// TestArchives: each archive has all files, and a static binary for its platform that is not too big.
func TestArchives(t *testing.T) {
	isArchive := regexp.MustCompile(`lockserver_.*_([a-z]+)_([a-z0-9]+)\.(tar\.gz|zip)$`)
	entries, err := os.ReadDir(*dist)
	require.NoError(t, err)
	seen := 0
	for _, e := range entries {
		m := isArchive.FindStringSubmatch(e.Name())
		if m == nil {
			continue
		}
		seen++
		files := unpacked(t, filepath.Join(*dist, e.Name()))
		binary := "lockserver"
		if m[1] == "windows" {
			binary += ".exe"
		}
		for _, name := range []string{binary, "README.md", "LICENSE", "CHANGELOG.md", "lockserver.conf", "lockserver.service", "docs/RUNBOOK.md", "docs/HA.md", "docs/DURABILITY.md",
			"docs/HISTORY.md", "docs/MEMORY.md", "docs/METRICS.md", "docs/grafana/alerts.yml", "docs/grafana/lockserver.json", "man/man1/lockserver.1",
			"man/man5/lockserver.conf.5", "completions/_lockserver", "completions/lockserver.bash", "completions/lockserver.fish"} {
			require.NotEmpty(t, files[name], "%s: %s", e.Name(), name)
			delete(files, name)
		}
		require.Empty(t, slices.Sorted(maps.Keys(files)), e.Name())
	}
	require.NotZero(t, seen)
}

// TestBinaries: each binary is for the platform in its archive's name, needs no library, and is not too big.
func TestBinaries(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join(*dist, "lockserver_*_*_*.[tz]*"))
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	for _, path := range paths {
		if strings.HasSuffix(path, ".oci.tar") {
			continue
		}
		files := unpacked(t, path)
		program := append(files["lockserver"], files["lockserver.exe"]...)
		require.Less(t, len(program), 30<<20, path)
		info, err := buildinfo.Read(bytes.NewReader(program))
		require.NoError(t, err)
		settings := make(map[string]string)
		for _, s := range info.Settings {
			settings[s.Key] = s.Value
		}
		require.Equal(t, "0", settings["CGO_ENABLED"], path)
		require.Equal(t, "true", settings["-trimpath"], path)
		require.Equal(t, "release.pgo", settings["-pgo"], path)
		require.Contains(t, path, "_"+settings["GOOS"]+"_"+settings["GOARCH"]+".")
	}
}

// TestSameBytes: another checkout of the same commit gives the same files, at another path and with another
// time zone and umask.
func TestSameBytes(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "lockserver")
	require.NoError(t, os.WriteFile(program, host(t)["lockserver"], 0o755))
	m := regexp.MustCompile(`(?m)^lockserver v=(\S+) commit=(\S+) date=(\S+) go`).FindStringSubmatch(command(t, program, "--version"))
	require.NotNil(t, m)
	require.Regexp(t, `^[0-9a-f]{12}(-dirty)?$`, m[2])
	epoch := command(t, "date", "--date="+m[3], "+%s")

	tree, out := filepath.Join(dir, "elsewhere"), filepath.Join(dir, "out")
	require.NoError(t, os.Mkdir(tree, 0o755))
	command(t, "bash", "-c", `cd ../.. && git ls-files -z --cached --others --exclude-standard | tar -c --null --files-from=- | tar -C "$0" -x`, tree)
	cmd := exec.Command("bash", "-c", `umask 077 && exec go run ./release -platforms "$0" -out "$1"`, "linux/"+runtime.GOARCH, out)
	cmd.Dir = filepath.Join(tree, "packaging")
	cmd.Env = append(os.Environ(), "VERSION="+m[1], "COMMIT="+m[2], "SOURCE_DATE_EPOCH="+epoch, "TZ=Asia/Tokyo")
	text, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", text)
	again, err := os.ReadFile(filepath.Join(out, "SHA256SUMS"))
	require.NoError(t, err)
	first, err := os.ReadFile(made(t, "SHA256SUMS"))
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSpace(string(again)), "\n")
	require.Len(t, lines, 4)
	for _, line := range lines {
		require.Contains(t, string(first), line)
	}
}
