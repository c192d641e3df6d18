package aof

import (
	"bytes"
	"strconv"

	"lockserver/internal/ascii"
	"lockserver/store"
)

// tokenAnnotation begins the line of a base made of commands that states what rdb.AuxTokenLimit states of a
// snapshot (format, do not change). Redis passes over it.
const tokenAnnotation = "lockserver-token-limit:"

// AppendTokenLimit appends the line with which a base made of commands states that no
// fencing token was above a number.
func AppendTokenLimit(dst []byte, limit int64) []byte {
	dst = append(append(dst, '#'), tokenAnnotation...)
	return append(strconv.AppendInt(dst, limit, 10), "\r\n"...)
}

// TokenLimit is the number that an annotation states, 0 if it states another thing.
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

// TokenIn is the highest fencing token that a command gives a lock, 0 if it gives none. Tokens are given out
// by an HSET, which stays in the log when the lock is gone.
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
