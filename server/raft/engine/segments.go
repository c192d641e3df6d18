package engine

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	iofs "io/fs"
	"os"
	"path/filepath"

	"github.com/hashicorp/raft-wal/metadb"
	"github.com/hashicorp/raft-wal/segment"
	"github.com/hashicorp/raft-wal/types"
	"go.etcd.io/bbolt"

	"lockserver/persistence/disk"
)

// What the files of the log hold, read without the library, which verifies none of it: each batch of a file
// has a checksum, each file has the place that the list of files says, and entries follow each other.

// segmentMagic begins a file.
const segmentMagic = 0x58eb6b0d

// kept is what the list of files holds: the list, and the values of the stable store.
type kept struct {
	types.PersistentState
	stable map[string][]byte
	list   []byte // as it is written; nil: there is none yet
}

// readKept reads the list of a log's files in a directory. Without a list there is neither a log nor a value.
func readKept(in string) (k kept, there bool, err error) {
	path := filepath.Join(in, metadb.FileName)
	file, err := os.ReadFile(path)
	if errors.Is(err, iofs.ErrNotExist) {
		return k, false, nil
	}
	if err != nil {
		return k, false, err
	}
	all, err := readBolt(file)
	if err != nil {
		return k, true, inFile(err, path)
	}
	k.stable = all[metadb.StableBucket]
	if text := all[metadb.MetaBucket][metadb.MetaKey]; text != nil {
		k.list = text
		if err := json.Unmarshal(text, &k.PersistentState); err != nil {
			return k, true, &Damage{File: path, At: -1, Why: "the list of the log's files: " + err.Error()}
		}
	}
	if all[metadb.MetaBucket] == nil || k.stable == nil {
		return k, true, &Damage{File: path, At: -1, Why: "it lacks a part"}
	}
	return k, true, nil
}

// extent is what a log was found to have: its first and its last entry, and the last one's term. Without
// entries all are 0. torn is a batch at the end that was not written whole, or is damaged; nil: there is
// none.
type extent struct {
	first, last, term uint64
	torn              *Damage
}

// readLog verifies the files of a log.
func readLog(in string, files []types.SegmentInfo) (x extent, err error) {
	for i := range files {
		s, isLast := &files[i], i == len(files)-1
		v := verifying{path: filepath.Join(in, segment.FileName(*s)), s: s, x: &x}
		if err := v.file(isLast); err != nil {
			return x, err
		}
		if !isLast && x.last != s.MaxIndex {
			return x, v.damage(-1, fmt.Sprintf("its entries end with %d, and by the list of files with %d", x.last, s.MaxIndex))
		}
	}
	return x, nil
}

// verifying is the verification of one file.
type verifying struct {
	path  string
	s     *types.SegmentInfo
	x     *extent
	bytes []byte
	next  uint64 // the index of the next entry
}

func (v *verifying) damage(at int, why string) error {
	return &Damage{File: v.path, At: int64(at), Why: why}
}

// file verifies a file. The last one may end in a batch that was not written whole.
func (v *verifying) file(isLast bool) (err error) {
	v.bytes, err = os.ReadFile(v.path)
	switch {
	case errors.Is(err, iofs.ErrNotExist) && isLast && v.s.MaxIndex == 0:
		v.x.torn = &Damage{File: v.path, At: -1, Why: "it is missing"} // or was not made yet
		return nil
	case errors.Is(err, iofs.ErrNotExist):
		return v.damage(-1, "it is missing")
	case err != nil:
		return err
	}
	v.next = v.s.BaseIndex
	if v.x.last > 0 && v.next != v.x.last+1 {
		return v.damage(0, fmt.Sprintf("it begins with the entry %d, and the file before it ends with %d", v.next, v.x.last))
	}
	from, at := 0, fileHeaderBytes
	for {
		end, why := v.batch(from, at)
		if why == "" && end > at {
			from, at = end, end
			continue
		}
		if why != "" && (!isLast || v.provesMore(from, end)) {
			return v.damage(from, why)
		}
		if why != "" {
			v.x.torn = &Damage{File: v.path, At: int64(from), Why: why}
		}
		return nil
	}
}

// provesMore reports whether a broken batch from one offset to another is no torn end: another whole batch
// follows it.
func (v *verifying) provesMore(from, end int) bool {
	begin, at := end, end
	if from == end {
		return false
	}
	for len(v.bytes)-at >= frameHeaderBytes {
		size, kind := v.frame(at)
		if kind == 0 || size < 0 {
			return false
		}
		if kind == frameCommit {
			return crc32.Checksum(v.bytes[begin:at], checksums) == binary.LittleEndian.Uint32(v.bytes[at+4:])
		}
		at += size
	}
	return false
}

// frame returns the size and the type of the frame at an offset; type 0: there is none.
func (v *verifying) frame(at int) (size int, kind byte) {
	head := v.bytes[at : at+frameHeaderBytes]
	number := int(binary.LittleEndian.Uint32(head[4:]))
	switch kind = head[0]; {
	case head[1]|head[2]|head[3] != 0 || kind > frameCommit:
		return -1, 0
	case kind == frameCommit:
		return frameHeaderBytes, kind
	}
	size = frameHeaderBytes + (number+frameHeaderBytes-1)/frameHeaderBytes*frameHeaderBytes
	if at+size > len(v.bytes) {
		return -1, 0
	}
	return size, kind
}

// batch verifies a batch. Its checksum covers what is behind from, and its frames begin at at: the first one
// has the file's head before them. It returns where the batch ends, and what is wrong with it.
func (v *verifying) batch(from, at int) (end int, why string) {
	begin := at
	for {
		if len(v.bytes)-at < frameHeaderBytes {
			if at > begin {
				return from, "a batch of entries has no end"
			}
			return at, ""
		}
		size, kind := v.frame(at)
		switch {
		case size < 0:
			return from, "it is no entry"
		case kind == 0 && at == begin && binary.LittleEndian.Uint32(v.bytes[at+4:]) == 0:
			return at, ""
		case kind == 0:
			return from, "a batch of entries has no end"
		case kind == frameCommit:
			end := at + frameHeaderBytes
			if crc32.Checksum(v.bytes[from:at], checksums) != binary.LittleEndian.Uint32(v.bytes[at+4:]) {
				return end, "the checksum of a batch of entries is wrong"
			}
			if why = v.entries(from, begin, at); why != "" {
				return from, why
			}
			return end, ""
		}
		at += size
	}
}

// entries verifies that the entries of a whole batch follow each other.
func (v *verifying) entries(from, at, end int) (why string) {
	if from == 0 {
		h := v.bytes[:fileHeaderBytes]
		if binary.LittleEndian.Uint32(h) != segmentMagic || binary.LittleEndian.Uint64(h[8:]) != v.s.BaseIndex || binary.LittleEndian.Uint64(h[16:]) != v.s.ID {
			return "it is another file than its name and the list of files say"
		}
	}
	for at < end {
		size, kind := v.frame(at)
		if kind == frameEntry {
			data := v.bytes[at+frameHeaderBytes : at+size]
			index, n := binary.Uvarint(data)
			term, m := binary.Uvarint(data[max(n, 0):])
			if n <= 0 || m <= 0 || index != v.next || term < v.x.term {
				return fmt.Sprintf("at the place of the entry %d is %d, with the term %d behind %d", v.next, index, term, v.x.term)
			}
			v.next++
			if index >= v.s.MinIndex && (v.s.MaxIndex == 0 || index <= v.s.MaxIndex) {
				if v.x.first == 0 {
					v.x.first = index
				}
				v.x.last, v.x.term = index, term
			}
		}
		at += size
	}
	return ""
}

// writeList writes the list of files anew from what was read in it. After a failed sync, what can be read may
// not be on the disk. And bbolt keeps a list of the free parts of its file, which has no checksum. A process
// that has the old file open keeps that.
func (k *kept) writeList(in string) (err error) {
	made, err := os.MkdirTemp(in, "list-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(made)) }()
	if err := k.fill(filepath.Join(made, listFile)); err != nil {
		return err
	}
	if err = os.Rename(filepath.Join(made, listFile), filepath.Join(in, listFile)); err != nil {
		return err
	}
	return disk.OS{}.SyncDir(in)
}

// fill makes a file of bbolt with the list and the values, and syncs it.
func (k *kept) fill(path string) error {
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{NoSync: true, NoGrowSync: true})
	if err != nil {
		return err
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		list, err := tx.CreateBucket([]byte(metadb.MetaBucket))
		if err != nil {
			return err
		}
		stable, err := tx.CreateBucket([]byte(metadb.StableBucket))
		if err != nil {
			return err
		}
		if k.list != nil {
			err = list.Put([]byte(metadb.MetaKey), k.list)
		}
		for key, value := range k.stable {
			err = errors.Join(err, stable.Put([]byte(key), value))
		}
		return err
	})
	if err == nil {
		err = db.Sync()
	}
	return errors.Join(err, db.Close())
}
