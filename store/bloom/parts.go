package bloom

import "lockserver/store/cow"

// Parts holds a filter's numbers and bits, for snapshots.
type Parts struct {
	Size            uint64
	Options, Growth uint32
	Links           []Link
}

// Link is a sub-filter of Parts.
type Link struct {
	Entries, Size          uint64
	ErrorRate, BitsPerItem float64
	Hashes                 uint32
	N2                     uint8
	Bits, Bytes            uint64
	// Data holds the bits, in Bytes bytes. nil means that all bits are clear.
	Data []byte
}

// Parts returns the numbers of the filter, without bits: Bits has them.
func (f *Filter) Parts() Parts {
	p := Parts{Size: f.size, Options: f.options, Growth: f.growth}
	for i := range f.links {
		l := &f.links[i]
		p.Links = append(p.Links, Link{Entries: l.entries, Size: l.size, ErrorRate: l.rate, BitsPerItem: l.perItem,
			Hashes: l.hashes, N2: l.n2, Bits: l.bits, Bytes: l.bytes})
	}
	return p
}

// Bits returns a copy of the bits of the i-th sub-filter.
func (f *Filter) Bits(i int) []byte { return f.links[i].read(nil, 0, f.links[i].bytes) }

// FromParts returns the filter of these parts. It does not keep p. The error is ErrData: the parts are
// inconsistent, or use hashes of 32 bits, as filters did before RedisBloom 2.
func FromParts(ep *cow.Epoch, p Parts) (*Filter, error) {
	if len(p.Links) == 0 || len(p.Links) > maxLinks || p.Options&^optsKnown != 0 || p.Options&optHash64 == 0 ||
		p.Options&optNonScaling == 0 && (p.Growth == 0 || p.Growth > MaxGrowth) {
		return nil, ErrData
	}
	f := &Filter{epoch: ep, stamp: ep.Now(), size: p.Size, options: p.Options, growth: p.Growth, memory: filterBytes}
	total := uint64(0)
	for _, in := range p.Links {
		l := link{entries: in.Entries, size: in.Size, rate: in.ErrorRate, perItem: in.BitsPerItem, hashes: in.Hashes, n2: in.N2,
			bits: in.Bits, bytes: in.Bytes}
		if !l.valid() || f.InfoBytes()+l.bytes > maxBytes || in.Data != nil && uint64(len(in.Data)) != in.Bytes || total+in.Size < total {
			return nil, ErrData
		}
		total += in.Size
		l.pages = make([]*page, l.pageCount())
		f.memory += linkBytes + 8*len(l.pages) + l.write(ep, 0, in.Data)
		f.links = append(f.links, l)
	}
	if total != p.Size {
		return nil, ErrData
	}
	return f, nil
}
