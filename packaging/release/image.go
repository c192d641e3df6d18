package main

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// unprivilegedID is the user of the image. It is a number, because the image has no file that maps names.
const unprivilegedID = 65532

// image writes a container image with only the binary and its configuration: an OCI layout in a tar file.
func (r *release) image(binary, arch string) error {
	files, err := r.layer(binary)
	if err != nil {
		return err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(files)), nil },
		tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return err
	}
	created := v1.Time{Time: r.date}
	image, err := mutate.Append(mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON),
		mutate.Addendum{Layer: layer, History: v1.History{Created: created, CreatedBy: "packaging/release"}})
	if err != nil {
		return err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Created, config.Config = "linux", arch, created, r.settings()
	if image, err = mutate.ConfigFile(image, config); err != nil {
		return err
	}
	index := mutate.AppendManifests(mutate.IndexMediaType(empty.Index, types.OCIImageIndex), mutate.IndexAddendum{Add: image,
		Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: arch}, Annotations: map[string]string{
			"org.opencontainers.image.ref.name": r.version,
			"io.containerd.image.name":          "docker.io/library/lockserver:" + r.version, // the name that docker load gives it
		}}})
	dir := filepath.Join(r.stage, "image_"+arch)
	if _, err := layout.Write(dir, index); err != nil {
		return err
	}
	packed, err := r.tarTree(dir)
	if err != nil {
		return err
	}
	return r.write(fmt.Sprintf("lockserver_%s_linux_%s.oci.tar", r.version, arch), packed)
}

// settings returns the settings with which a container of the image runs.
func (r *release) settings() v1.Config {
	return v1.Config{
		User: fmt.Sprintf("%d:%d", unprivilegedID, unprivilegedID),
		// Arguments after the image's name are appended to these.
		Entrypoint:   []string{"/usr/bin/lockserver", "/etc/lockserver/lockserver.conf"},
		WorkingDir:   "/data",
		Volumes:      map[string]struct{}{"/data": {}},
		ExposedPorts: map[string]struct{}{"6379/tcp": {}},
		StopSignal:   "SIGTERM",
		Healthcheck: &v1.HealthConfig{Test: []string{"CMD", "/usr/bin/lockserver", "health", "--ready"}, Interval: 10 * time.Second,
			Timeout: 5 * time.Second, StartPeriod: 30 * time.Second, Retries: 3},
		Labels: map[string]string{
			"org.opencontainers.image.title":    "lockserver",
			"org.opencontainers.image.version":  r.version,
			"org.opencontainers.image.revision": r.commit,
			"org.opencontainers.image.created":  r.date.Format(time.RFC3339),
			"org.opencontainers.image.licenses": "MIT",
		},
	}
}

// layer returns the file system of the image as a tar file.
func (r *release) layer(binary string) ([]byte, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	program, err := os.ReadFile(binary)
	if err != nil {
		return nil, err
	}
	config, err := os.ReadFile(filepath.Join(r.root, "packaging", "image.conf"))
	if err != nil {
		return nil, err
	}
	dir := func(name string, mode int64, owner int) error {
		return w.WriteHeader(&tar.Header{Name: name, Typeflag: tar.TypeDir, Mode: mode, Uid: owner, Gid: owner, ModTime: r.date, Format: tar.FormatUSTAR})
	}
	for _, name := range []string{"etc/", "etc/lockserver/", "usr/", "usr/bin/"} {
		if err := dir(name, 0o755, 0); err != nil {
			return nil, err
		}
	}
	if err := dir("data/", 0o750, unprivilegedID); err != nil {
		return nil, err
	}
	if err := r.tarFile(w, "etc/lockserver/lockserver.conf", 0o644, config); err != nil {
		return nil, err
	}
	if err := r.tarFile(w, "usr/bin/lockserver", 0o755, program); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil { // Close writes the end
		return nil, err
	}
	return b.Bytes(), nil
}

// tarTree packs the files of a directory, sorted by name.
func (r *release) tarTree(dir string) ([]byte, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return r.tarFile(w, filepath.ToSlash(name), 0o644, data)
	})
	if err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
