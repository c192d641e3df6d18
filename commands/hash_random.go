package commands

import (
	"lockserver/internal/resp"
	"lockserver/store/hash"
)

func hrandfield(c *Ctx) error {
	d, err := readDraw(c.Args(), "WITHVALUES")
	if err != nil {
		return err
	}
	h, err := c.findHash(d.key)
	switch {
	case err != nil:
		return err
	case h == nil && d.single:
		c.Out.Null()
	case h == nil:
		c.Out.Array(0)
	case d.single:
		field, _ := h.At(c.Rand.IntN(h.Len()), c.Scratch())
		c.Out.Bulk(field)
	default:
		return drawFields(c, h, d.count, d.paired)
	}
	return nil
}

// drawFields writes random fields. With their values they are pairs: flat in RESP2, nested in RESP3.
func drawFields(c *Ctx, h *hash.Hash, count int64, withValues bool) error {
	write := func(out *resp.Writer, field, val []byte) {
		if withValues && out.Proto >= 3 {
			out.Array(2)
		}
		out.Bulk(field)
		if withValues {
			out.Bulk(val)
		}
	}
	return draw(c, pool{
		len:     h.Len(),
		compact: h.Encoding() != "hashtable",
		at: func(out *resp.Writer, i int) {
			field, val := h.At(i, c.Scratch())
			write(out, field, val)
		},
		each: func(out *resp.Writer, after func()) {
			h.Each(func(field, val []byte) bool {
				write(out, field, val)
				after()
				return true
			})
		},
	}, count, pairWords(c.Out, withValues))
}
