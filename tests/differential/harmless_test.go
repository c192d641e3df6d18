//go:build oracle

package differential

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"lockserver/commands"
)

// harmless changes arguments that would make a command wait, need gigabytes, or make a key expire during the
// test.
func harmless(row *commands.Row, args []string) []string {
	args = slices.Clone(args)
	if isSort(row) {
		args = harmlessSort(args)
	}
	for i, arg := range args {
		n, err := strconv.ParseInt(arg, 10, 64)
		isInt := err == nil
		switch row.Name {
		case "xread", "xreadgroup":
			if isInt && n >= 0 && i > 0 && strings.EqualFold(args[i-1], "BLOCK") {
				args[i] = "1"
			}
		case "zunion", "zinter", "zunionstore", "zinterstore": // D15
			if i > 0 && strings.EqualFold(args[i-1], "AGGREGATE") && strings.EqualFold(arg, "COUNT") {
				args[i] = "MAX"
			}
		case "wait", "waitaof":
			if isInt && n >= 0 && i == len(args)-1 {
				args[i] = "1"
			}
		case "blpop", "brpop", "blmove", "brpoplpush", "bzpopmin", "bzpopmax":
			if i == len(args)-1 {
				args[i] = briefly(arg)
			}
		case "blmpop", "bzmpop":
			if i == 0 {
				args[i] = briefly(arg)
			}
		case "xadd":
			if arg == "*" {
				args[i] = "1-*"
			}
		case "geosearchstore", "georadius", "georadiusbymember":
			if strings.EqualFold(arg, "STOREDIST") { // D42
				args[i] = "STORE"
			}
		case "getkeys", "getkeysandflags": // D14
			if i == 0 && slices.Contains([]string{"failover", "psync", "replconf", "sync"}, strings.ToLower(arg)) {
				args[i] = "NOSUCH"
			}
		case "setinfo", "setname": // D115
			args[i] = strings.ReplaceAll(arg, "\x00", "")
		case "list": // D116
			if row.FullName() == "function|list" {
				args[i] = strings.NewReplacer("\r", "", "\n", "").Replace(arg)
			}
		case "lset":
			if isInt && int64(int32(n)) != n { // D107
				args[i] = "9"
			}
		case "setrange":
			if isInt && n > 2000 && n < 1<<31 {
				args[i] = "2000"
			}
		case "setbit", "bitfield":
			if isInt && n > 1<<20 && n < 1<<32 {
				args[i] = "70000"
			}
		case "srandmember", "hrandfield", "zrandmember":
			if isInt && n < -50 && n > -1<<63 {
				args[i] = "-50"
			}
		}
		if isInt && 0 < n && n < 1_000_000 && (setsDeadline(row) || (row.Name == "restore" || row.Name == "restore-asking") && i == 1) {
			args[i] = strconv.FormatInt(n+1_000_000, 10)
		}
	}
	return args
}

// briefly returns a timeout of at most a millisecond. An invalid or negative timeout stays.
func briefly(timeout string) string {
	if strings.HasPrefix(strings.TrimLeft(timeout, "+"), "0x") && !strings.Contains(timeout, "p") {
		timeout += "p0" // the exponent is optional in C, but not in Go
	}
	if seconds, err := strconv.ParseFloat(timeout, 64); seconds > -0.01 && (err == nil || errors.Is(err, strconv.ErrRange)) {
		return "0.001"
	}
	return timeout
}

func isSort(row *commands.Row) bool { return row.Name == "sort" || row.Name == "sort_ro" }

func setsDeadline(row *commands.Row) bool {
	switch row.Name {
	case "set", "setex", "psetex", "getex", "expire", "pexpire", "expireat", "pexpireat":
		return true
	}
	return false
}
