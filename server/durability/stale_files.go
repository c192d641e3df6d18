package durability

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// removeStaleFiles removes what a process that was killed in the middle of a save has left behind; at start.
func (s *Storage) removeStaleFiles() {
	for _, name := range []string{s.config.DBFilename, tokenFile} {
		if name == "" {
			continue
		}
		stale, err := filepath.Glob(filepath.Join(escapeGlob(s.config.Dir), "temp-*-"+escapeGlob(name)))
		if err != nil {
			s.logger.Warn("could not look for files left behind", "cause", err)
		}
		for _, path := range stale {
			s.removeStale(path, name)
		}
	}
}

// removeStale removes one file if its name is one that persistence.ReplaceFile gives,
// with a number in the middle.
func (s *Storage) removeStale(path, name string) {
	number := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(path), "temp-"), "-"+name)
	_, err := strconv.ParseUint(number, 10, 64)
	st, statErr := os.Lstat(path)
	if err != nil || statErr != nil || !st.Mode().IsRegular() {
		return
	}
	if err := os.Remove(path); err != nil {
		s.logger.Warn("could not remove a file that an interrupted save left behind", "file", path, "cause", err)
		return
	}
	s.logger.Info("removed a file that an interrupted save left behind", "file", path)
}

// escapeGlob makes every character of a path stand for itself in filepath.Glob.
func escapeGlob(path string) string {
	if filepath.Separator == '\\' {
		return path // no escapes there; a wrong match fails on the number
	}
	return strings.NewReplacer("*", "\\*", "?", "\\?", "[", "\\[", "\\", "\\\\").Replace(path)
}
