package commands

import (
	"strconv"
	"strings"
)

// Error is an error that the client sees. The text is the whole reply, its code word first and without the
// leading '-'; two errors are equal if their texts are.
type Error string

func (e Error) Error() string { return string(e) }

// Every text that a client can get stands here and in the functions below, byte for byte as Redis 7.0 says it
// where Redis has the case. Those that follow a command's own arguments are grouped by family.
const (
	ErrSyntax       Error = "ERR syntax error"
	ErrWrongType    Error = "WRONGTYPE Operation against a key holding the wrong kind of value"
	ErrNotInteger   Error = "ERR value is not an integer or out of range"
	ErrNotFloat     Error = "ERR value is not a valid float"
	ErrNotPositive  Error = "ERR value is out of range, must be positive"
	ErrOutOfRange   Error = "ERR value is out of range"
	ErrIndexRange   Error = "ERR index out of range"
	ErrOffsetRange  Error = "ERR offset is out of range"
	ErrCountRange   Error = "ERR value is out of range, value must between -9223372036854775807 and 9223372036854775807"
	ErrMinMaxFloat  Error = "ERR min or max is not a float"
	ErrNoSuchKey    Error = "ERR no such key"
	ErrSameObject   Error = "ERR source and destination objects are the same"
	ErrBusyKey      Error = "BUSYKEY Target key name already exists."
	ErrStringTooBig Error = "ERR string exceeds maximum allowed size (proto-max-bulk-len)"
	ErrCursor       Error = "ERR invalid cursor"
	ErrNumKeysZero  Error = "ERR numkeys should be greater than 0"
	ErrTooManyKeys  Error = "ERR Number of keys can't be greater than number of args"
	ErrLimitSign    Error = "ERR LIMIT can't be negative"
	ErrTimeout      Error = "ERR timeout is not an integer or out of range"
	ErrTimeoutFloat Error = "ERR timeout is not a float or out of range"
	ErrTimeoutSign  Error = "ERR timeout is negative"
	ErrUnblocked    Error = "UNBLOCKED client unblocked via CLIENT UNBLOCK"

	// Numbers in values.
	ErrOverflow      Error = "ERR increment or decrement would overflow"
	ErrDecrOverflow  Error = "ERR decrement would overflow"
	ErrNaNOrInfinity Error = "ERR increment would produce NaN or Infinity"
	ErrHashInteger   Error = "ERR hash value is not an integer"
	ErrHashFloat     Error = "ERR hash value is not a float"
	ErrIncrNaN       Error = "ERR value is NaN or Infinity"

	// Databases and sessions.
	ErrDBIndex       Error = "ERR DB index is out of range"
	ErrFirstDB       Error = "ERR invalid first DB index"
	ErrSecondDB      Error = "ERR invalid second DB index"
	ErrNoAuth        Error = "NOAUTH Authentication required."
	ErrNoAuthHello   Error = "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO AUTH <user> <pass> option can be used to authenticate the client and select the RESP protocol version at the same time"
	ErrWrongPass     Error = "WRONGPASS invalid username-password pair or user is disabled."
	ErrNoPassword    Error = "ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?"
	ErrNoProto       Error = "NOPROTO unsupported protocol version"
	ErrProtoInteger  Error = "ERR Protocol version is not an integer or out of range"
	ErrClientName    Error = "ERR Client names cannot contain spaces, newlines or special characters."
	ErrNoSuchClient  Error = "ERR No such client"
	ErrClientID      Error = "ERR Invalid client ID"
	ErrClientIDSign  Error = "ERR client-id should be greater than 0"
	ErrUnblockReason Error = "ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR"

	// Transactions.
	ErrNestedMulti       Error = "ERR MULTI calls can not be nested"
	ErrExecWithoutMulti  Error = "ERR EXEC without MULTI"
	ErrDiscardNoMulti    Error = "ERR DISCARD without MULTI"
	ErrWatchInsideMulti  Error = "ERR WATCH inside MULTI is not allowed"
	ErrNotInsideMulti    Error = "ERR Command not allowed inside a transaction"
	ErrExecAbort         Error = "EXECABORT Transaction discarded because of previous errors."
	ErrNoScript          Error = "ERR This Redis command is not allowed from script"
	ErrOutOfMemory       Error = "OOM command not allowed when used memory > 'maxmemory'."
	ErrLoading           Error = "LOADING Redis is loading the dataset in memory"
	ErrPersistenceFailed Error = "MISCONF Errors writing to the AOF file: "

	// Keys.
	ErrExpireNXWithOthers Error = "ERR NX and XX, GT or LT options at the same time are not compatible"
	ErrExpireGTAndLT      Error = "ERR GT and LT options at the same time are not compatible"
	ErrNoLFU              Error = "ERR An LFU maxmemory policy is not selected, access frequency not tracked. Please note that when switching between policies at runtime LRU and LFU data will take some time to adjust."

	// Strings.
	ErrLCSLenAndIdx   Error = "ERR If you want both the length and indexes, please just use IDX."
	ErrLCSType        Error = "ERR The specified keys must contain string values"
	ErrLCSMemory      Error = "ERR Insufficient memory, transient memory for LCS exceeds proto-max-bulk-len"
	ErrDigest         Error = "ERR must be exactly 16 hexadecimal characters"                // of Redis 8.4
	ErrDelexType      Error = "ERR Key should be of string type if conditions are specified" // of Redis 8.4
	ErrDelexCondition Error = "ERR Invalid condition. Use IFEQ, IFNE, IFDEQ, or IFDNE"       // of Redis 8.4
	ErrNumKeys        Error = "ERR invalid numkeys value"                                    // of Redis 8.4
	ErrKeyValuePairs  Error = "ERR wrong number of key-value pairs"                          // of Redis 8.4

	// Streams.
	ErrStreamID             Error = "ERR Invalid stream ID specified as stream command argument"
	ErrStreamIDSmall        Error = "ERR The ID specified in XADD is equal or smaller than the target stream top item"
	ErrStreamIDZero         Error = "ERR The ID specified in XADD must be greater than 0-0"
	ErrStreamExhausted      Error = "ERR The stream has exhausted the last possible ID, unable to add more items"
	ErrStreamEntry          Error = "ERR Elements are too large to be stored"
	ErrStreamMaxLen         Error = "ERR The MAXLEN argument must be >= 0."
	ErrStreamLimit          Error = "ERR The LIMIT argument must be >= 0."
	ErrStreamLimitApprox    Error = "ERR syntax error, LIMIT cannot be used without the special ~ option"
	ErrStreamLimitStrategy  Error = "ERR syntax error, LIMIT cannot be used without specifying a trimming strategy"
	ErrStreamTrim           Error = "ERR syntax error, XTRIM must be called with a trimming strategy"
	ErrStreamMaxLenAndMinID Error = "ERR syntax error, MAXLEN and MINID options at the same time are not compatible"
	ErrStreamStart          Error = "ERR invalid start ID for the interval"
	ErrStreamEnd            Error = "ERR invalid end ID for the interval"
	ErrXReadUnbalanced      Error = "ERR Unbalanced XREAD list of streams: for each stream key an ID or '$' must be specified."
	ErrXReadNewID           Error = "ERR The > ID can be specified only when calling XREADGROUP using the GROUP <group> <consumer> option."
	ErrXReadGroup           Error = "ERR The GROUP option is only supported by XREADGROUP. You called XREAD instead."
	ErrXReadNoAck           Error = "ERR The NOACK option is only supported by XREADGROUP. You called XREAD instead."
	ErrXSetIDSmall          Error = "ERR The ID specified in XSETID is smaller than the target stream top item"
	ErrXSetIDEntries        Error = "ERR entries_added must be positive"
	ErrXSetIDLength         Error = "ERR The entries_added specified in XSETID is smaller than the target stream length"
	ErrXSetIDDeleted        Error = "ERR The ID specified in XSETID is smaller than the provided max_deleted_entry_id"

	// COMMAND.
	ErrCommandInvalid     Error = "ERR Invalid command specified"
	ErrCommandNoKeys      Error = "ERR The command has no key arguments"
	ErrCommandArity       Error = "ERR Invalid number of arguments specified for command"
	ErrCommandInvalidArgs Error = "ERR Invalid arguments specified for command"

	// The server.
	ErrNoConfigFile   Error = "ERR The server is running without a config file"
	ErrSaveInProgress Error = "ERR Background save already in progress"
	ErrShutdown       Error = "ERR Errors trying to SHUTDOWN. Check logs."
	ErrNoShutdown     Error = "ERR No shutdown in progress."
	ErrSaveFailed     Error = "ERR"
	ErrMaxAge         Error = "ERR syntax error"
	ErrDebugDisabled  Error = "ERR DEBUG command not allowed. If the enable-debug-command option is set to \"local\", you can run it from a local connection, otherwise you need to set this option in the configuration file, and then restart the server."
	ErrMisconf        Error = "MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk. Commands that may modify the data set are disabled, because this instance is configured to report errors during writes if RDB snapshotting fails (stop-writes-on-bgsave-error option). Please check the Redis logs for details about the RDB error."
	ErrNoSnapshotFile Error = "ERR this server keeps no snapshots (dbfilename is empty)" // ours
	ErrInternal       Error = "ERR internal error, the server's log tells more"          // ours

	// Locks and sales: ours.
	ErrOwnerEmpty    Error = "ERR lock owner must not be empty"
	ErrOwnerReserved Error = "ERR lock owner must not be '$token' or 'mode', these fields are reserved"
	ErrStock         Error = "ERR seckill stock is not an integer or out of range"
)

// maxErrorArgBytes is how much of a client's own words Redis repeats in an error.
const maxErrorArgBytes = 128

// ErrUnknownCommand names an unknown command and the beginning of its arguments. args starts with the name.
func ErrUnknownCommand(args [][]byte) Error {
	b := append([]byte("ERR unknown command '"), clip(args[0], maxErrorArgBytes)...)
	b = append(b, "', with args beginning with: "...)
	start := len(b)
	for _, arg := range args[1:] {
		room := maxErrorArgBytes - (len(b) - start)
		if room <= 0 {
			break
		}
		b = append(b, '\'')
		b = append(b, clip(arg, room)...)
		b = append(b, "' "...)
	}
	return oneLine(b)
}

// ErrUnknownSubcommand names an unknown subcommand; container is the container's name as a client may type it.
func ErrUnknownSubcommand(container string, sub []byte) Error {
	b := append([]byte("ERR unknown subcommand '"), clip(sub, maxErrorArgBytes)...)
	b = append(b, "'. Try "...)
	b = append(b, upper(container)...)
	return oneLine(append(b, " HELP."...))
}

// ErrSubcommandSyntax is what some subcommands say about arguments that they cannot understand.
func ErrSubcommandSyntax(container string, sub []byte) Error {
	b := append([]byte("ERR unknown subcommand or wrong number of arguments for '"), clip(sub, maxErrorArgBytes)...)
	b = append(b, "'. Try "...)
	b = append(b, upper(container)...)
	return oneLine(append(b, " HELP."...))
}

// ErrArity says that a command was called with too few or too many words; name is the full name, "client|list".
func ErrArity(name string) Error {
	return Error("ERR wrong number of arguments for '" + name + "' command")
}

// ErrExecAborted is the error of an EXEC that could itself not be run.
func ErrExecAborted(reason error) Error {
	return Error("EXECABORT Transaction discarded because of: " + strings.TrimPrefix(reason.Error(), "ERR "))
}

// ErrInvalidExpire says that the time given to a command makes no deadline.
func ErrInvalidExpire(name string) Error {
	return Error("ERR invalid expire time in '" + name + "' command")
}

// ErrUnsupportedOption names an option that the EXPIRE family does not know.
func ErrUnsupportedOption(option []byte) Error { return quoted("ERR Unsupported option ", option, "") }

// ErrHelloOption names the option of HELLO that is unknown or lacks its arguments.
func ErrHelloOption(option []byte) Error {
	return quoted("ERR Syntax error in HELLO option '", option, "'")
}

// ErrClientType names an unknown type of clients.
func ErrClientType(kind []byte) Error { return quoted("ERR Unknown client type '", kind, "'") }

// ErrClientAttribute says that CLIENT SETINFO was given a value that could not be listed.
func ErrClientAttribute(name string) Error {
	return Error("ERR " + name + " cannot contain spaces, newlines or special characters.")
}

// ErrUnrecognizedOption names an attribute that CLIENT SETINFO does not know.
func ErrUnrecognizedOption(option []byte) Error {
	return quoted("ERR Unrecognized option '", option, "'")
}

// ErrRewrite says why CONFIG REWRITE could not write.
func ErrRewrite(cause error) Error {
	return quoted("ERR Rewriting config file: ", []byte(cause.Error()), "")
}

// ErrNoSuchUser names an unknown user.
func ErrNoSuchUser(user []byte) Error { return quoted("ERR No such user '", user, "'") }

// ErrConfigUnknown names a directive that CONFIG SET does not know.
func ErrConfigUnknown(name []byte) Error {
	return quoted("ERR Unknown option or number of arguments for CONFIG SET - '", name, "'")
}

// ErrConfigSet says why CONFIG SET refused a value.
func ErrConfigSet(name []byte, reason string) Error {
	return quoted("ERR CONFIG SET failed (possibly related to argument '", name, "') - "+reason)
}

// ErrSubscribed says that a RESP2 client that is subscribed cannot send this command; name is the full name.
func ErrSubscribed(name string) Error {
	return Error("ERR Can't execute '" + name + "': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context")
}

// ErrIntRange says that an integer is outside of its bounds, both of which are allowed.
func ErrIntRange(least, most int64) Error {
	return Error("ERR value is out of range, value must between " + strconv.FormatInt(least, 10) + " and " + strconv.FormatInt(most, 10))
}

// ErrNoSale names a sale without a stock key.
func ErrNoSale(voucher []byte) Error { return quoted("ERR no such seckill '", voucher, "'") }

// quoted puts a client's word into an error in full length.
func quoted(before string, word []byte, after string) Error {
	b := append([]byte(before), clip(word, len(word))...)
	return oneLine(append(b, after...))
}

// ErrExecAbortedBy answers an EXEC that is refused itself; the transaction is gone.
func ErrExecAbortedBy(err error) error {
	return oneLine([]byte("EXECABORT Transaction discarded because of: " + strings.TrimPrefix(err.Error(), "ERR ")))
}

// clip shortens a client's word as C's "%.*s" does: to n bytes, and at a zero byte.
func clip(word []byte, n int) []byte {
	word = word[:min(n, len(word))]
	for i, c := range word {
		if c == 0 {
			return word[:i]
		}
	}
	return word
}

// oneLine makes an error of b, in which no word of the client can end the line.
func oneLine(b []byte) Error {
	for i, c := range b {
		if c == '\r' || c == '\n' {
			b[i] = ' '
		}
	}
	return Error(b)
}
