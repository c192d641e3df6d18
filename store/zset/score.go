package zset

import (
	"math"
	"strconv"
	"unsafe"

	"lockserver/internal/decimal"
	"lockserver/store/listpack"
)

// AppendScore appends a text that reads back as exactly this score. Redis stores and replicates scores in
// this form since 7.2.
func AppendScore(dst []byte, score float64) []byte {
	if math.IsInf(score, 0) {
		return appendInf(dst, score)
	}
	return decimal.AppendFloat(dst, score)
}

// AppendLong appends a score in the form of C's %.17g: ZSCAN uses it for scores outside of listpacks.
func AppendLong(dst []byte, score float64) []byte {
	if math.IsInf(score, 0) {
		return appendInf(dst, score)
	}
	return strconv.AppendFloat(dst, score, 'g', 17, 64)
}

func appendInf(dst []byte, score float64) []byte {
	if score < 0 {
		dst = append(dst, '-')
	}
	return append(dst, "inf"...)
}

// packedScore returns a score as an element of a listpack. An integer score is an integer, even -0, which
// loses its sign, as in Redis. The text aliases dst.
func packedScore(dst []byte, score float64) listpack.Value {
	if n, ok := decimal.WholeNumber(score); ok {
		return listpack.Integer(n)
	}
	return listpack.String(AppendScore(dst[:0], score))
}

// AppendPacked appends a score in the form of a listpack: like AppendScore, but -0 loses its sign.
func AppendPacked(dst []byte, score float64) []byte {
	var text [maxScore]byte
	v := packedScore(text[:], score)
	return v.Append(dst)
}

// scoreOf reads a score from an element of a listpack. The listpack was written here, or was checked when it
// was read from a file.
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
