package commands

import (
	"lockserver/store"
	"lockserver/store/bloom"
)

func bfadd(c *Ctx) error {
	e, err := openBloom(c, c.Argv[1], bloom.DefaultParams(), true)
	if err != nil {
		return err
	}
	added, err := e.Add(c.Argv[2])
	if err != nil {
		return bloomError(err)
	}
	c.Out.Bool(added)
	return nil
}

func bfmadd(c *Ctx) error {
	e, err := openBloom(c, c.Argv[1], bloom.DefaultParams(), true)
	if err != nil {
		return err
	}
	addAll(c, e, c.Argv[2:])
	return nil
}

// openBloom opens a Bloom filter for writing. If there is no filter and create is set, it makes one.
func openBloom(c *Ctx, key []byte, p bloom.Params, create bool) (*store.BloomEdit, error) {
	e, ok := c.DB.OpenBloom(key)
	switch {
	case !ok:
		return nil, ErrWrongType
	case e.Filter() != nil:
	case !create:
		return nil, ErrBloomNotFound
	case e.Reserve(p) != nil:
		return nil, ErrBloomCreate
	}
	return &e, nil
}

// addAll adds items and replies for each whether it is new. An item that cannot be added ends the list with
// an error; the items before it stay added.
func addAll(c *Ctx, e *store.BloomEdit, items [][]byte) {
	list, n := c.Out.DeferArray(), 0
	for _, item := range items {
		n++
		added, err := e.Add(item)
		if err != nil {
			c.Out.Error(bloomError(err).Error())
			break
		}
		c.Out.Bool(added)
	}
	c.Out.SetArray(list, n)
}

// bfinsert is BF.MADD with options for making the filter, or for not making it.
func bfinsert(c *Ctx) error {
	a := c.Args()
	key, p := a.Key(), bloom.DefaultParams()
	create, fixed, inRange := true, false, true
	var items [][]byte
	for a.More() && items == nil {
		word := a.MaybeOption()
		switch word {
		case "CAPACITY", "ERROR", "EXPANSION":
			if !a.More() {
				a.Arity()
			}
		}
		switch word {
		case "CAPACITY":
			n := a.IntOr(ErrBloomInsertCapacity)
			inRange, p.Capacity = inRange && n > 0, uint64(max(n, 0))
		case "ERROR":
			p.ErrorRate = a.FloatOr(ErrBloomInsertRate)
			inRange = inRange && isRate(p.ErrorRate)
		case "EXPANSION":
			p.Growth = readGrowth(a, ErrBloomInsertExpansion)
		case "NOCREATE":
			create = false
		case "NONSCALING":
			fixed = true
		case "ITEMS":
			items = a.Rest()
		default:
			a.Fail(ErrBloomInsertWord)
		}
	}
	if len(items) == 0 {
		a.Arity()
	}
	if !inRange {
		a.Fail(ErrBloomInsertRange)
	}
	if err := a.Err(); err != nil {
		return err
	}
	if fixed {
		p.Growth = 0
	}
	e, err := openBloom(c, key, p, create)
	if err != nil {
		return err
	}
	addAll(c, e, items)
	return nil
}
