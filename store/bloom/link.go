package bloom

import (
	"math"
	"slices"

	"lockserver/store/cow"
)

const (
	pageBytes = 8 << 10
	// maxLinkBytes limits the bits of one sub-filter, in bytes.
	maxLinkBytes = 512 << 20
	// maxHashes is the number of hashes for the smallest possible error rate.
	maxHashes = 1075

	// ln2 and ln2Squared have the digits of RedisBloom: other digits would give other sizes.
	ln2        = 0.693147180559945
	ln2Squared = 0.480453013918201
)

// page is a piece of a sub-filter's bits.
type page struct {
	stamp uint64
	b     []byte
}

// link is one sub-filter.
type link struct {
	entries uint64  // number of elements it is made for
	size    uint64  // number of added elements
	rate    float64 // rate of wrong positive answers (0.01 is one of a hundred)
	perItem float64 // bits for each element
	hashes  uint32
	n2      uint8  // 0, or the bits in use are 1<<n2
	bits    uint64 // the number of bits in use if n2 is 0
	bytes   uint64
	pages   []*page // nil: all bits of the page are clear
}

// newLink returns an empty sub-filter; false: it would be too large.
func newLink(entries uint64, rate float64) (link, bool) {
	perItem := -math.Log(rate) / ln2Squared
	want := float64(entries) * perItem
	if entries == 0 || !(want < maxLinkBytes*8-64) {
		return link{}, false
	}
	words := (max(uint64(want), 1) + 63) / 64
	l := link{entries: entries, rate: rate, perItem: perItem, hashes: hashCount(perItem), bits: words * 64, bytes: words * 8}
	l.pages = make([]*page, l.pageCount())
	return l, true
}

func hashCount(perItem float64) uint32 { return uint32(math.Ceil(ln2 * perItem)) }

func (l *link) pageCount() int { return int((l.bytes + pageBytes - 1) / pageBytes) }

// valid reports whether the numbers of a sub-filter from outside are consistent.
func (l *link) valid() bool {
	return l.rate > 0 && l.rate < 1 && l.perItem > 0 && l.entries > 0 && l.hashes <= maxHashes && l.hashes == hashCount(l.perItem) &&
		l.bytes > 0 && l.bytes <= maxLinkBytes && l.bits > 0 && l.bits <= l.bytes*8 &&
		(l.n2 == 0 || l.n2 < 63 && 1<<l.n2 <= l.bytes*8)
}

func (l *link) modulus() uint64 {
	if l.n2 > 0 {
		return 1 << l.n2
	}
	return l.bits
}

// has reports whether all bits of an element are set.
func (l *link) has(h hashPair) bool {
	mod := l.modulus()
	for range l.hashes {
		bit := h.first % mod
		p := l.pages[bit/(pageBytes*8)]
		if p == nil || p.b[bit/8%pageBytes]&(1<<(bit%8)) == 0 {
			return false
		}
		h.first += h.step
	}
	return true
}

// set sets all bits of an element, and returns by how much the memory grew.
func (l *link) set(ep *cow.Epoch, h hashPair) (grown int) {
	mod := l.modulus()
	for range l.hashes {
		bit := h.first % mod
		p, n := l.own(ep, int(bit/(pageBytes*8)))
		p.b[bit/8%pageBytes] |= 1 << (bit % 8)
		grown += n
		h.first += h.step
	}
	return grown
}

// own returns a page for writing. If it had to allocate the page, grown is the growth of the memory.
func (l *link) own(ep *cow.Epoch, i int) (p *page, grown int) {
	p = l.pages[i]
	switch {
	case p == nil:
		p = &page{stamp: ep.Now(), b: make([]byte, l.pageLen(i))}
		grown = pageHeader + len(p.b)
	case ep.Shared(p.stamp):
		p = &page{stamp: ep.Now(), b: slices.Clone(p.b)}
	default:
		return p, 0
	}
	l.pages[i] = p
	return p, grown
}

// pageLen returns the size of the i-th page: the last page may be shorter.
func (l *link) pageLen(i int) int { return int(min(l.bytes-uint64(i)*pageBytes, pageBytes)) }
