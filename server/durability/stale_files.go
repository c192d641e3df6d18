package durability

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// removeStaleFiles removes the files of a process that was killed during a save. It is called at the start.
func (s *Storage) removeStaleFiles() {
	for _, name := range []string{s.config.DBFilename, tokenFile} {
		if name != "" { // the names have a number in the middle: persistence.ReplaceFile
			s.removeAll("temp-", "-"+name, func(middle string) bool {
				_, err := strconv.ParseUint(middle, 10, 64)
				return err == nil
			})
		}
	}
	s.removeAll(receivedPrefix, receivedSuffix, func(middle string) bool { return len(middle) == 40 })
}

// removeAll removes the files in the server's directory that begin with prefix and end with suffix, if the
// function is accepts the middle of their names.
func (s *Storage) removeAll(prefix, suffix string, is func(middle string) bool) {
	stale, err := filepath.Glob(filepath.Join(escapeGlob(s.config.Dir), prefix+"*"+escapeGlob(suffix)))
	if err != nil {
		s.logger.Warn("could not look for files left behind", "cause", err)
	}
	for _, path := range stale {
		if is(strings.TrimSuffix(strings.TrimPrefix(filepath.Base(path), prefix), suffix)) {
			s.removeStale(path)
		}
	}
}

// removeStale removes one file.
func (s *Storage) removeStale(path string) {
	if st, err := os.Lstat(path); err != nil || !st.Mode().IsRegular() {
		return
	}
	if err := os.Remove(path); err != nil {
		s.logger.Warn("could not remove a file that an interrupted save left behind", "file", path, "cause", err)
		return
	}
	s.logger.Info("removed a file that an interrupted save left behind", "file", path)
}

// escapeGlob escapes a path, so that every character matches itself in filepath.Glob.
func escapeGlob(path string) string {
	if filepath.Separator == '\\' {
		return path // Windows has no escapes there; a wrong match fails on the number
	}
	return strings.NewReplacer("*", "\\*", "?", "\\?", "[", "\\[", "\\", "\\\\").Replace(path)
}
