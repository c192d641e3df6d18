package engine

import (
	"errors"
	"fmt"
	"io"
	iofs "io/fs"
	"os"
	"path/filepath"
	"time"

	hraft "github.com/hashicorp/raft"

	"lockserver/persistence"
	"lockserver/persistence/disk"
	"lockserver/server/raft/engine/older"
	"lockserver/server/raft/engine/raftlog"
)

// A directory of an older version has its log in the directory wal, and its snapshots beside that. It is
// verified and converted at the start. As long as wal is there, it counts. The steps are these; each of them
// is on the disk before the next one, and a start goes on where the last process ended:
//
//  1. The log is written to disk.new, and then the file complete there.
//  2. wal gets the name wal.old. From now on disk.new counts.
//  3. What an older conversion has left as disk is kept as replaced-<time>, and disk.new gets the name disk.
//  4. The snapshots are moved to disk. What is left of the old log is removed.
//
// An older version that is started on a converted directory finds no log. By the file committed it knows
// that it had a log, and takes its disk for a damaged one. The leader gives it everything. If it is upgraded
// again, wal is there, and counts again.

const (
	newDir         = diskDir + ".new"
	completeFile   = "complete"
	oldDir         = older.Dir + ".old"
	replacedPrefix = "replaced-"
	// convertBytes is how many bytes of entries are converted at once.
	convertBytes = 1 << 20
)

// converting is a conversion of a member's directory.
type converting struct {
	dir string
	// step is called behind each step; nil: nothing is. An error ends the conversion, as the end of the
	// process does.
	step func() error
}

// done is called behind a step, with its error.
func (c *converting) done(err error) error {
	if err == nil && c.step != nil {
		err = c.step()
	}
	return err
}

// run converts a directory of an older version. The error is a *Damage if that is damaged.
func (c *converting) run() error {
	is, err := older.Exists(c.dir)
	if err == nil && is {
		err = c.convertLog()
	}
	if err != nil {
		return err
	}
	return c.finish()
}

// convertLog does the steps 1 and 2.
func (c *converting) convertLog() error {
	dir := c.dir
	s, err := verifySnapshots(filepath.Join(dir, snapshotsDir))
	if err != nil {
		return err
	}
	f, err := older.Scan(dir, s.index, s.term, nil)
	if err == nil {
		err = verifyWhole(dir, filepath.Join(dir, older.Dir), &f, s)
	}
	if err != nil {
		return err
	}
	to := filepath.Join(dir, newDir)
	if err := errors.Join(os.RemoveAll(to), os.MkdirAll(filepath.Join(to, logDir), 0o700)); err != nil {
		return err
	}
	if err := c.done(copyLog(dir, filepath.Join(to, logDir), &f, s)); err != nil {
		return fmt.Errorf("%s: the log of an older version cannot be converted: %w", dir, err)
	}
	if f.Last > 0 { // an older version has to know that there was a log
		if known, _, err := readCommitted(dir); err != nil || known == 0 {
			if err := writeCommitted(filepath.Join(dir, committedFile), max(1, s.index), time.Now()); err != nil {
				return err
			}
		}
	}
	err = persistence.ReplaceFile(filepath.Join(to, completeFile), 0o600, func(io.Writer) error { return nil })
	if err = c.done(errors.Join(err, disk.OS{}.SyncDir(to), disk.OS{}.SyncDir(dir))); err != nil {
		return err
	}
	return c.done(rename(dir, older.Dir, oldDir))
}

// copyLog writes the log of an older version anew.
func copyLog(dir, to string, f *raftlog.Facts, s snapshotPlace) (err error) {
	c, err := raftlog.Scan(disk.OS{}, to, nil)
	if err != nil {
		return err
	}
	log, err := c.Open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	var some []*hraft.Log
	bytes := 0
	_, err = older.Scan(dir, s.index, s.term, func(l *hraft.Log) error {
		some, bytes = append(some, l), bytes+len(l.Data)
		if bytes < convertBytes {
			return nil
		}
		defer func() { some, bytes = nil, 0 }()
		return log.StoreLogs(some)
	})
	if err == nil {
		err = log.StoreLogs(some)
	}
	if err == nil {
		err = log.SetAll(f.Values)
	}
	return err
}

// finish does the steps 3 and 4 of a conversion that was begun.
func (c *converting) finish() error {
	dir := c.dir
	to, is := filepath.Join(dir, newDir), filepath.Join(dir, diskDir)
	_, err := os.Stat(filepath.Join(to, completeFile))
	switch {
	case errors.Is(err, iofs.ErrNotExist):
		if err := os.RemoveAll(to); err != nil {
			return err
		}
	case err != nil:
		return err
	default:
		if _, err := os.Stat(is); err == nil {
			if err := c.done(rename(dir, diskDir, replacedPrefix+time.Now().UTC().Format(timeFormat))); err != nil {
				return err
			}
		}
		if err := c.done(rename(dir, newDir, diskDir)); err != nil {
			return err
		}
	}
	if _, err := os.Stat(filepath.Join(is, completeFile)); err != nil {
		return nil // it was not converted, or all of it is done
	}
	if _, err := os.Stat(filepath.Join(dir, snapshotsDir)); err == nil {
		if err := os.Rename(filepath.Join(dir, snapshotsDir), filepath.Join(is, snapshotsDir)); err != nil {
			return err
		}
		if err := c.done(errors.Join(disk.OS{}.SyncDir(is), disk.OS{}.SyncDir(dir))); err != nil {
			return err
		}
	}
	for _, name := range []string{oldDir, older.ReachedFile, older.VotesFile} {
		if err := c.done(os.RemoveAll(filepath.Join(dir, name))); err != nil {
			return err
		}
	}
	return errors.Join(disk.OS{}.SyncDir(dir), os.Remove(filepath.Join(is, completeFile)), disk.OS{}.SyncDir(is))
}

// rename gives a name in a directory to another file, and syncs the directory.
func rename(dir, from, to string) error {
	if err := os.Rename(filepath.Join(dir, from), filepath.Join(dir, to)); err != nil {
		return err
	}
	return disk.OS{}.SyncDir(dir)
}
