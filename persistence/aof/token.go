package aof

import (
	"bytes"
	"strconv"

	"lockserver/internal/ascii"
	"lockserver/store"
)

// tokenAnnotation is the beginning of a line in a base that consists of commands. It has the same meaning as
// rdb.AuxTokenLimit in a snapshot (format, do not change). Redis skips it.
const tokenAnnotation = "lockserver-token-limit:"

// AppendTokenLimit appends the line which says that no fencing token was above limit.
func AppendTokenLimit(dst []byte, limit int64) []byte {
	dst = append(append(dst, '#'), tokenAnnotation...)
	return append(strconv.AppendInt(dst, limit, 10), "\r\n"...)
}

// TokenLimit returns the number in such an annotation, or 0 for another annotation.
func TokenLimit(annotation []byte) int64 {
	text, ok := bytes.CutPrefix(annotation, []byte(tokenAnnotation))
	if !ok {
		return 0
	}
	limit, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil {
		return 0
	}
	return limit
}

// TokenIn returns the highest fencing token that a command gives a lock, or 0. A lock gets its token by an
// HSET, which stays in the log when the lock is released.
func TokenIn(args [][]byte) (token int64) {
	if !ascii.EqualFold(args[0], "HSET") {
		return 0
	}
	for i := 2; i+1 < len(args); i += 2 {
		if string(args[i]) == store.TokenField {
			if n, err := strconv.ParseInt(string(args[i+1]), 10, 64); err == nil {
				token = max(token, n)
			}
		} else if n, _, ok := store.ShareToken(args[i+1]); ok {
			token = max(token, n)
		}
	}
	return token
}
