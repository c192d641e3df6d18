package engine

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"time"

	"lockserver/persistence/disk"
)

// A disk is measured as etcd's documentation has it: writes of 2300 bytes, synced one by one. 99 of 100
// syncs should take 10 ms at most.
const (
	syncBytes  = 2300
	mostSyncs  = 2000
	leastSyncs = 100
	syncGoal   = 10 * time.Millisecond
	// syncsFor is for how long there are more syncs than leastSyncs.
	syncsFor = 5 * time.Second
)

// syncFile is the file that is written for that, and removed.
const syncFile = "lockserver-check-system.tmp"

// CheckDisk measures syncs in a directory, writes the result, and reports whether the disk will do for a
// member.
func CheckDisk(dir string, out io.Writer) (good bool, err error) {
	took, err := measureSyncs(disk.OS{Blocking: true}, dir, time.Now)
	return err == nil && reportSyncs(out, dir, took), err
}

// measureSyncs writes to a file in a directory, and returns how long each sync took, shortest first.
func measureSyncs(on disk.FS, dir string, now func() time.Time) (took []time.Duration, err error) {
	path := filepath.Join(dir, syncFile)
	f, err := on.Create(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close(), on.Remove(path)) }()
	block := make([]byte, syncBytes)
	for begun := now(); len(took) < mostSyncs && (len(took) < leastSyncs || now().Sub(begun) < syncsFor); {
		if _, err := f.Write(block); err != nil {
			return nil, err
		}
		at := now()
		if err := f.Sync(); err != nil {
			return nil, err
		}
		took = append(took, now().Sub(at))
	}
	slices.Sort(took)
	return took, nil
}

// reportSyncs writes what was measured, and reports whether the disk will do for a raft group.
func reportSyncs(out io.Writer, dir string, took []time.Duration) bool {
	at := func(percent int) time.Duration {
		return took[(len(took)*percent+99)/100-1].Round(10 * time.Microsecond)
	}
	figures := fmt.Sprintf("%d syncs in %s: half took at most %v, 99 of 100 at most %v, the longest %v", len(took), dir, at(50), at(99), at(100))
	if at(99) > syncGoal {
		fmt.Fprintf(out, "[disk-sync]...WARNING:\n%s. Of a raft group's disk, 99 of 100 should take at most %v\n", figures, syncGoal)
		return false
	}
	fmt.Fprintf(out, "[disk-sync]...OK: %s\n", figures)
	return true
}
