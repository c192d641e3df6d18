package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
)

const sumsName = "SHA256SUMS"

// clear creates the directory of the results, and removes the results of an earlier run, because sums would
// list them.
func (r *release) clear() error {
	if err := os.MkdirAll(r.out, 0o755); err != nil {
		return err
	}
	for _, pattern := range []string{"lockserver_*", "lockserver-*", sumsName} {
		old, err := filepath.Glob(filepath.Join(r.out, pattern))
		if err != nil {
			return err
		}
		for _, path := range old {
			if err := os.Remove(path); err != nil {
				return err
			}
		}
	}
	return nil
}

// include adds the files of a directory to the results.
func (r *release) include(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return err
		}
		if err := r.write(e.Name(), data); err != nil {
			return err
		}
	}
	return nil
}

// write adds a file to the results.
func (r *release) write(name string, data []byte) error {
	fmt.Println(name)
	return os.WriteFile(filepath.Join(r.out, name), data, 0o644)
}

// sums writes the checksums of all results, in the form that sha256sum --check reads.
func (r *release) sums() error {
	entries, err := os.ReadDir(r.out) // sorted by name
	if err != nil {
		return err
	}
	var b bytes.Buffer
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(r.out, e.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%x  %s\n", sha256.Sum256(data), e.Name())
	}
	return r.write(sumsName, b.Bytes())
}
