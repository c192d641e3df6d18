package debug

import (
	"math"
	"time"

	"lockserver/commands"
	"lockserver/internal/ascii"
	"lockserver/internal/config"
	"lockserver/internal/decimal"
)

const errThreshold commands.Error = "ERR argument must be a memory value bigger than 1 and smaller than 4gb"

// maxThreshold is the largest quicklist-packed-threshold that Redis accepts.
const maxThreshold = 1<<32 - 1<<20

// structSizes lists the sizes in Redis on a 64-bit machine. Clients use them to compute the memory of Redis.
const structSizes = "bits:64 robj:16 dictentry:24 sdshdr5:1 sdshdr8:3 sdshdr16:5 sdshdr32:9 sdshdr64:17 "

// switches lists the subcommands that turn a feature on or off, or make it fail. Subcommands that only
// affect Redis' internals are accepted without effect, so that suites that send them can continue.
func switches() []subcommand {
	return []subcommand{
		{"aof-flush-sleep", 1, 1, delayLog, []string{"AOF-FLUSH-SLEEP <microseconds>", "Waits before each write of the append-only log."}},
		{"assert", 0, 1 << 30, crash, []string{"ASSERT, OOM, PANIC, SEGFAULT", "End the process without saving."}},
		{"oom", 0, 1 << 30, crash, nil}, {"panic", 0, 1 << 30, crash, nil}, {"segfault", 0, 1 << 30, crash, nil},
		{"change-repl-id", 0, 0, changeReplicationID, []string{"CHANGE-REPL-ID", "Changes the replication ID that INFO shows."}},
		{"config-rewrite-force-all", 0, 0, rewriteConfig, []string{"CONFIG-REWRITE-FORCE-ALL", "CONFIG REWRITE with every directive."}},
		{"dict-resizing", 1, 1, accepted, inside("DICT-RESIZING <0|1>")},
		{"drop-cluster-packet-filter", 1, 1, acceptedNumber, inside("DROP-CLUSTER-PACKET-FILTER <type>")},
		{"lock-figures", 1, 1, with(Target.CountLocks), []string{"LOCK-FIGURES <0|1>",
			"Says whether figures and the history of locks are kept: a benchmark compares with 0."}},
		{"leak", 1, 1, accepted, inside("LEAK <string>")},
		{"pause-cron", 1, 1, with(Target.PauseCron), []string{"PAUSE-CRON <0|1>", "Leaves undone what is done once a second: save points, idle clients."}},
		{"quicklist-packed-threshold", 1, 1, threshold, inside("QUICKLIST-PACKED-THRESHOLD <size>")},
		{"raft-undo", 1, 1, with(Target.SetUndo), []string{"RAFT-UNDO <0|1>", "Says whether a deposed leader undoes what is not committed, or builds all its data anew."}},
		{"replicate", 1, 1 << 30, accepted, inside("REPLICATE <string>")},
		{"replybuffer", 2, 2, replyBuffer, inside("REPLYBUFFER <PEAK-RESET-TIME|RESIZING> <value>")},
		{"set-active-expire", 1, 1, with(Target.SetActiveExpiry), []string{"SET-ACTIVE-EXPIRE <0|1>",
			"Says whether keys go by themselves when their time has come."}},
		{"set-disable-deny-scripts", 1, 1, with(Target.LetScriptsDebug), []string{"SET-DISABLE-DENY-SCRIPTS <0|1>",
			"Lets scripts call DEBUG PROTOCOL and SLEEP."}},
		{"set-skip-checksum-validation", 1, 1, with(Target.TrustChecksums), []string{"SET-SKIP-CHECKSUM-VALIDATION <0|1>",
			"Takes snapshots and payloads whatever their checksum says."}},
		{"structsize", 0, 0, structSize, inside("STRUCTSIZE")},
	}
}

// inside returns the help of a subcommand that only affects Redis' internals.
func inside(call string) []string {
	return []string{call, "About the insides of Redis: accepted."}
}

// with returns a subcommand that turns a feature on with any number but 0.
func with(turn func(h Target, on bool)) func(*call) error {
	return func(c *call) error {
		turn(c.host, number(c.args[0]) != 0)
		c.Out.OK()
		return nil
	}
}

// number returns the number at the beginning of a word, as C's atoi reads it, or 0.
func number(word []byte) int64 {
	n, sign := int64(0), int64(1)
	for i, b := range word {
		switch {
		case i == 0 && b == '-':
			sign = -1
		case i == 0 && b == '+':
		case b < '0' || b > '9' || n > math.MaxInt32:
			return n * sign
		default:
			n = n*10 + int64(b-'0')
		}
	}
	return n * sign
}

func accepted(c *call) error {
	c.Out.OK()
	return nil
}

func acceptedNumber(c *call) error {
	if _, ok := decimal.ParseInt(c.args[0]); !ok {
		return commands.ErrNotInteger
	}
	return accepted(c)
}

func threshold(c *call) error {
	if n, ok := config.ParseMemory(string(c.args[0])); !ok || n > maxThreshold {
		return errThreshold
	}
	return accepted(c)
}

func replyBuffer(c *call) error {
	what, value := c.args[0], c.args[1]
	switch {
	case ascii.EqualFold(what, "resizing"):
	case !ascii.EqualFold(what, "peak-reset-time"):
		return commands.ErrSubcommandSyntax("debug", c.Argv[1])
	case ascii.EqualFold(value, "never"), ascii.EqualFold(value, "reset"):
	default:
		c.args = c.args[1:]
		return acceptedNumber(c)
	}
	return accepted(c)
}

func structSize(c *call) error {
	c.Out.BulkString(structSizes)
	return nil
}

func delayLog(c *call) error {
	c.host.DelayLog(time.Duration(number(c.args[0])) * time.Microsecond)
	c.Out.OK()
	return nil
}

func changeReplicationID(c *call) error {
	c.host.ChangeReplicationID()
	c.Out.OK()
	return nil
}

func rewriteConfig(c *call) error {
	if err := c.host.RewriteConfig(); err != nil {
		return err
	}
	c.Out.OK()
	return nil
}

// crash never returns.
func crash(c *call) error {
	c.host.Crash("DEBUG " + string(c.Argv[1]))
	return nil
}
