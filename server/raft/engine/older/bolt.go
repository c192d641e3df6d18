package older

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"

	"lockserver/server/raft/engine/raftlog"
)

// The list of the log's files, the term and the vote are in a file of bbolt. readBolt reads one without that
// library, which maps the file and ends the process where bytes are wrong. Its format: pages of one size. The
// first two are meta pages with a checksum, and the one with the higher transaction counts. The others are
// the branches and leaves of trees of keys. A tree is a bucket; the root bucket has the buckets by name.

// The format of bbolt, version 2.
const (
	boltMagic   = 0xED0CDAED
	boltVersion = 2

	boltPageHead = 16
	boltElement  = 16

	boltBranch   = 0x01
	boltLeaf     = 0x02
	boltIsBucket = 0x01
	// boltDepth bounds the height of a tree, which a damaged file may have loops in.
	boltDepth = 16
)

// bolt is a file of bbolt.
type bolt struct {
	bytes []byte
	page  uint64 // the size of a page
}

// errBolt says at which offset a file is not as bbolt writes it.
func errBolt(at uint64, what string) error { return &raftlog.Damage{At: int64(at), Why: what} }

// readBolt returns the values of all buckets, by the bucket's name and the key.
func readBolt(file []byte) (all map[string]map[string][]byte, err error) {
	b := &bolt{bytes: file}
	root, err := b.root()
	if err != nil {
		return nil, err
	}
	all = map[string]map[string][]byte{}
	err = b.walk(root, 0, func(at uint64, flags uint32, name, value []byte) error {
		if flags&boltIsBucket == 0 || len(value) < boltPageHead {
			return errBolt(at, "it is no bucket")
		}
		bucket := map[string][]byte{}
		all[string(name)] = bucket
		put := func(_ uint64, _ uint32, key, value []byte) error {
			bucket[string(key)] = value
			return nil
		}
		if page := binary.LittleEndian.Uint64(value); page != 0 {
			return b.walk(page, 0, put)
		}
		return b.leaf(value[boltPageHead:], at, put)
	})
	return all, err
}

// root returns the page of the root bucket. Both meta pages have to be whole: each is written by itself, into
// one sector of the disk.
func (b *bolt) root() (page uint64, err error) {
	first := b.meta(0)
	if first == nil {
		return 0, errBolt(0, "its first page is not whole")
	}
	b.page = uint64(binary.LittleEndian.Uint32(first[8:]))
	if b.page < 512 || b.page > 64<<10 {
		return 0, errBolt(0, "its pages have an impossible size")
	}
	second := b.meta(b.page)
	if second == nil {
		return 0, errBolt(b.page, "its second page is not whole")
	}
	newest := first
	if binary.LittleEndian.Uint64(second[48:]) > binary.LittleEndian.Uint64(first[48:]) {
		newest = second
	}
	return binary.LittleEndian.Uint64(newest[16:]), nil
}

// meta returns the meta page at an offset; nil: none that is whole is there.
func (b *bolt) meta(at uint64) []byte {
	if uint64(len(b.bytes)) < at+boltPageHead+64 {
		return nil
	}
	m := b.bytes[at+boltPageHead:][:64]
	sum := fnv.New64a()
	_, _ = sum.Write(m[:56])
	if binary.LittleEndian.Uint32(m) != boltMagic || binary.LittleEndian.Uint32(m[4:]) != boltVersion || binary.LittleEndian.Uint64(m[56:]) != sum.Sum64() {
		return nil
	}
	return m
}

// walk calls visit with each key of a tree.
func (b *bolt) walk(page uint64, depth int, visit func(at uint64, flags uint32, key, value []byte) error) error {
	at := page * b.page
	if depth > boltDepth || page < 2 || page > uint64(len(b.bytes)) || at+b.page > uint64(len(b.bytes)) {
		return errBolt(at, fmt.Sprintf("there is no page %d", page))
	}
	p := b.bytes[at:]
	overflow := uint64(binary.LittleEndian.Uint32(p[12:]))
	if end := (overflow + 1) * b.page; end <= uint64(len(p)) {
		p = p[:end]
	}
	if binary.LittleEndian.Uint64(p) != page {
		return errBolt(at, fmt.Sprintf("it is not the page %d", page))
	}
	if binary.LittleEndian.Uint16(p[8:]) != boltBranch {
		return b.leaf(p, at, visit)
	}
	for i := range uint64(binary.LittleEndian.Uint16(p[10:])) {
		head := boltPageHead + i*boltElement
		if head+boltElement > uint64(len(p)) {
			return errBolt(at, "it has more keys than space")
		}
		if err := b.walk(binary.LittleEndian.Uint64(p[head+8:]), depth+1, visit); err != nil {
			return err
		}
	}
	return nil
}

// leaf calls visit with each key of a leaf.
func (b *bolt) leaf(p []byte, at uint64, visit func(at uint64, flags uint32, key, value []byte) error) error {
	if len(p) < boltPageHead || binary.LittleEndian.Uint16(p[8:]) != boltLeaf {
		return errBolt(at, "it is no page of keys")
	}
	for i := range uint64(binary.LittleEndian.Uint16(p[10:])) {
		head := boltPageHead + i*boltElement
		if head+boltElement > uint64(len(p)) {
			return errBolt(at, "it has more keys than space")
		}
		e := p[head:]
		from := head + uint64(binary.LittleEndian.Uint32(e[4:]))
		key, value := uint64(binary.LittleEndian.Uint32(e[8:])), uint64(binary.LittleEndian.Uint32(e[12:]))
		if from+key+value > uint64(len(p)) {
			return errBolt(at+head, "a key is behind the end of its page")
		}
		if err := visit(at+head, binary.LittleEndian.Uint32(e), p[from:from+key], p[from+key:from+key+value]); err != nil {
			return err
		}
	}
	return nil
}
