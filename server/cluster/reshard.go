package cluster

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Names in the directory of a cluster while the number of its shards changes. The new data is made in
// freshName. It counts when the file readyName is there, and is then put in its place. The old data stays in
// keptName. Format, do not change: readyName has the form of the record.
const (
	freshName = "reshard.new"
	readyName = "reshard.ready"
	keptName  = "reshard.old"
)

// FreshDir is where the data of the new shards is made, in the directory of a cluster.
func FreshDir(dir string) string { return filepath.Join(dir, freshName) }

// KeptDir is where the data of the old shards is after a change.
func KeptDir(dir string) string { return filepath.Join(dir, keptName) }

// errUnfinished says that the number of shards was being changed.
func errUnfinished(dir string, shards int) error {
	return fmt.Errorf("%s is changing to %d shards, and that was not finished: run 'lockserver reshard --dir %s --shards %d' again", dir, shards, dir, shards)
}

// Unfinished returns an error if new data is complete, and not all of it is in its place.
func Unfinished(dir string) error {
	ready, ok, err := readRecord(dir, readyName)
	if ok {
		return errUnfinished(dir, ready.Shards)
	}
	return err
}

// BeginReshard makes empty directories for the data of new shards, after FinishReshard. step is called after
// each change of the file system; its error ends the work.
func BeginReshard(dir string, shards int, step func() error) error {
	for i := range shards {
		if err := os.MkdirAll(ShardDir(FreshDir(dir), i), 0o755); err != nil {
			return err
		}
	}
	return step()
}

// CommitReshard says that the data in FreshDir is complete and on disk: from now on it is the data of the
// cluster, and the old data is not used again.
func CommitReshard(dir string, is Record, step func() error) error {
	if err := errors.Join(syncDir(FreshDir(dir)), writeRecord(dir, readyName, is), syncDir(dir)); err != nil {
		return err
	}
	return step()
}

// FinishReshard puts complete new data in its place. It may end anywhere and be called again. Incomplete new
// data of an earlier call is removed.
func FinishReshard(dir string, step func() error) error {
	is, ok, err := readRecord(dir, readyName)
	if err != nil {
		return err
	}
	if !ok {
		return os.RemoveAll(FreshDir(dir))
	}
	was, _, err := ReadRecord(dir)
	if err != nil {
		return err
	}
	if was.Shards != is.Shards { // no shard of this change is in its place for good
		if err := moveShards(dir, is.Shards, step); err != nil {
			return err
		}
		if err := errors.Join(syncDir(KeptDir(dir)), syncDir(dir), writeRecord(dir, recordName, is), syncDir(dir)); err != nil {
			return err
		}
		if err := step(); err != nil {
			return err
		}
	}
	if err := os.Remove(filepath.Join(dir, readyName)); err != nil {
		return err
	}
	if err := errors.Join(step(), syncDir(dir)); err != nil {
		return err
	}
	return os.RemoveAll(FreshDir(dir))
}

// moveShards moves the old directories of shards away, and the new ones to their places. A new directory that
// is not in FreshDir is in its place already.
func moveShards(dir string, shards int, step func() error) error {
	// The data of an earlier change is removed before the first directory is moved.
	first := ShardDir(FreshDir(dir), 0)
	if exists(first) && exists(ShardDir(dir, 0)) {
		if err := os.RemoveAll(KeptDir(dir)); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(KeptDir(dir), 0o755); err != nil {
		return err
	}
	for i := range MaxShards {
		place, fresh := ShardDir(dir, i), ShardDir(FreshDir(dir), i)
		if i < shards && !exists(fresh) {
			continue
		}
		if exists(place) {
			if err := errors.Join(os.Rename(place, ShardDir(KeptDir(dir), i)), step()); err != nil {
				return err
			}
		}
		if i < shards {
			if err := errors.Join(os.Rename(fresh, place), step()); err != nil {
				return err
			}
		}
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// syncDir makes the names in a directory last. Some systems cannot do so, and need not.
func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	_ = f.Sync()
	return f.Close()
}
