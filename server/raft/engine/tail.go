package engine

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/hashicorp/raft-wal/types"

	"lockserver/persistence/disk"
)

// The newest file of the log, when it is opened. What can be read there need not be on the disk. After a
// failed sync the system may have dropped what it could not write, but still shows it until it ends, and
// reports success for the next sync. raft-wal writes a batch of entries anew when it could not be synced, but
// no earlier one. But when the file is opened, for example by the next process, raft-wal believes every batch
// that it can read, and would acknowledge it to others.
//
// So the last batch is written anew and synced before it is used. Those before it were synced, or it would
// not be there. What is behind it is cleared. It is of a failed write, and parts of it would be taken for
// entries when a later write breaks off at them.
//
// A file may be sealed although the list of files does not say so yet. Such a file goes on as an unsealed
// one: raft-wal opens it as the one to write to, and then writes nothing to it, for good. Its last frames are
// an index and the commit; the commit moves to the place of the index.

// written is a file system that makes sure of the files that it opens for writing: what can be read in them
// is on the disk.
type written struct{ types.VFS }

// OpenWriter implements types.VFS.
func (w written) OpenWriter(dir, name string) (types.WritableFile, error) {
	f, err := w.VFS.OpenWriter(dir, name)
	if err != nil {
		return nil, err
	}
	err = writeAnew(f)
	if err == nil { // the file may be new, and only now be worth something
		err = disk.OS{}.SyncDir(dir)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s cannot be written anew: %w", name, err), f.Close())
	}
	return f, nil
}

// The format of a file is raft-wal's, in its segment/format.go: a header, then frames. A frame has a type,
// three zero bytes, and a length. A commit has, instead of the length, a checksum of all that is behind the
// commit before it. The content of a frame is padded to eight bytes.
const (
	fileHeaderBytes  = 32
	frameHeaderBytes = 8

	frameEntry  = 1
	frameIndex  = 2
	frameCommit = 3
)

var checksums = crc32.MakeTable(crc32.Castagnoli)

// frames are those of a file. commit and before are where the last two commits begin, 0: there is none.
type frames struct {
	commit, before int64
	sum            uint32 // the last commit's
	index          int64  // where an index before that commit begins; 0: there is none
	open           int64  // the same behind that commit
	more           bool   // there are entries behind the last commit
}

// readFrames reads which frames a file has, as raft-wal does.
func readFrames(f io.ReaderAt) (s frames, err error) {
	var head [frameHeaderBytes]byte
	for at := int64(fileHeaderBytes); ; {
		if n, err := f.ReadAt(head[:], at); n < len(head) {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return s, err
		}
		number := binary.LittleEndian.Uint32(head[4:])
		size := (int64(number) + frameHeaderBytes - 1) / frameHeaderBytes * frameHeaderBytes
		switch head[0] {
		case frameEntry:
			s.more = true
		case frameIndex:
			s.open = at
		case frameCommit:
			s.before, s.commit, s.sum, s.more = s.commit, at, number, false
			s.index, s.open = s.open, 0
			size = 0
		default:
			return s, nil
		}
		at += frameHeaderBytes + size
	}
}

// writeAnew writes the last batch of a file anew, unseals it, clears what is behind it, and syncs.
func writeAnew(f types.WritableFile) error {
	s, err := readFrames(f)
	if err != nil {
		return err
	}
	end := int64(0)
	if s.commit > 0 {
		if end, err = s.rewrite(f); err != nil {
			return err
		}
	}
	if err := wipe(f, end); err != nil {
		return err
	}
	return f.Sync()
}

// rewrite writes the last whole batch anew, and returns where it ends.
func (s *frames) rewrite(f types.WritableFile) (end int64, err error) {
	from := int64(0)
	if s.before > 0 {
		from = s.before + frameHeaderBytes
	}
	batch := make([]byte, s.commit-from)
	if _, err := f.ReadAt(batch, from); err != nil {
		return 0, err
	}
	if !s.more && crc32.Checksum(batch, checksums) != s.sum {
		return from, nil // it is torn, and was never acknowledged
	}
	commit := s.commit
	if s.index > 0 {
		if s.index == from {
			return from, nil // it has nothing but the seal
		}
		commit, batch = s.index, batch[:s.index-from]
		s.sum = crc32.Checksum(batch, checksums)
	}
	batch = append(batch, frameCommit, 0, 0, 0)
	batch = binary.LittleEndian.AppendUint32(batch, s.sum)
	_, err = f.WriteAt(batch, from)
	return commit + frameHeaderBytes, err
}

// wipeBytes is how much of a file is looked at at once.
const wipeBytes = 64 << 10

// wipe makes zeros of what a file has from a place on. Most of it is: it was made with its full size.
func wipe(f types.WritableFile, from int64) error {
	block, zeros := make([]byte, wipeBytes), make([]byte, wipeBytes)
	for {
		n, err := f.ReadAt(block, from)
		if string(block[:n]) != string(zeros[:n]) {
			if _, err := f.WriteAt(zeros[:n], from); err != nil {
				return err
			}
		}
		if from += int64(n); err != nil || n == 0 {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return err
		}
	}
}
