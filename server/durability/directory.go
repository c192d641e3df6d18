package durability

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"lockserver/internal/config"
	"lockserver/persistence/disk"
)

// dirLockFile is the file inside dir that a server locks while it writes there. The log's directory has
// another lock (package aof), because the log stays where it is when CONFIG SET moves dir.
const dirLockFile = "lockserver.lock"

// claim is a directory that a server may write to. No other server does while the lock is held.
type claim struct {
	dir  string
	path string // of the lock's file
	made bool   // it was not there before
	lock io.Closer
}

// dirInUseError says that another server writes to a directory.
type dirInUseError struct{ dir string }

func (e *dirInUseError) Error() string { return "another server writes to the directory " + e.dir }

// HasFiles reports whether the server may ever have files; one that is embedded has none by default.
func (s *Storage) HasFiles() bool {
	return s.opts.Configured || s.config.DBFilename != "" || s.config.AppendOnly
}

// writesByItself reports whether a server with these directives writes to its directory without a command
// that asks for it. Other servers need no writable directory.
func writesByItself(c *config.Config) bool {
	return c.AppendOnly || len(c.Save) > 0 && c.DBFilename != ""
}

// isDir returns an error unless there is a directory of that name.
func isDir(path string) error {
	st, err := os.Stat(path)
	if err == nil && !st.IsDir() {
		err = &os.PathError{Op: "open", Path: path, Err: syscall.ENOTDIR}
	}
	return err
}

// claimDir takes a directory's lock. The error is one clear line.
func (s *Storage) claimDir(dir string) (*claim, error) {
	c := &claim{dir: dir, path: filepath.Join(dir, dirLockFile)}
	_, err := s.files.Size(c.path)
	c.made = err != nil
	c.lock, err = s.files.Lock(c.path)
	if errors.Is(err, disk.ErrLocked) {
		return nil, &dirInUseError{dir}
	}
	if err != nil {
		return nil, err
	}
	return c, nil
}

// release releases the directory.
func (c *claim) release() error { return c.lock.Close() }

// undo restores the state before the directory was claimed. It removes the file first, while no other server
// can have the lock.
func (c *claim) undo(files disk.FS) {
	if c.made {
		_ = files.Remove(c.path) // a file that is left does no harm
	}
	_ = c.release()
}

// claimAtStart takes the lock of the server's directory before any data is read, and reads the limit of the
// tokens. A server that writes nothing by itself can do without: its tokens are then kept in memory only.
func (s *Storage) claimAtStart() error {
	if !s.HasFiles() {
		return nil
	}
	if err := isDir(s.config.Dir); err != nil {
		return fmt.Errorf("dir: %w", err)
	}
	found, err := readTokenLimit(filepath.Join(s.config.Dir, tokenFile))
	if err != nil {
		return err
	}
	s.tokens.last, s.tokens.limit = max(s.tokens.last, found), max(s.tokens.limit, found) // also of the base of a first log
	own, err := s.claimDir(s.config.Dir)
	switch {
	case err == nil:
		s.own = own
	case writesByItself(s.config):
		return err
	default:
		s.logger.Warn("nothing can be written to the directory: the limit of the fencing tokens is kept in memory only", "cause", err)
	}
	return nil
}

// OwnDir makes the directory the server's own if it is not, before something is
// written there.
func (s *Storage) OwnDir() error {
	if s.own != nil {
		return nil
	}
	own, err := s.claimDir(s.config.Dir)
	if err != nil {
		return err
	}
	if _, err := s.tokens.keepIn(own.dir, s.store.NowUS()); err != nil {
		own.undo(s.files)
		return err
	}
	s.own = own
	return nil
}

// changeDir makes the directory that new directives name the server's own, if it is another one, or if by
// them the server will write where it did not. One of done and undo is to be called: when the change is
// in effect, or to leave everything as it was, here and there. The error is a *config.SetError, and
// nothing has changed.
func (s *Storage) changeDir(next *config.Config, names []string) (done, undo func(), err error) {
	nothing := func() {}
	if !filepath.IsAbs(next.Dir) {
		next.Dir = filepath.Join(s.config.Dir, next.Dir)
	}
	moved, mustWrite, before := next.Dir != s.config.Dir, writesByItself(next), s.own
	if !moved && (before != nil || !mustWrite) {
		return nothing, nothing, nil
	}
	refuse := func(err error) (func(), func(), error) {
		return nil, nil, &config.SetError{Name: blamed(names), Reason: reasonOf(err)}
	}
	if err := isDir(next.Dir); err != nil {
		return refuse(err)
	}
	if !s.HasFiles() && !mustWrite {
		return nothing, nothing, nil
	}
	own, err := s.claimDir(next.Dir)
	switch {
	case err != nil && (mustWrite || before != nil):
		return refuse(err)
	case err != nil:
		return nothing, nothing, nil // nothing could be written before, either
	}
	leave, err := s.tokens.keepIn(next.Dir, s.store.NowUS())
	if err != nil {
		own.undo(s.files)
		return refuse(err)
	}
	s.own = own
	undo = func() {
		s.own = before
		leave()
		own.undo(s.files)
	}
	return func() { s.leave(before) }, undo, nil
}

// blamed is the directive that a refusal names.
func blamed(names []string) string {
	for _, name := range []string{"dir", "appendonly", "save", "dbfilename"} {
		if slices.Contains(names, name) {
			return name
		}
	}
	return names[0]
}

// leave releases a directory that is no longer the server's, as soon as nothing is written there any more.
func (s *Storage) leave(c *claim) {
	switch {
	case c == nil:
	case s.snapshots.running:
		s.left = append(s.left, c)
	default:
		_ = c.release()
	}
}

// releaseLeft is called when a background save has ended.
func (s *Storage) releaseLeft() {
	for _, c := range s.left {
		_ = c.release()
	}
	s.left = nil
}

// reasonOf is a file error's reason, capitalised as Redis has it from C.
func reasonOf(err error) string {
	var no syscall.Errno
	text := err.Error()
	if errors.As(err, &no) {
		text = no.Error()
	}
	return strings.ToUpper(text[:1]) + text[1:]
}
