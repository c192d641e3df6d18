package disk

import (
	"os"
	"sync"
	"syscall"
)

// syncer makes the data of one file durable.
type syncer struct {
	mu      sync.Mutex
	times   int      // number of syncs, up to manySyncs
	kernel  *aioSync // nil: not made yet, or not available
	without bool     // kernel is not available
}

// manySyncs is the number of syncs after which a file is worth the setup of aioSync.
const manySyncs = 16

// fewBytes is the largest number of new bytes for which aioSync is used. A sync of more serves many requests
// and takes longer, so a blocked thread costs little in comparison. aioSync needs a processor twice, for the
// kernel's worker and for the goroutine that reads Go's poller. Each can take some milliseconds while all
// processors are busy.
const fewBytes = 16 << 10

// sync makes the data and the size durable, but not the time of the last change, which fsync would also
// write. fresh is the number of bytes written since the last sync.
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

// often returns the aioSync of a file that is synced often; nil for other files.
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

// free releases the aioSync.
func (s *syncer) free() {
	if s.kernel != nil {
		s.kernel.close()
		s.kernel = nil
	}
}

// close calls free after the last sync.
func (s *syncer) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.without = true
	s.free()
}
