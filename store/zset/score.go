package zset

import (
	"math"
	"strconv"
	"unsafe"

	"lockserver/store/listpack"
)

// maxPackedInt bounds the scores that a listpack holds as integers. Redis' bound:
// format, do not change.
const maxPackedInt = math.MaxInt64 / 2

// AppendScore appends a text that reads back as exactly this score: what C prints
// for %.17g, which is how Redis 7.0 stores and replicates scores.
func AppendScore(dst []byte, score float64) []byte {
	switch {
	case math.IsInf(score, 1):
		return append(dst, "inf"...)
	case math.IsInf(score, -1):
		return append(dst, "-inf"...)
	}
	return strconv.AppendFloat(dst, score, 'g', 17, 64)
}

// packedScore returns a score as an element of a listpack: an integer where it is
// one, -0 included, which so loses its sign, as in Redis. The text aliases dst.
func packedScore(dst []byte, score float64) listpack.Value {
	if score >= -maxPackedInt && score <= maxPackedInt {
		if n := int64(score); float64(n) == score {
			return listpack.Integer(n)
		}
	}
	return listpack.String(AppendScore(dst[:0], score))
}

// AppendPacked appends a score as it stands in a listpack: as AppendScore does, but
// integers up to 2^62 with all their digits.
func AppendPacked(dst []byte, score float64) []byte {
	var text [maxScore]byte
	v := packedScore(text[:], score)
	return v.Append(dst)
}

// scoreOf reads a score from an element. The listpack was written here, or
// checked by whoever took it from a file.
func scoreOf(v listpack.Value) float64 {
	if v.IsInt {
		return float64(v.Int)
	}
	text := v.Bytes()
	score, err := strconv.ParseFloat(unsafe.String(unsafe.SliceData(text), len(text)), 64)
	if err != nil && !math.IsInf(score, 0) {
		panic("zset: a listpack holds what is no score")
	}
	return score
}
