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
	case "RESTORE":
		return n == 6 && isInt(args[2]) && args[4] == "REPLACE" && args[5] == "ABSTTL"
	case "FLUSHDB", "FLUSHALL":
		return n == 1
	case "SWAPDB":
		return n == 3 && isInt(args[1]) && isInt(args[2])
	case "HSET":
		return n >= 4 && n%2 == 0
	case "HDEL", "SADD", "SREM", "XDEL", "RPUSH", "LPUSH", "ZREM":
		return n >= 3
	case "HPEXPIREAT":
		return n >= 6 && isInt(args[2]) && args[3] == "FIELDS" && args[4] == strconv.Itoa(n-5)
	case "HPERSIST":
		return n >= 5 && args[2] == "FIELDS" && args[3] == strconv.Itoa(n-4)
	case "RPOP", "LPOP":
		return n == 3 && isInt(args[2])
	case "LSET", "LREM":
		return n == 4 && isInt(args[2])
	case "LTRIM":
		return n == 4 && isInt(args[2]) && isInt(args[3])
	case "LINSERT":
		return n == 5 && (args[2] == "BEFORE" || args[2] == "AFTER")
	case "ZADD":
		for i := 2; i < n; i += 2 {
			if _, err := strconv.ParseFloat(args[i], 64); err != nil {
				return false
			}
		}
		return n >= 4 && n%2 == 0
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
	case "XCFGSET":
		return n == 6 && args[2] == "IDMP-DURATION" && isInt(args[3]) && args[4] == "IDMP-MAXSIZE" && isInt(args[5])
	case "XIDMPRECORD":
		return n == 5 || n == 7 && args[5] == "TIME" && isInt(args[6])
	case "XGROUP":
		return n >= 4 && isListedGroup(args[1], args[4:])
	case "XCLAIM":
		return n == 12 && args[4] == "0" && args[6] == "TIME" && isInt(args[7]) && args[8] == "RETRYCOUNT" && isInt(args[9]) &&
			args[10] == "FORCE" && args[11] == "JUSTID"
	case "XACK":
		return n == 4
	case "BF.RESERVE":
		return n == 5 && args[4] == "NONSCALING" || n == 6 && args[4] == "EXPANSION" && isInt(args[5])
	case "BF.MADD":
		return n >= 3
	case "BF.LOADCHUNK":
		return n == 4 && isInt(args[2])
	case "FUNCTION":
		return n == 4 && args[1] == "LOAD" && args[2] == "REPLACE" || n == 3 && args[1] == "DELETE" || n == 2 && args[1] == "FLUSH" ||
			n == 4 && args[1] == "RESTORE"
	}
	return false
}

// isListedGroup is isListed for XGROUP; rest has the words after the group's name.
func isListedGroup(what string, rest []string) bool {
	n := len(rest)
	switch what {
	case "CREATE":
		return n == 4 && rest[1] == "MKSTREAM" && rest[2] == "ENTRIESREAD" && isInt(rest[3])
	case "SETID":
		return n == 3 && rest[1] == "ENTRIESREAD" && isInt(rest[2])
	case "DESTROY":
		return n == 0
	case "CREATECONSUMER", "DELCONSUMER":
		return n == 1
	}
	return false
}

func isInt(s string) bool {
	_, err := strconv.ParseInt(s, 10, 64)
	return err == nil
}
