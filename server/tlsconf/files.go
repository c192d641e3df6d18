package tlsconf

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"lockserver/internal/config"
)

// Files notices that files of certificates were replaced, so that they are read again without a restart. Its
// owner locks.
type Files struct {
	stamp string // of the files that were read last
}

// stampOf tells whether a file has changed: the times and sizes of all of them.
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

// Load reads files by read, and knows them from then on.
func (f *Files) Load(c *config.TLS, read func() error) error {
	stamp := stampOf(c) // before: a file that changes meanwhile is read once more
	err := read()
	if err == nil {
		f.stamp = stamp
	}
	return err
}

// Refresh reads the files again by read if one has changed, and logs that. name is the directive that they
// are for. A certificate without its key, because only one of two files was replaced yet, changes nothing.
// It reports whether the files were read.
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
