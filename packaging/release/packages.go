package main

import (
	"bytes"
	"os"
	"path/filepath"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb" // the formats for nfpm.Get
	_ "github.com/goreleaser/nfpm/v2/rpm"
)

// pack makes a package by packaging/nfpm.yaml with the binary in dir.
func (r *release) pack(format, dir, arch string) error {
	for _, name := range manuals() { // nfpm.yaml finds all files beside the binary
		if err := os.Link(filepath.Join(r.stage, name+".gz"), filepath.Join(dir, name+".gz")); err != nil && !os.IsExist(err) {
			return err
		}
	}
	if err := os.Chdir(r.root); err != nil { // the paths in nfpm.yaml are relative to it
		return err
	}
	values := map[string]string{"ARCH": arch, "VERSION": r.version, "STAGE": dir}
	config, err := nfpm.ParseFileWithEnvMapping(filepath.Join("packaging", "nfpm.yaml"), func(name string) string { return values[name] })
	if err != nil {
		return err
	}
	config.MTime = r.date
	for _, c := range config.Contents {
		if c.FileInfo != nil {
			c.FileInfo.MTime = r.date
		}
	}
	info, err := config.Get(format)
	if err != nil {
		return err
	}
	info = nfpm.WithDefaults(info)
	packager, err := nfpm.Get(format)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := packager.Package(info, &b); err != nil {
		return err
	}
	return r.write(packager.ConventionalFileName(info), b.Bytes())
}
