package engine

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	hraft "github.com/hashicorp/raft"

	"lockserver/persistence"
	"lockserver/persistence/disk"
)

const (
	// memberFile names the member that a directory belongs to. Its format, do not change: the member's id, a
	// space, the group's name, and a newline.
	memberFile = "member"
	lockFile   = "lock"
	// diskDir has everything that a member goes on from: logDir with its log, its votes and its identity, and
	// its snapshots.
	diskDir = "disk"
	logDir  = "log"
	// charterFile has the group's charter. Its format, do not change: that, and a newline.
	charterFile = "charter"
	// keptSnapshots are the newest ones; the older one is there while another is made.
	keptSnapshots = 2
	// cachedEntries are kept in memory, for members that keep up.
	cachedEntries = 512
)

// KeepIn makes o's stores files of a directory, which is made if it is not there, and verified. The error
// says what is wrong with it: it is another member's, or in use, or a *Damage.
func KeepIn(dir, group string, o *Options) (err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	lock, err := disk.OS{}.Lock(filepath.Join(dir, lockFile))
	if errors.Is(err, disk.ErrLocked) {
		return fmt.Errorf("%s is in use: stop the server that runs with it", dir)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", dir, err)
	}
	defer func() {
		if err != nil {
			_ = lock.Close()
		}
	}()
	if err := belongs(filepath.Join(dir, memberFile), o.ID+" "+group); err != nil {
		return err
	}
	if o.Charter, err = openCharter(filepath.Join(dir, charterFile), o.Peers); err != nil {
		return err
	}
	log, err := o.admit(dir)
	if err != nil {
		return err
	}
	cached, err := hraft.NewLogCache(cachedEntries, log)
	if err == nil {
		o.Snapshots, err = openSnapshots(filepath.Join(dir, diskDir), o.Log)
	}
	if err != nil {
		return errors.Join(err, log.Close())
	}
	o.Logs, o.Stable = cached, log
	o.distrust = func(d *Damage) error { return beginMoving(filepath.Join(dir, damagedPrefix+moving), d) }
	o.verifySnapshots = func() error { return verifyAgain(filepath.Join(dir, diskDir, snapshotsDir), o.Logs) }
	o.committed = &committed{path: filepath.Join(dir, committedFile)}
	o.Space = func() (free, size int64) { return spaceOf(dir) }
	if err := o.Identify(); err != nil {
		return errors.Join(err, log.Close())
	}
	o.Release = func() error { return errors.Join(log.Close(), lock.Close()) }
	return nil
}

// MemberOf returns the id and the group of the member that a directory belongs to; empty: it belongs to none.
func MemberOf(dir string) (string, error) {
	found, err := os.ReadFile(filepath.Join(dir, memberFile))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return "", nil
	}
	return strings.TrimSpace(string(found)), err
}

// belongs says that a directory is a member's, or finds out that it is another's.
func belongs(path, member string) error {
	found, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return persistence.ReplaceFile(path, 0o600, func(w io.Writer) error {
			_, err := fmt.Fprintln(w, member)
			return err
		})
	}
	if is := strings.TrimSpace(string(found)); err == nil && is != member {
		return fmt.Errorf("%s: the directory is that of '%s' (id and group), not of '%s': a member has one for itself", path, is, member)
	}
	return err
}
