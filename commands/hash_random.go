package commands

import (
	"math"

	"lockserver/internal/resp"
	"lockserver/store/hash"
)

func hrandfield(c *Ctx) error {
	a := c.Args()
	key := a.Key()
	single := !a.More()
	var count int64
	var withValues bool
	if !single {
		count = a.IntRange(-math.MaxInt64, math.MaxInt64)
		if a.More() {
			withValues = a.IsNext("WITHVALUES")
			if !withValues || a.More() {
				a.Syntax()
			}
		}
		if withValues && (count < -math.MaxInt64/2 || count > math.MaxInt64/2) {
			a.Fail(ErrOutOfRange)
		}
	}
	if err := a.Err(); err != nil {
		return err
	}
	h, err := c.findHash(key)
	switch {
	case err != nil:
		return err
	case h == nil && single:
		c.Out.Null()
	case h == nil:
		c.Out.Array(0)
	case single:
		field, _ := h.At(c.Rand.IntN(h.Len()), c.Scratch())
		c.Out.Bulk(field)
	default:
		return drawFields(c, h, count, withValues)
	}
	return nil
}

// drawFields writes random fields, with their values as pairs: one behind the
// other in RESP2, nested in RESP3.
func drawFields(c *Ctx, h *hash.Hash, count int64, withValues bool) error {
	words := 1
	if withValues && c.Out.Proto < 3 {
		words = 2
	}
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
	}, count, words)
}
