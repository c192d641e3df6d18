package commands

import (
	"math"

	"lockserver/internal/resp"
	"lockserver/store/zset"
)

func zrandmember(c *Ctx) error {
	a := c.Args()
	key := a.Key()
	single := !a.More()
	var count int64
	var withScores bool
	if !single {
		count = a.IntRange(-math.MaxInt64, math.MaxInt64)
		if a.More() {
			withScores = a.IsNext("WITHSCORES")
			if !withScores || a.More() {
				a.Syntax()
			}
		}
		if withScores && (count < -math.MaxInt64/2 || count > math.MaxInt64/2) {
			a.Fail(ErrOutOfRange)
		}
	}
	if err := a.Err(); err != nil {
		return err
	}
	z, err := c.findZSet(key)
	switch {
	case err != nil:
		return err
	case z == nil && single:
		c.Out.Null()
	case z == nil:
		c.Out.Array(0)
	case single:
		member, _ := z.Pick(c.Rand.IntN(z.Len()), c.Scratch())
		c.Out.Bulk(member)
	default:
		return drawScored(c, z, count, withScores)
	}
	return nil
}

// drawScored writes random members, with their scores as pairs: one behind the other in RESP2, nested in
// RESP3. When all are asked for the highest comes first, as in Redis.
func drawScored(c *Ctx, z *zset.ZSet, count int64, withScores bool) error {
	words := 1
	if withScores && c.Out.Proto < 3 {
		words = 2
	}
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
	}, count, words)
}
