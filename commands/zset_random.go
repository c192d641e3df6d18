package commands

import (
	"lockserver/internal/resp"
	"lockserver/store/zset"
)

func zrandmember(c *Ctx) error {
	d, err := readDraw(c.Args(), "WITHSCORES")
	if err != nil {
		return err
	}
	z, err := c.findZSet(d.key)
	switch {
	case err != nil:
		return err
	case z == nil && d.single:
		c.Out.Null()
	case z == nil:
		c.Out.Array(0)
	case d.single:
		member, _ := z.Pick(c.Rand.IntN(z.Len()), c.Scratch())
		c.Out.Bulk(member)
	default:
		return drawScored(c, z, d.count, d.paired)
	}
	return nil
}

// drawScored writes random members. With their scores they are pairs: flat in RESP2, nested in RESP3. If all
// members are requested the highest comes first, as in Redis.
func drawScored(c *Ctx, z *zset.ZSet, count int64, withScores bool) error {
	return draw(c, pool{
		len:     z.Len(),
		compact: z.Encoding() == "listpack",
		at: func(out *resp.Writer, i int) {
			member, score := z.Pick(i, c.Scratch())
			writeScored(out, member, score, withScores)
		},
		each: func(out *resp.Writer, after func()) {
			z.RangeDown(0, z.Len(), func(member []byte, score float64) bool {
				writeScored(out, member, score, withScores)
				after()
				return true
			})
		},
	}, count, pairWords(c.Out, withScores))
}
