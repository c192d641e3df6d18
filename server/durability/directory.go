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

// LockFile is the file inside dir that a server locks while it writes there. The log's directory has
// another lock (package aof), because the log does not move when CONFIG SET changes dir.
const LockFile = "lockserver.lock"

// claim is the right to write to a directory. No other server can have it while the lock is held.
type claim struct {
	dir  string
	path string // of the lock's file
	made bool   // the claim has made the file
	lock io.Closer
}

// dirInUseError says that another server writes to a directory.
type dirInUseError struct{ dir string }

func (e *dirInUseError) Error() string { return "another server writes to the directory " + e.dir }

// HasFiles reports whether the server may ever have files; by default an embedded server has no files.
func (s *Storage) HasFiles() bool {
	return s.opts.Configured || s.config.DBFilename != "" || s.config.AppendOnly
}

// writesByItself reports whether a server with these directives writes to its directory without a command
// that requests it. Other servers need no writable directory.
func writesByItself(c *config.Config) bool {
	return c.AppendOnly || len(c.Save) > 0 && c.DBFilename != ""
}

// isDir returns an error unless the path is a directory.
func isDir(path string) error {
	st, err := os.Stat(path)
	if err == nil && !st.IsDir() {
		err = &os.PathError{Op: "open", Path: path, Err: syscall.ENOTDIR}
	}
	return err
}

// claimDir takes a directory's lock. The error is one clear line.
func (s *Storage) claimDir(dir string) (*claim, error) {
	c := &claim{dir: dir, path: filepath.Join(dir, LockFile)}
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

// undo restores the state before the claim. It removes the file first, while no other server can have the
// lock.
func (c *claim) undo(files disk.FS) {
	if c.made {
		_ = files.Remove(c.path) // a leftover file does no harm
	}
	_ = c.release()
}

// claimAtStart takes the lock of the server's directory before any data is read, and reads the limit of the
// tokens. A server that writes nothing by itself can start without the lock: it then keeps its tokens only in
// memory.
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
	s.tokens.last, s.tokens.limit = max(s.tokens.last, found), max(s.tokens.limit, found) // also those in the base of a first log
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

// OwnDir claims the directory before something is written there, if the server has not claimed it yet.
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

// changeDir claims the directory of the new directives, if it is another directory, or if the server will now
// write to it by itself. The caller must call done or undo: done when the change is in effect, undo to
// restore the state here and in the directory. The error is a *config.SetError, and nothing has changed.
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

// blamed returns the directive that a refusal names.
func blamed(names []string) string {
	for _, name := range []string{"dir", "appendonly", "save", "dbfilename"} {
		if slices.Contains(names, name) {
			return name
		}
	}
	return names[0]
}

// leave releases a directory that the server does not use any more, as soon as nothing is being written
// there.
func (s *Storage) leave(c *claim) {
	switch {
	case c == nil:
	case s.snapshots.running:
		s.left = append(s.left, c)
	default:
		_ = c.release()
	}
}

// claims lists claims of directories that the server has left.
type claims []*claim

// release ends all claims. It is called when a background save has ended.
func (list *claims) release() {
	for _, c := range *list {
		_ = c.release()
	}
	*list = nil
}

// reasonOf returns the reason of a file error, capitalised as in Redis.
func reasonOf(err error) string {
	var no syscall.Errno
	text := err.Error()
	if errors.As(err, &no) {
		text = no.Error()
	}
	return strings.ToUpper(text[:1]) + text[1:]
}
