package disk

import (
	"os"
	"sync"
	"syscall"
)

// syncer makes the data of one file durable.
type syncer struct {
	mu      sync.Mutex
	times   int      // that the file was synced, up to manySyncs
	kernel  *aioSync // nil: not yet, or not to be had
	without bool     // kernel is not to be had
}

// manySyncs is after how many syncs a file is one that is synced all the time, and worth
// what aioSync takes to set up.
const manySyncs = 16

// fewBytes is up to how many new bytes aioSync is used. A sync of more serves many requests and takes longer,
// so a blocked thread costs little beside it. aioSync needs a processor twice, for the kernel's worker and
// for the goroutine that reads Go's poller. Each can take some milliseconds while all processors are busy.
const fewBytes = 16 << 10

// sync leaves out what fsync writes beyond the data and the size: the time of the last change. fresh is the
// number of bytes written since the last sync.
func (s *syncer) sync(f *os.File, fresh int64) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var synced error
	err = conn.Control(func(fd uintptr) { synced = s.syncData(int(fd), fresh) })
	if err != nil {
		return err
	}
	return synced
}

func (s *syncer) syncData(fd int, fresh int64) error {
	if fresh <= fewBytes && s.mu.TryLock() { // a second sync at the same time uses fdatasync
		defer s.mu.Unlock()
		if k := s.often(); k != nil {
			err, done := k.sync(fd)
			if done {
				return err
			}
			s.without = true
			s.free()
		}
	}
	for {
		if err := syscall.Fdatasync(fd); err != syscall.EINTR {
			return err
		}
	}
}

// often is the kernel's own way for a file that is synced often; nil otherwise.
func (s *syncer) often() *aioSync {
	if s.times < manySyncs {
		s.times++
		return nil
	}
	if s.kernel == nil && !s.without {
		s.kernel = newAIOSync()
		s.without = s.kernel == nil
	}
	return s.kernel
}

// free gives back what was set up.
func (s *syncer) free() {
	if s.kernel != nil {
		s.kernel.close()
		s.kernel = nil
	}
}

// close is free, after the last sync.
func (s *syncer) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.without = true
	s.free()
}
