package check

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/validate"
	"github.com/stretchr/testify/require"
)

// TestImage checks the image as far as possible without a container runtime. The root has the files of the
// image alone, and the server starts as the image says, as its user and on its volume.
func TestImage(t *testing.T) {
	dir := t.TempDir()
	command(t, "tar", "-C", dir, "-xf", made(t, fmt.Sprintf("lockserver_*_linux_%s.oci.tar", runtime.GOARCH)))
	index, err := layout.ImageIndexFromPath(dir)
	require.NoError(t, err)
	require.NoError(t, validate.Index(index))
	manifest, err := index.IndexManifest()
	require.NoError(t, err)
	require.Len(t, manifest.Manifests, 1)
	image, err := index.Image(manifest.Manifests[0].Digest)
	require.NoError(t, err)
	file, err := image.ConfigFile()
	require.NoError(t, err)
	require.Equal(t, "linux/"+runtime.GOARCH, file.Platform().String())
	config := file.Config
	require.Contains(t, config.ExposedPorts, "6379/tcp")
	require.Regexp(t, `^[1-9]\d*:[1-9]\d*$`, config.User, "not root")

	s := newBareSystem(t)
	require.NoError(t, os.Chmod(s.dir, 0o755))
	s.unpack(image)
	s.run(config.Entrypoint[0], "--version")
	p := s.start(config.User, append(config.Entrypoint, "--supervised", "systemd")...)
	require.Equal(t, "PONG", cli(t, "PING"))
	require.Equal(t, "dir\n"+config.WorkingDir, cli(t, "CONFIG", "GET", "dir"))
	require.Equal(t, "CMD", config.Healthcheck.Test[0])
	health := append([]string{"--userspec=" + config.User, s.dir}, config.Healthcheck.Test[1:]...)
	require.Equal(t, "ok", command(t, "chroot", health...))
	require.Equal(t, "OK", cli(t, "SET", "key", "value"))
	p.shutdown()
	require.FileExists(t, s.path(config.WorkingDir, "dump.rdb"))
	require.Error(t, exec.Command("chroot", health...).Run(), "nobody is there")
}

// unpack writes the files of an image into the root.
func (s *system) unpack(image v1.Image) {
	s.t.Helper()
	files := mutate.Extract(image)
	defer func() { require.NoError(s.t, files.Close()) }()
	var names []string
	for r := tar.NewReader(files); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(s.t, err)
		names = append(names, strings.TrimSuffix(header.Name, "/"))
		path := s.path(header.Name)
		if header.Typeflag == tar.TypeDir {
			require.NoError(s.t, os.MkdirAll(path, 0o755))
		} else {
			data, err := io.ReadAll(r)
			require.NoError(s.t, err)
			require.NoError(s.t, os.MkdirAll(filepath.Dir(path), 0o755))
			require.NoError(s.t, os.WriteFile(path, data, 0o600))
		}
		require.NoError(s.t, os.Chmod(path, os.FileMode(header.Mode)))
		require.NoError(s.t, os.Chown(path, header.Uid, header.Gid))
	}
	require.ElementsMatch(s.t, []string{"etc", "etc/lockserver", "usr", "usr/bin", "data", "etc/lockserver/lockserver.conf", "usr/bin/lockserver"}, names)
}

// TestImageInBuildah: buildah, a tool of others, reads the image and runs it by its settings.
func TestImageInBuildah(t *testing.T) {
	dir := t.TempDir()
	buildah := func(args ...string) *exec.Cmd {
		return exec.Command("buildah", append([]string{"--storage-driver", "vfs", "--root", dir + "/root", "--runroot", dir + "/run"}, args...)...)
	}
	does := func(args ...string) string {
		t.Helper()
		out, err := buildah(args...).Output()
		require.NoError(t, err, "buildah %v", args)
		return strings.TrimSpace(string(out))
	}
	does("from", "--name", "check", "oci-archive:"+made(t, fmt.Sprintf("lockserver_*_linux_%s.oci.tar", runtime.GOARCH)))
	require.Contains(t, does("images", "--format", "{{.Name}}:{{.Tag}}"), "/lockserver:")
	entry := strings.Fields(strings.Trim(does("inspect", "--format", "{{.OCIv1.Config.Entrypoint}}", "check"), "[]"))
	server := buildah(append([]string{"run", "--isolation", "chroot", "check", "--"}, entry...)...)
	var log bytes.Buffer
	server.Stdout, server.Stderr = &log, &log
	require.NoError(t, server.Start())
	health := []string{"run", "--isolation", "chroot", "check", "--", "/usr/bin/lockserver", "health"}
	require.Eventually(t, func() bool { return buildah(health...).Run() == nil }, patience, 100*time.Millisecond)
	require.Equal(t, "OK", cli(t, "SET", "key", "value"))
	require.Equal(t, "dir\n/data", cli(t, "CONFIG", "GET", "dir"))
	pid := regexp.MustCompile(`process_id:(\d+)`).FindStringSubmatch(cli(t, "INFO", "server"))
	require.NotNil(t, pid)
	status, err := os.ReadFile("/proc/" + pid[1] + "/status")
	require.NoError(t, err)
	require.Regexp(t, `(?m)^Uid:\t65532\t65532\t65532\t65532$`, string(status))
	cli(t, "SHUTDOWN")
	require.NoError(t, server.Wait(), "%s", &log)
	require.Error(t, buildah(health...).Run(), "nobody is there")
}
