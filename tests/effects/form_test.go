package effects

import (
	"fmt"
	"strconv"

	"lockserver/store"
)

// checkForm returns an error unless the effect is one of the closed list in store/effects.go.
func checkForm(e store.Effect) error {
	args := make([]string, len(e.Args))
	for i, a := range e.Args {
		args[i] = string(a)
	}
	if !isListed(args) {
		return fmt.Errorf("not in the closed list of effects: db %d %q", e.DB, args)
	}
	return nil
}

func isListed(args []string) bool {
	n := len(args)
	switch args[0] {
	case "SET":
		return n == 3 || n == 4 && args[3] == "KEEPTTL" || n == 5 && args[3] == "PXAT" && isInt(args[4])
	case "APPEND", "RENAME":
		return n == 3
	case "SETRANGE":
		return n == 4 && isInt(args[2])
	case "DEL", "PERSIST":
		return n == 2
	case "PEXPIREAT", "MOVE":
		return n == 3 && isInt(args[2])
	case "COPY":
		return n == 6 && args[3] == "DB" && isInt(args[4]) && args[5] == "REPLACE"
	case "FLUSHDB", "FLUSHALL":
		return n == 1
	case "SWAPDB":
		return n == 3 && isInt(args[1]) && isInt(args[2])
	case "HSET":
		return n >= 4 && n%2 == 0
	case "HDEL", "SADD", "SREM", "XDEL":
		return n >= 3
	case "XADD":
		return n >= 5 && n%2 == 1
	case "XTRIM":
		return n == 4 && (args[2] == "MAXLEN" && isInt(args[3]) || args[2] == "MINID")
	case "XSETID":
		rest := args[min(n, 3):]
		if len(rest) >= 2 && rest[0] == "ENTRIESADDED" && isInt(rest[1]) {
			rest = rest[2:]
		}
		return n >= 3 && (len(rest) == 0 || len(rest) == 2 && rest[0] == "MAXDELETEDID")
	}
	return false
}

func isInt(s string) bool {
	_, err := strconv.ParseInt(s, 10, 64)
	return err == nil
}
