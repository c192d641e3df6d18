package commands

// bfscandump replies with a piece of the filter and the next position: 0 is the first position, and the reply
// at the end.
func bfscandump(c *Ctx) error {
	a := c.Args()
	f, err := c.findBloom(a.Key())
	if err != nil {
		return err
	}
	place := a.IntOr(ErrBloomPlace)
	if err := a.Err(); err != nil {
		return err
	}
	var piece []byte
	next := int64(1)
	if place == 0 {
		piece = f.Header()
	} else {
		piece, next = f.Chunk(place)
	}
	c.Out.Array(2)
	c.Out.Int(next)
	c.Out.Bulk(piece)
	return nil
}

// bfloadchunk loads a piece that BF.SCANDUMP has replied; the first piece makes the filter.
func bfloadchunk(c *Ctx) error {
	a := c.Args()
	key, next, piece := a.Key(), a.IntOr(ErrBloomLoadPlace), a.Bytes()
	if err := a.Err(); err != nil {
		return err
	}
	e, ok := c.DB.OpenBloom(key)
	var err error
	switch {
	case !ok:
		return ErrWrongType
	case e.Filter() != nil:
		err = e.LoadChunk(next, piece)
	case next == 1:
		err = e.LoadHeader(piece)
	default:
		return ErrBloomNotFound
	}
	if err != nil {
		return bloomError(err)
	}
	c.Out.OK()
	return nil
}
