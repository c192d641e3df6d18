package main

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"

	"lockserver/internal/config"
)

// rotated is a file that is renamed when it is full. It becomes name.1, the former name.1 becomes name.2, and
// so on. keep is the largest number of such files.
type rotated struct {
	mu   sync.Mutex
	path string
	most int64 // bytes
	keep int
	f    *os.File
	size int64
}

const auditMode = 0o600

// openRotated opens the file, and makes it if necessary.
func openRotated(path string, most int64, keep int) (*rotated, error) {
	r := &rotated{path: path, most: most, keep: keep}
	return r, r.open()
}

func (r *rotated) open() error {
	f, err := config.OpenRegular(r.path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, auditMode)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		_ = f.Close()
		return err
	}
	r.f, r.size = f, info.Size()
	return nil
}

// Write implements io.Writer: p is one line.
func (r *rotated) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.f == nil {
		if err := r.open(); err != nil {
			return 0, err
		}
	}
	if r.size > 0 && r.size+int64(len(p)) > r.most {
		if err := r.turn(); err != nil {
			return 0, err
		}
	}
	n, err := r.f.Write(p)
	r.size += int64(n)
	return n, err
}

// turn renames the file and begins a new one.
func (r *rotated) turn() error {
	name := func(i int) string { return fmt.Sprintf("%s.%d", r.path, i) }
	err := r.f.Close()
	r.f = nil
	if err != nil {
		return err
	}
	if r.keep == 0 {
		err = os.Remove(r.path)
	} else {
		for i := r.keep - 1; i > 0; i-- {
			_ = os.Rename(name(i), name(i+1)) // the file may be missing
		}
		err = os.Rename(r.path, name(1))
	}
	if err != nil {
		return err
	}
	return r.open()
}

// openAudit opens the log of operators' actions; nil if the configuration asks for no such log.
func openAudit(c *config.Config) (*slog.Logger, error) {
	if c.AuditLog == "" {
		return nil, nil
	}
	path, err := filepath.Abs(c.AuditLog)
	if err != nil {
		return nil, fmt.Errorf("audit-log '%s': %w", c.AuditLog, err)
	}
	file, err := openRotated(path, c.AuditLogMaxBytes, c.AuditLogFiles)
	if err != nil {
		return nil, fmt.Errorf("audit-log '%s': %w", c.AuditLog, reason(err))
	}
	names := func(_ []string, a slog.Attr) slog.Attr {
		switch a.Key {
		case slog.LevelKey:
			return slog.Attr{}
		case slog.MessageKey:
			a.Key = "event"
		}
		return a
	}
	return slog.New(slog.NewJSONHandler(file, &slog.HandlerOptions{ReplaceAttr: names})), nil
}
