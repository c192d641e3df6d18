package older

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	iofs "io/fs"
	"os"
	"path/filepath"
	"time"

	hraft "github.com/hashicorp/raft"

	"lockserver/server/raft/engine/raftlog"
)

// What the files of the log hold, read without the library, which verifies none of it: each batch of a file
// has a checksum, each file has the place that the list of files says, and entries follow each other.

// The format of a file: a header, then frames. A frame has a type, three zero bytes, and a length. A commit
// has, instead of the length, a checksum of all that is behind the commit before it. The content of a frame
// is padded to eight bytes.
const (
	segmentMagic     = 0x58eb6b0d
	fileHeaderBytes  = 32
	frameHeaderBytes = 8

	frameEntry  = 1
	frameCommit = 3
)

var checksums = crc32.MakeTable(crc32.Castagnoli)

// list is the list of files, as raft-wal has it in JSON. The order of the fields is its, too.
type list struct {
	NextSegmentID uint64
	Segments      []segment
}

// segment is a file in the list.
type segment struct {
	ID, BaseIndex, MinIndex, MaxIndex, Codec, IndexStart uint64
	CreateTime, SealTime                                 time.Time
	SizeLimit                                            uint32
}

// The names in the file of bbolt.
const (
	listFile     = "wal-meta.db"
	listBucket   = "wal-meta"
	listKey      = "m"
	stableBucket = "stable"
)

// kept is what the list of files holds: the list, and the values of the stable store.
type kept struct {
	list
	stable map[string][]byte
}

// readKept reads the list of a log's files in a directory. Without a list there is neither a log nor a value.
func readKept(in string) (k kept, there bool, err error) {
	path := filepath.Join(in, listFile)
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
	k.stable = all[stableBucket]
	if text := all[listBucket][listKey]; text != nil {
		if err := json.Unmarshal(text, &k.list); err != nil {
			return k, true, &raftlog.Damage{File: path, At: -1, Why: "the list of the log's files: " + err.Error()}
		}
	}
	if all[listBucket] == nil || k.stable == nil {
		return k, true, &raftlog.Damage{File: path, At: -1, Why: "it lacks a part"}
	}
	return k, true, nil
}

// extent is what a log was found to have: its first and its last entry, and the last one's term. Without
// entries all are 0. torn is a batch at the end that was not written whole, or is damaged; nil: there is
// none.
type extent struct {
	first, last, term uint64
	torn              *raftlog.Damage
}

// readLog verifies the files of a log.
func readLog(in string, files []segment, visit func(*hraft.Log) error) (x extent, err error) {
	for i := range files {
		s, isLast := &files[i], i == len(files)-1
		v := verifying{path: filepath.Join(in, fmt.Sprintf("%020d-%016x.wal", s.BaseIndex, s.ID)), s: s, x: &x, visit: visit}
		if err := v.file(isLast); err != nil {
			return x, err
		}
		if v.failed != nil {
			return x, v.failed
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
	s     *segment
	x     *extent
	bytes []byte
	next  uint64 // the index of the next entry
	// visit is called with each entry; nil: it is not. failed is what it returned.
	visit  func(*hraft.Log) error
	failed error
}

func (v *verifying) damage(at int, why string) error {
	return &raftlog.Damage{File: v.path, At: int64(at), Why: why}
}

// file verifies a file. The last one may end in a batch that was not written whole.
func (v *verifying) file(isLast bool) (err error) {
	v.bytes, err = os.ReadFile(v.path)
	switch {
	case errors.Is(err, iofs.ErrNotExist) && isLast && v.s.MaxIndex == 0:
		v.x.torn = &raftlog.Damage{File: v.path, At: -1, Why: "it is missing"} // or was not made yet
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
			v.x.torn = &raftlog.Damage{File: v.path, At: int64(from), Why: why}
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
				if v.visit != nil && v.failed == nil {
					v.failed = v.give(index, term, data[n+m:])
				}
			}
		}
		at += size
	}
	return ""
}

// give calls visit with an entry. data follows its index and term: its type, the length of its data, and the
// data. All of it has passed the checksum.
func (v *verifying) give(index, term uint64, data []byte) error {
	kind, n := binary.Uvarint(data)
	size, m := binary.Uvarint(data[max(n, 0):])
	if n <= 0 || m <= 0 || size > uint64(len(data)-n-m) {
		return v.damage(-1, fmt.Sprintf("the entry %d cannot be read", index))
	}
	data = data[n+m:]
	l := &hraft.Log{Index: index, Term: term, Type: hraft.LogType(kind), Data: data[:size:size]}
	rest := data[size:]
	extra, n := binary.Uvarint(rest)
	if n > 0 && extra == 0 && len(rest) >= n+timeBytes {
		_ = l.AppendedAt.UnmarshalBinary(rest[n:][:timeBytes]) // a figure for operators, and no more
	}
	return v.visit(l)
}

// timeBytes is how many bytes time.Time has in its binary form.
const timeBytes = 15
