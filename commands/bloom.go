package commands

import (
	"errors"

	"lockserver/store"
	"lockserver/store/bloom"
)

// bloomError returns the client's text for an error of package bloom.
func bloomError(err error) error {
	switch {
	case errors.Is(err, bloom.ErrFull):
		return ErrBloomFull
	case errors.Is(err, bloom.ErrTooLarge):
		return ErrBloomInsert
	case errors.Is(err, bloom.ErrData):
		return ErrBloomData
	case errors.Is(err, bloom.ErrNoLink):
		return ErrBloomOffset
	case errors.Is(err, bloom.ErrLongChunk):
		return ErrBloomChunk
	}
	return err
}

// findBloom looks up key for a command that needs an existing Bloom filter.
func (c *Ctx) findBloom(key []byte) (*bloom.Filter, error) {
	switch r := c.DB.Find(key); {
	case !r.OK():
		return nil, ErrBloomNotFound
	case r.Kind() != store.Bloom:
		return nil, ErrWrongType
	default:
		return r.Bloom(), nil
	}
}

// bfreserve refuses words that it does not know, and NONSCALING beside EXPANSION.
func bfreserve(c *Ctx) error {
	if len(c.Argv) > maxBFReserve {
		return ErrArity(c.Row.FullName())
	}
	a := c.Args()
	key, p := a.Key(), bloom.DefaultParams()
	if p.ErrorRate = a.FloatOr(ErrBloomRate); a.Err() == nil && !isRate(p.ErrorRate) {
		a.Fail(ErrBloomRateRange)
	}
	capacity := a.IntOr(ErrBloomCapacity)
	if capacity <= 0 {
		a.Fail(ErrBloomCapacityRange)
	}
	p.Capacity = uint64(max(capacity, 0))
	fixed, given := false, false
	for a.More() {
		switch a.Option() {
		case "NONSCALING":
			fixed = true
		case "EXPANSION":
			if given = true; !a.More() {
				a.Fail(ErrBloomNoExpansion)
			}
			p.Growth = readGrowth(a, ErrBloomExpansion)
		}
	}
	if fixed && given {
		a.Fail(ErrBloomNonScaling)
	}
	if err := a.Err(); err != nil {
		return err
	}
	if fixed {
		p.Growth = 0
	}
	e, ok := c.DB.OpenBloom(key)
	switch {
	case !ok:
		return ErrWrongType
	case e.Filter() != nil:
		return ErrBloomExists
	}
	if err := e.Reserve(p); err != nil {
		return ErrBloomCreate
	}
	c.Out.OK()
	return nil
}

// maxBFReserve is the most words of a BF.RESERVE.
const maxBFReserve = 7

func isRate(rate float64) bool { return rate > 0 && rate < 1 }

// readGrowth reads the growth factor of sub-filters. 0 means, like NONSCALING, that there is only one
// sub-filter.
func readGrowth(a *Scanner, refuse Error) uint32 {
	n := a.IntOr(refuse)
	if n < 0 || n > bloom.MaxGrowth {
		a.Fail(refuse)
		return 0
	}
	return uint32(n)
}

// bfexists finds nothing in a key of another type, as RedisBloom does.
func bfexists(c *Ctx) error {
	c.Out.Bool(probablyHas(c.bloomOrNil(c.Argv[1]), c.Argv[2]))
	return nil
}

func bfmexists(c *Ctx) error {
	f := c.bloomOrNil(c.Argv[1])
	c.Out.Array(len(c.Argv) - 2)
	for _, item := range c.Argv[2:] {
		c.Out.Bool(probablyHas(f, item))
	}
	return nil
}

func (c *Ctx) bloomOrNil(key []byte) *bloom.Filter {
	f, err := c.findBloom(key)
	if err != nil {
		return nil
	}
	return f
}

func probablyHas(f *bloom.Filter, item []byte) bool { return f != nil && f.Has(item) }

func bfcard(c *Ctx) error {
	f, err := c.findBloom(c.Argv[1])
	switch {
	case err == ErrBloomNotFound:
		c.Out.Int(0)
	case err != nil:
		return err
	default:
		c.Out.Int(int64(f.Len()))
	}
	return nil
}

// bfinfo replies with all facts, or with a list of the one number that was requested.
func bfinfo(c *Ctx) error {
	if len(c.Argv) > 3 {
		return ErrArity(c.Row.FullName())
	}
	a := c.Args()
	f, err := c.findBloom(a.Key())
	if err != nil {
		return err
	}
	fields := []struct {
		word, name string
		write      func()
	}{
		{"CAPACITY", "Capacity", func() { c.Out.Int(int64(f.Capacity())) }},
		{"SIZE", "Size", func() { c.Out.Int(int64(f.InfoBytes())) }},
		{"FILTERS", "Number of filters", func() { c.Out.Int(int64(f.Filters())) }},
		{"ITEMS", "Number of items inserted", func() { c.Out.Int(int64(f.Len())) }},
		{"EXPANSION", "Expansion rate", func() {
			if f.Scales() {
				c.Out.Int(int64(f.Growth()))
			} else {
				c.Out.Null()
			}
		}},
	}
	if a.More() {
		word := a.MaybeOption()
		for _, field := range fields {
			if field.word == word {
				c.Out.Array(1)
				field.write()
				return nil
			}
		}
		return ErrBloomInfo
	}
	c.Out.Map(len(fields))
	for _, field := range fields {
		c.Out.Simple(field.name)
		field.write()
	}
	return nil
}
