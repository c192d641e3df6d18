package persistence

import (
	"fmt"
	"math"

	"lockserver/persistence/rdb"
	"lockserver/store"
	"lockserver/store/bloom"
)

// saveBloom writes a Bloom filter in the form of the module RedisBloom.
func saveBloom(out *rdb.Writer, f *bloom.Filter) {
	p := f.Parts()
	out.Bloom(&rdb.BloomFilter{Size: p.Size, Options: uint64(p.Options), Growth: uint64(p.Growth)}, len(p.Links),
		func(i int) rdb.BloomLink {
			l := &p.Links[i]
			return rdb.BloomLink{Entries: l.Entries, Hashes: uint64(l.Hashes), Bits: l.Bits, N2: uint64(l.N2), Size: l.Size,
				ErrorRate: l.ErrorRate, BitsPerItem: l.BitsPerItem, Data: f.Bits(i)}
		})
}

// loadBloom reads a Bloom filter in the form of the module RedisBloom.
func loadBloom(in input, st *store.Store, e *rdb.Entry) (*bloom.Filter, error) {
	from := e.Filter
	p := bloom.Parts{Size: from.Size, Options: uint32(min(from.Options, math.MaxUint32)),
		Growth: uint32(min(from.Growth, math.MaxUint32))}
	for i := range from.Links {
		l := &from.Links[i]
		p.Links = append(p.Links, bloom.Link{Entries: l.Entries, Size: l.Size, ErrorRate: l.ErrorRate, BitsPerItem: l.BitsPerItem,
			Hashes: uint32(min(l.Hashes, math.MaxUint32)), N2: uint8(min(l.N2, math.MaxUint8)), Bits: l.Bits,
			Bytes: uint64(len(l.Data)), Data: l.Data})
	}
	f, err := st.NewBloom(p)
	if err != nil {
		return nil, fmt.Errorf("rdb: offset %d: key %q: a Bloom filter that is corrupt, too large or of a form before "+
			"RedisBloom 2: %w", in.Offset(), e.Key, err)
	}
	return f, nil
}
