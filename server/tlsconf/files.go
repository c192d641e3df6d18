package tlsconf

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"lockserver/internal/config"
)

// Files notices that certificate files were replaced, so that they are read again without a restart. Its
// owner locks.
type Files struct {
	stamp string // times and sizes of the files when they were last read
}

// stampOf returns the times and sizes of all files, which show whether a file has changed.
func stampOf(c *config.TLS) (s string) {
	names := []string{c.CertFile, c.KeyFile, c.ClientCertFile, c.ClientKeyFile, c.CACertFile, c.CACertDir}
	if entries, err := os.ReadDir(c.CACertDir); c.CACertDir != "" && err == nil {
		for _, e := range entries {
			names = append(names, filepath.Join(c.CACertDir, e.Name()))
		}
	}
	for _, name := range names {
		if st, err := os.Stat(name); name != "" && err == nil {
			s += fmt.Sprint(st.ModTime().UnixNano(), " ", st.Size(), " ")
		}
	}
	return s
}

// Load calls read, and records the state of the files.
func (f *Files) Load(c *config.TLS, read func() error) error {
	stamp := stampOf(c) // taken before: a file that changes during the read is read once more
	err := read()
	if err == nil {
		f.stamp = stamp
	}
	return err
}

// Refresh calls read again if a file has changed, and logs that. name is the directive of the files. A
// certificate without its key, because only one of the two files was replaced yet, changes nothing. It
// reports whether the files were read.
func (f *Files) Refresh(c *config.TLS, log *slog.Logger, name string, read func() error) bool {
	stamp := stampOf(c)
	if stamp == f.stamp {
		return false
	}
	f.stamp = stamp
	if err := read(); err != nil {
		log.Error(name+": a certificate has changed, and cannot be used: the one before stays", "cause", err)
		return false
	}
	log.Info(name+": the certificates have changed, and are used from now on", "cert-file", c.CertFile)
	return true
}
