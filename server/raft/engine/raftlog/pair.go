package raftlog

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"path/filepath"

	"lockserver/persistence/disk"
)

// pair is a small file with its content in two places, each with a checksum. Its format, do not change: two
// places of the same size. Each begins with 4 bytes with the checksum of the rest, and 4 with the length
// of the content. 8 with a number that counts up follow, 8 with the id of the log, and the content.
type pair struct {
	fs     disk.FS
	path   string
	size   int64 // of a place
	id     uint64
	number uint64 // of the newest content
	next   int64  // the place that is written next
	file   disk.File
}

const pairHead = 24

// encode returns the content of a place.
func (p *pair) encode(content []byte) ([]byte, error) {
	if int64(pairHead+len(content)) > p.size {
		return nil, errors.New(p.path + ": the content is too long")
	}
	b := binary.LittleEndian.AppendUint32(make([]byte, 4), uint32(len(content)))
	b = binary.LittleEndian.AppendUint64(b, p.number)
	b = append(binary.LittleEndian.AppendUint64(b, p.id), content...)
	binary.LittleEndian.PutUint32(b, crc32.Checksum(b[4:], checksums))
	return b, nil
}

// create makes the file, under another name first. The directory is synced.
func (p *pair) create(content []byte) error {
	p.number = 1
	b, err := p.encode(content)
	if err != nil {
		return err
	}
	f, err := p.fs.Create(p.path + ".new")
	if err != nil {
		return err
	}
	both := make([]byte, 2*p.size)
	copy(both, b)
	copy(both[p.size:], b)
	_, err = f.Write(both)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := p.fs.Rename(p.path+".new", p.path); err != nil {
		return err
	}
	return p.fs.SyncDir(filepath.Dir(p.path))
}

// read reads the newest content. The error is a *Damage if neither place is whole, and fs.ErrNotExist if
// there is no file.
func (p *pair) read() (content []byte, err error) {
	text, err := readAll(p.fs, p.path)
	if err != nil {
		return nil, err
	}
	found := false
	for place := range int64(2) {
		at := place * p.size
		if int64(len(text)) < at+pairHead {
			continue
		}
		b := text[at:min(at+p.size, int64(len(text)))]
		n := int64(binary.LittleEndian.Uint32(b[4:]))
		if pairHead+n > int64(len(b)) || crc32.Checksum(b[4:pairHead+n], checksums) != binary.LittleEndian.Uint32(b) {
			continue
		}
		if number := binary.LittleEndian.Uint64(b[8:]); !found || number > p.number {
			found = true
			p.number, p.id, p.next = number, binary.LittleEndian.Uint64(b[16:]), 1-place
			content = b[pairHead : pairHead+n]
		}
	}
	if !found {
		return nil, &Damage{File: p.path, At: 0, Why: "both of its parts are damaged"}
	}
	return content, nil
}

// write writes content to the place that is not the newest.
func (p *pair) write(content []byte) error {
	if p.file == nil {
		f, err := p.fs.Append(p.path)
		if err != nil {
			return err
		}
		p.file = f
	}
	p.number++
	b, err := p.encode(content)
	if err != nil {
		return err
	}
	_, err = p.file.WriteAt(b, p.next*p.size)
	return err
}

// put writes content, which a loss of power may undo.
func (p *pair) put(content []byte) error {
	if err := p.write(content); err != nil {
		return err
	}
	p.next = 1 - p.next
	return nil
}

// putBoth writes content to both places. The second is only written when the first is on the disk.
func (p *pair) putBoth(content []byte) error {
	for range 2 {
		if err := p.write(content); err != nil {
			return err
		}
		if err := p.file.Sync(); err != nil {
			return err
		}
		p.next = 1 - p.next
	}
	return nil
}

func (p *pair) close() error {
	if p.file == nil {
		return nil
	}
	f := p.file
	p.file = nil
	return f.Close()
}

// readAll reads a file.
func readAll(from disk.FS, path string) (text []byte, err error) {
	f, err := from.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if text, err = io.ReadAll(f); err != nil {
		err = unreadable(path, int64(len(text)), err)
	}
	return text, err
}
