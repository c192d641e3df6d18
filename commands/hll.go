package commands

import (
	"errors"

	"lockserver/internal/ascii"
	"lockserver/internal/keyevent"
	"lockserver/store"
	"lockserver/store/hll"
)

// hyperLogLog checks the value that a look-up found and returns its bytes, or nil if the key does not exist.
func hyperLogLog(r store.Ref) ([]byte, error) {
	switch {
	case !r.OK():
		return nil, nil
	case r.Kind() != store.String:
		return nil, ErrWrongType
	case !hll.Valid(r.Bytes()):
		return nil, ErrNoHyperLogLog
	}
	return r.Bytes(), nil
}

// hllError returns the client's text for an error of package hll.
func hllError(err error) error {
	if errors.Is(err, hll.ErrCorrupt) {
		return ErrCorruptHyperLogLog
	}
	return err
}

func pfadd(c *Ctx) error {
	key := c.Argv[1]
	if _, err := hyperLogLog(c.DB.FindToWrite(key)); err != nil {
		return err
	}
	changed, err := c.DB.EditString(key).PFAdd(c.Argv[2:])
	if changed {
		c.Notify(keyevent.String, "pfadd", key)
	}
	if err != nil {
		return hllError(err)
	}
	n := int64(0)
	if changed {
		n = 1
	}
	c.Out.Int(n)
	return nil
}

// pfcount of one key stores its estimate in the value, which counts as a change of the key.
func pfcount(c *Ctx) error {
	keys := c.Argv[1:]
	if len(keys) > 1 {
		merged, err := mergeHLLs(c.DB.Find, keys)
		if err != nil {
			return err
		}
		c.Out.Int(int64(merged.Count()))
		return nil
	}
	b, err := hyperLogLog(c.DB.Find(keys[0]))
	if err != nil {
		return err
	}
	if b == nil {
		c.Out.Int(0)
		return nil
	}
	n, ok := hll.Cached(b)
	if !ok {
		if n, err = hll.Count(b); err != nil {
			return hllError(err)
		}
		c.DB.EditString(keys[0]).PFCache(n)
	}
	c.Out.Int(int64(n))
	return nil
}

// mergeHLLs merges the values that look finds at the keys. The error is that of the first key with a wrong
// value.
func mergeHLLs(look func(key []byte) store.Ref, keys [][]byte) (*hll.Registers, error) {
	merged := new(hll.Registers)
	for _, key := range keys {
		b, err := hyperLogLog(look(key))
		if err != nil {
			return nil, err
		}
		if b != nil {
			if err := merged.Merge(b); err != nil {
				return nil, hllError(err)
			}
		}
	}
	return merged, nil
}

func pfmerge(c *Ctx) error {
	for _, key := range c.Argv[1:] {
		if _, err := hyperLogLog(c.DB.Find(key)); err != nil {
			_, err = mergeHLLs(c.DB.Peek, c.Argv[1:]) // an earlier key may be damaged
			return err
		}
	}
	c.DB.FindToWrite(c.Argv[1])
	if err := c.DB.EditString(c.Argv[1]).PFMerge(c.Argv[2:]); err != nil {
		return hllError(err)
	}
	c.Notify(keyevent.String, "pfadd", c.Argv[1])
	c.Out.OK()
	return nil
}

// pfdebug shows the bytes of a HyperLogLog; GETREG makes it dense, as in Redis.
func pfdebug(c *Ctx) error {
	what, key := c.Argv[1], c.Argv[2]
	b, err := hyperLogLog(c.DB.FindToWrite(key))
	if err != nil {
		return err
	}
	if b == nil {
		return ErrPFNoKey
	}
	switch {
	case ascii.EqualFold(what, "GETREG"):
		if _, err := c.DB.EditString(key).PFToDense(); err != nil {
			return hllError(err)
		}
		var r hll.Registers
		if err := r.Merge(c.DB.Peek(key).Bytes()); err != nil {
			return hllError(err)
		}
		c.Out.Array(len(r))
		for _, v := range r {
			c.Out.Int(int64(v))
		}
	case ascii.EqualFold(what, "DECODE"):
		if !hll.IsSparse(b) {
			return ErrPFNotSparse
		}
		c.Out.BulkString(hll.Describe(b))
	case ascii.EqualFold(what, "ENCODING"):
		name := "dense"
		if hll.IsSparse(b) {
			name = "sparse"
		}
		c.Out.Simple(name)
	case ascii.EqualFold(what, "TODENSE"):
		was, err := c.DB.EditString(key).PFToDense()
		if err != nil {
			return hllError(err)
		}
		n := int64(0)
		if was {
			n = 1
		}
		c.Out.Int(n)
	default:
		return ErrPFSubcommand(what)
	}
	return nil
}

func pfselftest(c *Ctx) error {
	if err := hll.SelfTest(c.Rand.Uint64); err != nil {
		return ErrPFSelfTest(err)
	}
	c.Out.OK()
	return nil
}
