package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// manuals returns the manual pages in packaging/man.
func manuals() []string { return []string{"lockserver.1", "lockserver.conf.5"} }

// guides returns the files in docs that an operator needs with a server: the runbook with the pages to which
// it links, the alerts and the dashboard.
func guides() []string {
	return []string{"RUNBOOK.md", "HA.md", "DURABILITY.md", "HISTORY.md", "MEMORY.md", "METRICS.md", "grafana/alerts.yml", "grafana/lockserver.json"}
}

// pages writes the manual pages into the stage, with date and version, and compressed copies for the
// packages.
func (r *release) pages() error {
	fill := strings.NewReplacer("@DATE@", r.date.Format("2006-01-02"), "@VERSION@", r.version)
	for _, name := range manuals() {
		text, err := os.ReadFile(filepath.Join(r.root, "packaging", "man", name))
		if err != nil {
			return err
		}
		page := []byte(fill.Replace(string(text)))
		var packed bytes.Buffer
		w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
		if err != nil {
			return err
		}
		if _, err := w.Write(page); err != nil {
			return err
		}
		if err := w.Close(); err != nil {
			return err
		}
		path := filepath.Join(r.stage, name)
		if err := os.WriteFile(path, page, 0o600); err != nil {
			return err
		}
		if err := os.WriteFile(path+".gz", packed.Bytes(), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// member is a file of an archive.
type member struct {
	name string // path in the archive, with slashes
	path string
	mode int64
}

// members returns the files of an archive, besides the binary.
func (r *release) members(binary string) []member {
	list := []member{{filepath.Base(binary), binary, 0o755}}
	for _, name := range []string{"README.md", "LICENSE", "CHANGELOG.md"} {
		list = append(list, member{name, filepath.Join(r.root, name), 0o644})
	}
	for _, name := range []string{"lockserver.conf", "lockserver.service", "completions/_lockserver", "completions/lockserver.bash",
		"completions/lockserver.fish"} {
		list = append(list, member{name, filepath.Join(r.root, "packaging", filepath.FromSlash(name)), 0o644})
	}
	for _, name := range guides() {
		list = append(list, member{"docs/" + name, filepath.Join(r.root, "docs", filepath.FromSlash(name)), 0o644})
	}
	for _, name := range manuals() {
		list = append(list, member{"man/man" + filepath.Ext(name)[1:] + "/" + name, filepath.Join(r.stage, name), 0o644})
	}
	return list
}

// archive writes a .tar.gz, or a .zip for Windows, with all files in one directory.
func (r *release) archive(binary, system, arch string) error {
	dir := fmt.Sprintf("lockserver_%s_%s_%s", r.version, system, arch)
	if system == "windows" {
		return r.zip(dir, r.members(binary))
	}
	var b bytes.Buffer
	packed, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return err
	}
	w := tar.NewWriter(packed)
	for _, m := range r.members(binary) {
		data, err := os.ReadFile(m.path)
		if err != nil {
			return err
		}
		if err := r.tarFile(w, dir+"/"+m.name, m.mode, data); err != nil {
			return err
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	if err := packed.Close(); err != nil {
		return err
	}
	return r.write(dir+".tar.gz", b.Bytes())
}

// tarFile adds a file that belongs to root, with the time of the commit.
func (r *release) tarFile(w *tar.Writer, name string, mode int64, data []byte) error {
	header := tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: mode, Size: int64(len(data)), ModTime: r.date, Format: tar.FormatUSTAR}
	if err := w.WriteHeader(&header); err != nil {
		return err
	}
	_, err := w.Write(data)
	return err
}

func (r *release) zip(dir string, members []member) error {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, m := range members {
		data, err := os.ReadFile(m.path)
		if err != nil {
			return err
		}
		header := zip.FileHeader{Name: dir + "/" + m.name, Method: zip.Deflate, Modified: r.date}
		header.SetMode(os.FileMode(m.mode))
		f, err := w.CreateHeader(&header)
		if err != nil {
			return err
		}
		if _, err := f.Write(data); err != nil {
			return err
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	return r.write(dir+".zip", b.Bytes())
}
