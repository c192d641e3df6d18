package bloom

import (
	"errors"
	"math"
	"slices"

	"lockserver/store/cow"
)

// Options of a filter, as dumps and snapshots hold them. Format, do not change.
const (
	optNoRound    = 1 // bits are not rounded up to a power of two
	optHash64     = 4
	optNonScaling = 8
	optsKnown     = optNoRound | optHash64 | optNonScaling
)

const (
	// MaxGrowth is the largest growth factor from a sub-filter to the next.
	MaxGrowth = 32768
	// maxLinks limits the sub-filters of one filter, and maxBytes the bits of all of them.
	maxLinks = 1000
	maxBytes = 4 << 30

	// The sizes that RedisBloom reports for a filter and for each sub-filter, without their bits.
	infoFilterBytes, infoLinkBytes = 32, 64
	// The real sizes here, and the size of a page without its bits.
	filterBytes, linkBytes, pageHeader = 96, 112, 32
)

var (
	// ErrFull says that a filter that does not scale has reached its capacity.
	ErrFull = errors.New("bloom: the filter is full and does not scale")
	// ErrTooLarge says that a sub-filter would take too much memory.
	ErrTooLarge = errors.New("bloom: a sub-filter would be too large")
)

// Params configures a new filter.
type Params struct {
	ErrorRate float64 // between 0 and 1, both excluded
	Capacity  uint64  // elements of the first sub-filter, more than 0
	// Growth is the factor from each sub-filter to the next, up to MaxGrowth. 0 means that the filter does
	// not scale.
	Growth uint32
}

// DefaultParams returns the parameters of a filter that is made by adding to a missing key.
func DefaultParams() Params { return Params{ErrorRate: 0.01, Capacity: 100, Growth: 2} }

// Filter is a Bloom filter without its name. Only one goroutine may change it. Any number may read a filter
// that does not change any more.
type Filter struct {
	epoch   *cow.Epoch
	stamp   uint64
	links   []link
	size    uint64
	growth  uint32
	options uint32
	memory  int
}

// New returns an empty filter with copy-on-write by ep. The error is ErrTooLarge.
func New(ep *cow.Epoch, p Params) (*Filter, error) {
	f := &Filter{epoch: ep, stamp: ep.Now(), growth: p.Growth, options: optNoRound | optHash64, memory: filterBytes}
	rate := p.ErrorRate / 2 // the rates of all sub-filters add up to the whole rate
	if p.Growth == 0 {
		f.options |= optNonScaling
		f.growth = DefaultParams().Growth // never used, but Redis has this number there
		rate = p.ErrorRate
	}
	return f, f.addLink(p.Capacity, rate)
}

func (f *Filter) addLink(entries uint64, rate float64) error {
	l, ok := newLink(entries, rate)
	if !ok || len(f.links) == maxLinks || f.InfoBytes()+l.bytes > maxBytes {
		return ErrTooLarge
	}
	f.links = append(f.links, l)
	f.memory += linkBytes + 8*len(l.pages)
	return nil
}

// Stamp returns the epoch in which this header was made.
func (f *Filter) Stamp() uint64 { return f.stamp }

// Clone returns a header for writing, after a cut shared f with a snapshot. f may still be read.
func (f *Filter) Clone() *Filter {
	c := *f
	c.stamp = f.epoch.Now()
	c.links = slices.Clone(f.links)
	for i := range c.links {
		c.links[i].pages = slices.Clone(c.links[i].pages)
	}
	return &c
}

// Copy returns another filter with the same elements.
func (f *Filter) Copy() *Filter {
	c := f.Clone()
	for i := range c.links {
		for at, p := range c.links[i].pages {
			if p != nil {
				c.links[i].pages[at] = &page{stamp: c.stamp, b: slices.Clone(p.b)}
			}
		}
	}
	return c
}

// Has reports whether the element was probably added. The result false is certain.
func (f *Filter) Has(element []byte) bool { return f.has(hashesOf(element)) }

func (f *Filter) has(h hashPair) bool {
	for i := len(f.links) - 1; i >= 0; i-- {
		if f.links[i].has(h) {
			return true
		}
	}
	return false
}

// Add adds an element and reports whether it was certainly not there before. The error is ErrFull or
// ErrTooLarge; then nothing has changed.
func (f *Filter) Add(element []byte) (added bool, err error) {
	h := hashesOf(element)
	if f.has(h) {
		return false, nil
	}
	last := &f.links[len(f.links)-1]
	if last.size >= last.entries {
		if !f.Scales() {
			return false, ErrFull
		}
		if last.entries > math.MaxUint64/uint64(f.growth) {
			return false, ErrTooLarge
		}
		if err := f.addLink(last.entries*uint64(f.growth), last.rate/2); err != nil {
			return false, err
		}
		last = &f.links[len(f.links)-1]
	}
	f.memory += last.set(f.epoch, h)
	last.size++
	f.size++
	return true, nil
}

// Scales reports whether the filter gets another sub-filter when the last is full.
func (f *Filter) Scales() bool { return f.options&optNonScaling == 0 }

// Growth returns the growth factor from each sub-filter to the next.
func (f *Filter) Growth() uint32 { return f.growth }

// Len returns the number of added elements.
func (f *Filter) Len() uint64 { return f.size }

// Filters returns the number of sub-filters.
func (f *Filter) Filters() int { return len(f.links) }

// Capacity returns the number of elements that the filter can hold before it grows, including its elements.
func (f *Filter) Capacity() (n uint64) {
	for i := range f.links {
		n += f.links[i].entries
	}
	return n
}

// InfoBytes returns the size that RedisBloom would report.
func (f *Filter) InfoBytes() (n uint64) {
	n = infoFilterBytes
	for i := range f.links {
		n += infoLinkBytes + f.links[i].bytes
	}
	return n
}

// Size returns about the real size in bytes.
func (f *Filter) Size() int { return f.memory }
