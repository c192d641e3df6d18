package commands

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Error is an error that the client sees. The text is the whole reply, with its code word first and without
// the leading '-'. Two errors are equal if their texts are equal.
type Error string

func (e Error) Error() string { return string(e) }

// Every text that a client can get is here and in the functions below. If Redis has the case, the text is
// byte for byte that of Redis 7.4. Texts about a command's own arguments are grouped by family.
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
	ErrScanNoValues Error = "ERR NOVALUES option can only be used in HSCAN"
	ErrNumKeysZero  Error = "ERR numkeys should be greater than 0"
	ErrTooManyKeys  Error = "ERR Number of keys can't be greater than number of args"
	ErrLimitSign    Error = "ERR LIMIT can't be negative"
	ErrTimeout      Error = "ERR timeout is not an integer or out of range"
	ErrTimeoutFloat Error = "ERR timeout is not a float or out of range"
	ErrTimeoutSign  Error = "ERR timeout is negative"
	ErrTimeoutRange Error = "ERR timeout is out of range"
	ErrUnblocked    Error = "UNBLOCKED client unblocked via CLIENT UNBLOCK"

	// CLIENT PAUSE and WAITAOF.
	ErrPauseMode Error = "ERR CLIENT PAUSE mode must be WRITE or ALL"
	ErrWaitAOF   Error = "ERR WAITAOF cannot be used when numlocal is set but appendonly is disabled."

	// SORT.
	ErrSortNumber Error = "ERR One or more scores can't be converted into double"

	// DUMP and RESTORE.
	ErrDumpPayload Error = "ERR DUMP payload version or checksum are wrong"
	ErrDumpFormat  Error = "ERR Bad data format"
	ErrRestoreTTL  Error = "ERR Invalid TTL value, must be >= 0"
	ErrRestoreIdle Error = "ERR Invalid IDLETIME value, must be >= 0"
	ErrRestoreFreq Error = "ERR Invalid FREQ value, must be >= 0 and <= 255"

	// MIGRATE. The last error is ours.
	ErrMigrateKeys    Error = "ERR When using MIGRATE KEYS option, the key argument must be set to the empty string"
	ErrMigrateConnect Error = "IOERR error or timeout connecting to the client"
	ErrMigrateWrite   Error = "IOERR error or timeout writing to target instance"
	ErrMigrateRead    Error = "IOERR error or timeout reading to target instance"
	ErrMigrateKept    Error = "ERR the target has got all keys, but some changed meanwhile or could not be removed: they are here as well, and newer"
	ErrMigrateHeld    Error = "ERR MIGRATE cannot be part of a transaction or a script in a raft group"
	ErrUsersHeld      Error = "ERR users of a raft group cannot be changed in a transaction"
	ErrMigrateNotSent Error = "ERR nothing was sent: this server does not lead any more"

	// Numbers in values.
	ErrOverflow      Error = "ERR increment or decrement would overflow"
	ErrDecrOverflow  Error = "ERR decrement would overflow"
	ErrNaNOrInfinity Error = "ERR increment would produce NaN or Infinity"
	ErrIncrexBounds  Error = "ERR LBOUND can't be greater than UBOUND"
	ErrHashInteger   Error = "ERR hash value is not an integer"
	ErrHashFloat     Error = "ERR hash value is not a float"
	ErrIncrNaN       Error = "ERR value is NaN or Infinity"

	// Client-side caching.
	ErrTrackingPrefix     Error = "ERR PREFIX option requires BCAST mode to be enabled"
	ErrTrackingSwitch     Error = "ERR You can't switch BCAST mode on/off before disabling tracking for this client, and then re-enabling it with a different mode."
	ErrTrackingBroadcast  Error = "ERR OPTIN and OPTOUT are not compatible with BCAST"
	ErrTrackingOptions    Error = "ERR You can't specify both OPTIN mode and OPTOUT mode"
	ErrTrackingOptSwitch  Error = "ERR You can't switch OPTIN/OPTOUT mode before disabling tracking for this client, and then re-enabling it with a different mode."
	ErrTrackingRedirects  Error = "ERR A client can only redirect to a single other client"
	ErrTrackingRedirect   Error = "ERR The client ID you want redirect to does not exist"
	ErrCachingNotTracking Error = "ERR CLIENT CACHING can be called only when the client is in tracking mode with OPTIN or OPTOUT mode enabled"
	ErrCachingYes         Error = "ERR CLIENT CACHING YES is only valid when tracking is enabled in OPTIN mode."
	ErrCachingNo          Error = "ERR CLIENT CACHING NO is only valid when tracking is enabled in OPTOUT mode."

	// Databases and sessions.
	ErrDBIndex       Error = "ERR DB index is out of range"
	ErrFirstDB       Error = "ERR invalid first DB index"
	ErrSecondDB      Error = "ERR invalid second DB index"
	ErrNoAuth        Error = "NOAUTH Authentication required."
	ErrNoAuthHello   Error = "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH <user> <pass> option can be used to authenticate the client and select the RESP protocol version at the same time"
	ErrWrongPass     Error = "WRONGPASS invalid username-password pair or user is disabled."
	ErrNoPassword    Error = "ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?"
	ErrNoProto       Error = "NOPROTO unsupported protocol version"
	ErrProtoInteger  Error = "ERR Protocol version is not an integer or out of range"
	ErrClientName    Error = "ERR Client names cannot contain spaces, newlines or special characters."
	ErrNoSuchClient  Error = "ERR No such client"
	ErrClientID      Error = "ERR Invalid client ID"
	ErrClientIDSign  Error = "ERR client-id should be greater than 0"
	ErrUnblockReason Error = "ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR"

	// Features of Redis that this server does not have.
	ErrNoCluster    Error = "ERR This instance has cluster support disabled"
	ErrMasterPort   Error = "ERR Invalid master port"
	ErrPasswordBits Error = "ERR ACL GENPASS argument must be the number of bits for the output password, a positive number up to 4096"

	// Transactions.
	ErrNestedMulti      Error = "ERR MULTI calls can not be nested"
	ErrExecWithoutMulti Error = "ERR EXEC without MULTI"
	ErrDiscardNoMulti   Error = "ERR DISCARD without MULTI"
	ErrWatchInsideMulti Error = "ERR WATCH inside MULTI is not allowed"
	ErrNotInsideMulti   Error = "ERR Command not allowed inside a transaction"
	ErrExecAbort        Error = "EXECABORT Transaction discarded because of previous errors."
	ErrNoScript         Error = "ERR This Redis command is not allowed from script"
	ErrOutOfMemory      Error = "OOM command not allowed when used memory > 'maxmemory'."
	ErrLoading          Error = "LOADING Redis is loading the dataset in memory"

	// Keys.
	ErrExpireNXWithOthers Error = "ERR NX and XX, GT or LT options at the same time are not compatible"
	ErrExpireGTAndLT      Error = "ERR GT and LT options at the same time are not compatible"
	ErrNoLFU              Error = "ERR An LFU maxmemory policy is not selected, access frequency not tracked. Please note that when switching between policies at runtime LRU and LFU data will take some time to adjust."
	ErrNoLRU              Error = "ERR An LFU maxmemory policy is selected, idle time not tracked. Please note that when switching between policies at runtime LRU and LFU data will take some time to adjust."

	// Strings.
	ErrLCSLenAndIdx   Error = "ERR If you want both the length and indexes, please just use IDX."
	ErrLCSType        Error = "ERR The specified keys must contain string values"
	ErrLCSMemory      Error = "ERR Insufficient memory, transient memory for LCS exceeds proto-max-bulk-len"
	ErrDigest         Error = "ERR must be exactly 16 hexadecimal characters"                // of Redis 8.4
	ErrDelexType      Error = "ERR Key should be of string type if conditions are specified" // of Redis 8.4
	ErrDelexCondition Error = "ERR Invalid condition. Use IFEQ, IFNE, IFDEQ, or IFDNE"       // of Redis 8.4
	ErrNumKeys        Error = "ERR invalid numkeys value"                                    // of Redis 8.4
	ErrKeyValuePairs  Error = "ERR wrong number of key-value pairs"                          // of Redis 8.4

	// Lists.
	ErrRankZero   Error = "ERR RANK can't be zero: use 1 to start from the first match, 2 from the second ... or use negative to start from the end of the list"
	ErrCountSign  Error = "ERR COUNT can't be negative"
	ErrMaxLenSign Error = "ERR MAXLEN can't be negative"
	ErrCountZero  Error = "ERR count should be greater than 0"

	// Sorted sets.
	ErrMinMaxLex      Error = "ERR min or max not valid string range item"
	ErrZAddNXAndXX    Error = "ERR XX and NX options at the same time are not compatible"
	ErrZAddGTLTAndNX  Error = "ERR GT, LT, and/or NX options at the same time are not compatible"
	ErrZAddIncrPairs  Error = "ERR INCR option supports a single increment-element pair"
	ErrScoreNaN       Error = "ERR resulting score is not a number (NaN)"
	ErrRangeLimit     Error = "ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX"
	ErrRangeLexScores Error = "ERR syntax error, WITHSCORES not supported in combination with BYLEX"
	ErrWeight         Error = "ERR weight value is not a float"

	// Bits of strings.
	ErrBitOffset   Error = "ERR bit offset is not an integer or out of range"
	ErrBitValue    Error = "ERR bit is not an integer or out of range"
	ErrBitPosBit   Error = "ERR The bit argument must be 1 or 0."
	ErrBitOpNot    Error = "ERR BITOP NOT must be called with a single source key."
	ErrBitOverflow Error = "ERR Invalid OVERFLOW type specified"
	ErrBitType     Error = "ERR Invalid bitfield type. Use something like i16 u8. Note that u64 is not supported but i64 is."
	ErrBitfieldRO  Error = "ERR BITFIELD_RO only supports the GET subcommand"

	// Geo indexes.
	ErrGeoUnit            Error = "ERR unsupported unit provided. please use M, KM, FT, MI"
	ErrGeoRadius          Error = "ERR need numeric radius"
	ErrGeoRadiusSign      Error = "ERR radius cannot be negative"
	ErrGeoWidth           Error = "ERR need numeric width"
	ErrGeoHeight          Error = "ERR need numeric height"
	ErrGeoBoxSign         Error = "ERR height or width cannot be negative"
	ErrGeoVertices        Error = "ERR a polygon has at least 3 vertices"
	ErrGeoMember          Error = "ERR could not decode requested zset member"
	ErrGeoCount           Error = "ERR COUNT must be > 0"
	ErrGeoAny             Error = "ERR the ANY argument requires COUNT argument"
	ErrGeoSearchStoreWith Error = "ERR GEOSEARCHSTORE is not compatible with WITHDIST, WITHHASH and WITHCOORD options"
	ErrGeoRadiusStoreWith Error = "ERR STORE option in GEORADIUS is not compatible with WITHDIST, WITHHASH and WITHCOORD options"

	// HyperLogLogs.
	ErrNoHyperLogLog      Error = "WRONGTYPE Key is not a valid HyperLogLog string value."
	ErrCorruptHyperLogLog Error = "INVALIDOBJ Corrupted HLL object detected"
	ErrPFNoKey            Error = "ERR The specified key does not exist"
	ErrPFNotSparse        Error = "ERR HLL encoding is not sparse"

	// Deadlines of the fields of a hash, as in Redis 8.
	ErrFieldTimeSign   Error = "ERR invalid expire time, must be >= 0"
	ErrNoFieldTime     Error = "ERR missing expire time"
	ErrFieldsMissing   Error = "ERR Mandatory argument FIELDS is missing or not at the right position"
	ErrNumFields       Error = "ERR Parameter `numFields` should be greater than 0"
	ErrNumFieldsSign   Error = "ERR Number of fields must be a positive integer"
	ErrNumFieldsMatch  Error = "ERR The `numfields` parameter must match the number of arguments"
	ErrFieldCount      Error = "ERR invalid number of fields"
	ErrFieldConditions Error = "ERR Only one of FXX or FNX arguments can be specified"
	ErrFieldExpiries   Error = "ERR Only one of EX, PX, EXAT, PXAT or KEEPTTL arguments can be specified"

	// COMMAND.
	ErrCommandInvalid     Error = "ERR Invalid command specified"
	ErrCommandNoKeys      Error = "ERR The command has no key arguments"
	ErrCommandArity       Error = "ERR Invalid number of arguments specified for command"
	ErrCommandInvalidArgs Error = "ERR Invalid arguments specified for command"

	// The server.
	ErrNoConfigFile   Error = "ERR The server is running without a config file"
	ErrSaveInProgress Error = "ERR Background save already in progress"
	// BGREWRITEAOF, and BGSAVE while one runs.
	ErrRewriteInProgress Error = "ERR Background append only file rewriting already in progress"
	ErrRewriteFailed     Error = "ERR Can't execute an AOF background rewriting. Please check the server logs for more information."
	ErrReload            Error = "ERR Error trying to load the RDB dump, check server logs."
	ErrReloadLog         Error = "ERR Error trying to load the AOF files, check server logs."
	ErrNoLogFile         Error = "ERR this server keeps no files (dbfilename is empty, and appendonly is off)" // ours
	ErrSaveInRewrite     Error = "ERR Another child process is active (AOF?): can't BGSAVE right now. Use BGSAVE SCHEDULE in order to schedule a BGSAVE whenever possible."
	ErrShutdown          Error = "ERR Errors trying to SHUTDOWN. Check logs."
	ErrNoShutdown        Error = "ERR No shutdown in progress."
	ErrSaveFailed        Error = "ERR"
	ErrMaxAge            Error = "ERR maxage should be greater than 0"
	ErrMaxAgeNotInteger  Error = "ERR maxage is not an integer or out of range"
	ErrCommandlogType    Error = "ERR type should be one of the following: slow, large-request, large-reply, lock-wait"
	ErrSlowlogCount      Error = "ERR count should be greater than or equal to -1"
	ErrMonitorDenied     Error = "ERR MONITOR isn't allowed for DENY BLOCKING client"
	ErrSSubscribeDenied  Error = "ERR SSUBSCRIBE isn't allowed for a DENY BLOCKING client"
	ErrReadOnly          Error = "READONLY You can't write against a read only replica."
	ErrNoReplicas        Error = "NOREPLICAS Not enough good replicas to write."
	ErrMasterDown        Error = "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'."
	ErrDemoted           Error = "UNBLOCKED force unblock from blocking operation, instance state changed (master -> replica?)"
	ErrWaitOnReplica     Error = "ERR WAIT cannot be used with replica instances. Please also note that since Redis 4.0 if a replica is configured to be writable (which is not the default) writes to replicas are just local and are not propagated."
	ErrWaitAOFOnReplica  Error = "ERR WAITAOF cannot be used with replica instances. Please also note that writes to replicas are just local and are not propagated."
	ErrReplicaKeyspace   Error = "ERR Replica can't interact with the keyspace"
	ErrDebugDisabled     Error = "ERR DEBUG command not allowed. If the enable-debug-command option is set to \"local\", you can run it from a local connection, otherwise you need to set this option in the configuration file, and then restart the server."
	ErrMisconf           Error = "MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk. Commands that may modify the data set are disabled, because this instance is configured to report errors during writes if RDB snapshotting fails (stop-writes-on-bgsave-error option). Please check the Redis logs for details about the RDB error."
	ErrNoSnapshotFile    Error = "ERR this server keeps no snapshots (dbfilename is empty)" // ours
	ErrInternal          Error = "ERR internal error, the server's log tells more"          // ours

	// Locks and sales: ours.
	ErrTraceparent   Error = "ERR TRACE needs a traceparent of W3C Trace Context: 00-<32 hex digits>-<16 hex digits>-<2 hex digits>"
	ErrOwnerEmpty    Error = "ERR lock owner must not be empty"
	ErrOwnerReserved Error = "ERR lock owner must not be '$token', '$watchdog', '$mode', '$limit', '$readers' or 'mode', these fields are reserved"
	ErrHeldByScript  Error = "ERR the owner holds this lock by scripts of Redisson, which have to release it"
	ErrSharedGuard   Error = "ERR a shared holder's token guards only commands that read"
	ErrStaleToken    Error = "STALETOKEN the lock is not held with this token"
	ErrTokenRange    Error = "ERR the lock's fencing token cannot rise any further"
	ErrStock         Error = "ERR seckill stock is not an integer or out of range"
)

// maxErrorArgBytes is the largest number of bytes of a client's own words that Redis repeats in an error.
const maxErrorArgBytes = 128

// ErrUnknownCommand names an unknown command and the beginning of its arguments. args starts with the name.
func ErrUnknownCommand(args [][]byte) Error {
	b := append([]byte("ERR unknown command '"), clip(args[0], maxErrorArgBytes)...)
	b = append(b, "', with args beginning with: "...)
	start := len(b)
	for _, arg := range args[1:] {
		left := maxErrorArgBytes - (len(b) - start)
		if left <= 0 {
			break
		}
		b = append(b, '\'')
		b = append(b, clip(arg, left)...)
		b = append(b, "' "...)
	}
	return oneLine(b)
}

// ErrUnknownSubcommand names an unknown subcommand; container is the container's
// name as a client may type it.
func ErrUnknownSubcommand(container string, sub []byte) Error {
	b := append([]byte("ERR unknown subcommand '"), clip(sub, maxErrorArgBytes)...)
	b = append(b, "'. Try "...)
	b = append(b, strings.ToUpper(container)...)
	return oneLine(append(b, " HELP."...))
}

// ErrSubcommandSyntax is the reply of some subcommands to arguments that they do not understand.
func ErrSubcommandSyntax(container string, sub []byte) Error {
	b := append([]byte("ERR unknown subcommand or wrong number of arguments for '"), clip(sub, maxErrorArgBytes)...)
	b = append(b, "'. Try "...)
	b = append(b, strings.ToUpper(container)...)
	return oneLine(append(b, " HELP."...))
}

// ErrArity says that a call has too few or too many words; name is the full name, "client|list".
func ErrArity(name string) Error {
	return Error("ERR wrong number of arguments for '" + name + "' command")
}

// ErrInvalidExpire says that the time given to a command makes no deadline.
func ErrInvalidExpire(name string) Error {
	return Error("ERR invalid expire time in '" + name + "' command")
}

// ErrCategory names a category of commands that does not exist.
func ErrCategory(name []byte) Error { return quoted("ERR Unknown category '", name, "'") }

// ErrUnsupportedOption names an option that the EXPIRE family does not know.
func ErrUnsupportedOption(option []byte) Error { return quoted("ERR Unsupported option ", option, "") }

// ErrBitOpSources says that an operation of BITOP that Redis 8.2 brought needs more sources.
func ErrBitOpSources(operation string) Error {
	return Error("ERR BITOP " + operation + " must be called with at least two source keys.")
}

// ErrGeoPoint says that a position cannot be hashed.
func ErrGeoPoint(longitude, latitude float64) Error {
	return Error(fmt.Sprintf("ERR invalid longitude,latitude pair %s,%s", degrees(longitude), degrees(latitude)))
}

// degrees is a number as C's "%f" writes it.
func degrees(f float64) string {
	if math.IsInf(f, 0) {
		return strings.ToLower(strings.TrimPrefix(fmt.Sprint(f), "+"))
	}
	return strconv.FormatFloat(f, 'f', 6, 64)
}

// ErrGeoExactlyOne says that one of two options is missing; name is the command's as the client wrote it.
func ErrGeoExactlyOne(options string, name []byte) Error {
	return quoted("ERR exactly one of "+options+" can be specified for ", name, "")
}

// ErrPFSubcommand names an unknown subcommand of PFDEBUG.
func ErrPFSubcommand(word []byte) Error { return quoted("ERR Unknown PFDEBUG subcommand '", word, "'") }

// ErrPFSelfTest returns the error that PFSELFTEST found.
func ErrPFSelfTest(cause error) Error { return quoted("TESTFAILED ", []byte(cause.Error()), "") }

// ErrUnknownArgument names the word that HSETEX does not know.
func ErrUnknownArgument(word []byte) Error { return quoted("ERR unknown argument: ", word, "") }

// ErrHelloOption names the option of HELLO that is unknown or lacks its arguments.
func ErrHelloOption(option []byte) Error {
	return quoted("ERR Syntax error in HELLO option '", option, "'")
}

// ErrLatencySamples names an event without samples.
func ErrLatencySamples(event []byte) Error {
	return quoted("ERR No samples available for event '", event, "'")
}

// ErrClientType names an unknown type of clients.
func ErrClientType(kind []byte) Error { return quoted("ERR Unknown client type '", kind, "'") }

// ErrTrackingOverlap says that two prefixes overlap; which says where the other prefix was given.
func ErrTrackingOverlap(name, which, other string) Error {
	begin := quoted("ERR Prefix '", []byte(name), "' overlaps with "+which+" prefix '")
	return quoted(string(begin), []byte(other), "'. Prefixes for a single client must not overlap.")
}

// ErrClientAttribute says that CLIENT SETINFO was given a value that could not be listed.
func ErrClientAttribute(name string) Error {
	return Error("ERR " + name + " cannot contain spaces, newlines or special characters.")
}

// ErrUnrecognizedOption names an attribute that CLIENT SETINFO does not know.
func ErrUnrecognizedOption(option []byte) Error {
	return quoted("ERR Unrecognized option '", option, "'")
}

// ErrLogFailed refuses to write because the append-only log cannot be written; reason is the system's.
func ErrLogFailed(reason string) Error {
	return Error("MISCONF Errors writing to the AOF file: " + reason)
}

// ErrForceRewrite says why DEBUG CONFIG-REWRITE-FORCE-ALL could not write.
func ErrForceRewrite(cause string) Error {
	return quoted("ERR CONFIG-REWRITE-FORCE-ALL failed: ", []byte(cause), "")
}

// ErrRewrite says why CONFIG REWRITE could not write.
func ErrRewrite(cause error) Error {
	return quoted("ERR Rewriting config file: ", []byte(cause.Error()), "")
}

// ErrNotOurDir says why nothing may be written to the server's directory; ours.
func ErrNotOurDir(cause error) Error {
	return quoted("ERR cannot save: ", []byte(cause.Error()), "")
}

// ErrNoSuchUser names an unknown user.
func ErrNoSuchUser(user []byte) Error { return quoted("ERR No such user '", user, "'") }

// ErrSubscribed says that a RESP2 client that is subscribed cannot send this command; name is the full name.
func ErrSubscribed(name string) Error {
	return Error("ERR Can't execute '" + name + "': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context")
}

// ErrNoInputKey says that a command that combines sorted sets was given none; name is the full name.
func ErrNoInputKey(name string) Error {
	return Error("ERR at least 1 input key is needed for '" + name + "' command")
}

// ErrIntRange says that an integer is outside of its bounds, which are inclusive.
func ErrIntRange(least, most int64) Error {
	return Error("ERR value is out of range, value must between " + strconv.FormatInt(least, 10) + " and " + strconv.FormatInt(most, 10))
}

// ErrNoGroup says that a stream has no such consumer group.
func ErrNoGroup(group, key []byte) Error {
	return oneLine([]byte("NOGROUP No such consumer group '" + string(clip(group, len(group))) + "' for key name '" +
		string(clip(key, len(key))) + "'"))
}

// ErrNoKeyOrGroup says that there is no such stream, or no such consumer group of it.
func ErrNoKeyOrGroup(key, group []byte) Error {
	return oneLine([]byte("NOGROUP No such key '" + string(clip(key, len(key))) + "' or consumer group '" +
		string(clip(group, len(group))) + "'"))
}

// ErrNoGroupToRead is ErrNoKeyOrGroup for XREADGROUP.
func ErrNoGroupToRead(key, group []byte) Error {
	return ErrNoKeyOrGroup(key, group) + " in XREADGROUP with GROUP option"
}

// ErrClaimMinIdle refuses the min-idle-time of XCLAIM or XAUTOCLAIM.
func ErrClaimMinIdle(command string) Error {
	return Error("ERR Invalid min-idle-time argument for " + command)
}

// ErrClaimOption refuses the number behind an option of XCLAIM.
func ErrClaimOption(option string) Error {
	return Error("ERR Invalid " + option + " option argument for XCLAIM")
}

// ErrClaimWord refuses a word that is no option of XCLAIM.
func ErrClaimWord(word []byte) Error { return quoted("ERR Unrecognized XCLAIM option '", word, "'") }

// ErrNoSale names a sale without a stock key.
func ErrNoSale(voucher []byte) Error { return quoted("ERR no such seckill '", voucher, "'") }

// ErrNotGuarded names a command that GUARD does not run.
func ErrNotGuarded(name string) Error {
	return Error("ERR GUARD cannot run '" + name + "': only commands on data can be guarded")
}

// ErrDeadlock lists the deadlock cycle that a wait would close. The list is an owner, the lock that it waits
// for, the owner of that lock, and so on, back to the first owner.
func ErrDeadlock(cycle []string) Error {
	const most = 64 // words; a longer cycle is cut in the middle
	b := []byte("DEADLOCK ")
	for i, word := range cycle {
		switch {
		case len(cycle) > most && i == most-2:
			b = append(b, " -> ..."...)
		case len(cycle) > most && i > most-2 && i < len(cycle)-1:
		default:
			if i > 0 {
				b = append(b, " -> "...)
			}
			b = append(b, clip([]byte(word), min(len(word), maxErrorArgBytes))...)
		}
	}
	return oneLine(b)
}

// quoted puts a client's word into an error in full length.
func quoted(before string, word []byte, after string) Error {
	b := append([]byte(before), clip(word, len(word))...)
	return oneLine(append(b, after...))
}

// ErrExecAbortedBy is the reply to an EXEC that is refused itself; the transaction is gone.
func ErrExecAbortedBy(err error) Error {
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

// oneLine makes an error of b. No word of the client can end the line.
func oneLine(b []byte) Error {
	for i, c := range b {
		if c == '\r' || c == '\n' {
			b[i] = ' '
		}
	}
	return Error(b)
}

// Error texts about users.
const (
	ErrUserName            Error = "ERR Usernames can't contain spaces or null characters"
	ErrDefaultUser         Error = "ERR The 'default' user cannot be removed"
	ErrNoACLFile           Error = "ERR This Redis instance is not configured to use an ACL file. You may want to specify users via the ACL SETUSER command and then issue a CONFIG REWRITE (assuming you have a Redis configuration file set) in order to store users in the Redis configuration."
	ErrACLSave             Error = "ERR There was an error trying to save the ACLs. Please check the server logs for more information"
	ErrNoKeyPermission     Error = "NOPERM No permissions to access a key"
	ErrNoChannelPermission Error = "NOPERM No permissions to access a channel"
	ErrNoDBPermission      Error = "NOPERM No permissions to access database"
	// ErrScriptCrossSlot answers a script's call for a key in another slot than the keys before it.
	ErrScriptCrossSlot Error = "ERR Script attempted to access keys that do not hash to the same slot"
	ErrScriptNoCluster Error = "ERR Can not run script on cluster, 'no-cluster' flag is set."
	ErrSortBySlot      Error = "ERR BY option of SORT denied in Cluster mode when keys formed by the pattern may be in different slots."
	ErrSortGetSlot     Error = "ERR GET option of SORT denied in Cluster mode when keys formed by the pattern may be in different slots."
	ErrSortByDenied    Error = "ERR BY option of SORT denied due to insufficient ACL permissions."
	ErrSortGetDenied   Error = "ERR GET option of SORT denied due to insufficient ACL permissions."
)

// ErrNoCommandPermission says that a user may not run a command.
func ErrNoCommandPermission(user, command string) Error {
	return quoted("NOPERM User ", []byte(user), " has no permissions to run the '"+command+"' command")
}

// ErrScriptDenied says why a script may not run a command; reason is the client's text.
func ErrScriptDenied(reason string) Error {
	return oneLine([]byte("ERR ACL failure in script: " + reason))
}

// ErrExecDenied says that a right was taken away between MULTI and EXEC.
func ErrExecDenied(reason string) Error {
	return Error("NOPERM ACLs rules changed between the moment the transaction was accumulated and the EXEC call. " +
		"This command is no longer allowed for the following reason: " + reason)
}

// ErrUserNotFound names the unknown user of ACL DRYRUN.
func ErrUserNotFound(user []byte) Error { return quoted("ERR User '", user, "' not found") }

// ErrCommandNotFound names the unknown command of ACL DRYRUN.
func ErrCommandNotFound(name []byte) Error { return quoted("ERR Command '", name, "' not found") }

// ErrUserRule says what is wrong with one rule of ACL SETUSER.
func ErrUserRule(rule []byte, reason string) Error {
	return quoted("ERR Error in ACL SETUSER modifier '", rule, "': "+reason)
}

// ErrUserParenthesis names the word with a parenthesis that is not closed.
func ErrUserParenthesis(word []byte) Error {
	return quoted("ERR Unmatched parenthesis in acl selector starting at '", word, "'.")
}

// ErrACLLoad lists all errors in an ACL file.
func ErrACLLoad(reasons string) Error { return oneLine([]byte("ERR " + reasons)) }

// These are the errors of streams and consumer groups, byte for byte as in Redis 7.4.
const (
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
	ErrStreamIDsCount       Error = "ERR Number of IDs must be a positive integer"
	ErrStreamIDsMatch       Error = "ERR The `numids` parameter must match the number of arguments"
	ErrStreamIDsMissing     Error = "ERR IDS option is required"
	ErrStreamStart          Error = "ERR invalid start ID for the interval"
	ErrStreamEnd            Error = "ERR invalid end ID for the interval"
	ErrXReadNewID           Error = "ERR The > ID can be specified only when calling XREADGROUP using the GROUP <group> <consumer> option."
	ErrXReadGroup           Error = "ERR The GROUP option is only supported by XREADGROUP. You called XREAD instead."
	ErrXReadNoAck           Error = "ERR The NOACK option is only supported by XREADGROUP. You called XREAD instead."
	ErrXReadClaim           Error = "ERR The CLAIM option is only supported by XREADGROUP. You called XREAD instead."
	ErrXReadGroupMissing    Error = "ERR Missing GROUP option for XREADGROUP"
	ErrXReadNothing         Error = "ERR the stream last element ID is 0-0"
	ErrXReadGroupNewest     Error = "ERR The + ID is meaningless in the context of XREADGROUP: you want to read the history of this consumer by specifying a proper ID, or use the > ID to get new messages. The + ID would just return an empty result set."
	ErrXReadGroupLast       Error = "ERR The $ ID is meaningless in the context of XREADGROUP: you want to read the history of this consumer by specifying a proper ID, or use the > ID to get new messages. The $ ID would just return an empty result set."
	ErrXGroupNoKey          Error = "ERR The XGROUP subcommand requires the key to exist. Note that for CREATE you may want to use the MKSTREAM option to create an empty stream automatically."
	ErrBusyGroup            Error = "BUSYGROUP Consumer Group name already exists"
	ErrEntriesRead          Error = "ERR value for ENTRIESREAD must be positive or -1"
	ErrClaimCount           Error = "ERR COUNT must be > 0"
	ErrXSetIDSmall          Error = "ERR The ID specified in XSETID is smaller than the target stream top item"
	ErrXSetIDEntries        Error = "ERR entries_added must be positive"
	ErrXSetIDLength         Error = "ERR The entries_added specified in XSETID is smaller than the target stream length"
	ErrXSetIDDeleted        Error = "ERR The ID specified in XSETID is smaller than the provided max_deleted_entry_id"
	ErrXSetIDBelowDeleted   Error = "ERR The ID specified in XSETID is smaller than current max_deleted_entry_id"
)

// Texts about producers, which Redis 7.4 does not have.
const (
	ErrProduceTwice        Error = "ERR IDMP/IDMPAUTO specified multiple times"
	ErrProduceID           Error = "ERR IDMP/IDMPAUTO can be used only with auto-generated IDs"
	ErrProduceProducer     Error = "ERR IDMP requires a non-empty producer ID"
	ErrProduceName         Error = "ERR IDMP requires a non-empty idempotent ID"
	ErrProduceAutoProducer Error = "ERR IDMPAUTO requires a non-empty producer ID"
	ErrCfgNothing          Error = "ERR At least one parameter must be specified"
	ErrCfgDuration         Error = "ERR IDMP-DURATION must be between 1 and 86400 seconds"
	ErrCfgDurationTwice    Error = "ERR IDMP-DURATION specified multiple times"
	ErrCfgMaxSize          Error = "ERR IDMP-MAXSIZE must be between 1 and 10000 entries"
	ErrCfgMaxSizeTwice     Error = "ERR IDMP-MAXSIZE specified multiple times"
	ErrRecordEntry         Error = "ERR No entry of the stream has this ID"
	ErrRecordOther         Error = "ERR The producer's message is another entry of the stream"
)

// ErrStreamsUnbalanced says that XREAD, or XREADGROUP if grouped, has a different number of IDs than of keys.
func ErrStreamsUnbalanced(grouped bool) Error {
	name, id := "xread", "$"
	if grouped {
		name, id = "xreadgroup", ">"
	}
	return Error("ERR Unbalanced '" + name + "' list of streams: for each stream key an ID or '" + id + "' must be specified.")
}

// The errors of sales made with SECKILL.CREATE, and of NEXTID.
const (
	ErrSaleVoucher Error = "ERR seckill voucher must not be empty"
	ErrSaleUser    Error = "ERR seckill user must not be empty"
	ErrSaleOrderID Error = "ERR seckill order must not be empty"

	ErrSaleQuantity   Error = "ERR seckill QTY must be a positive integer"
	ErrSaleTime       Error = "ERR seckill START and END must be unix times in milliseconds"
	ErrSaleWindow     Error = "ERR seckill START must be before END"
	ErrSaleLimitValue Error = "ERR seckill LIMIT must be a positive integer"
	ErrSaleHold       Error = "ERR seckill HOLD must be a positive number of milliseconds"
	ErrSaleHoldMax    Error = "ERR seckill HOLDMAX needs HOLD, and is a number of milliseconds that is not less"
	ErrSaleExtension  Error = "ERR seckill extension must be a positive number of milliseconds"
	ErrSaleCartSize   Error = "ERR seckill cart must have 1 to 64 vouchers, each with a quantity"
	ErrSaleCartTwice  Error = "ERR seckill cart names a voucher twice"

	ErrSaleRate  Error = "ERR seckill RATE needs a count and a period in milliseconds, both positive integers"
	ErrSaleBurst Error = "ERR seckill BURST must be a positive integer"

	ErrIDCounter Error = "ERR the counter of ids is not an integer or out of range"
	ErrIDsGone   Error = "ERR no more ids of this name are left for today"
	ErrIDClock   Error = "ERR the clock shows a time that an id cannot hold: only 2022 to 2090"
)

// ErrSaleLimit says that an order is for more pieces than a user may have.
func ErrSaleLimit(limit int64) Error {
	return Error("ERR seckill QTY is above the limit of " + strconv.FormatInt(limit, 10) + " per user")
}

// ErrSaleHoldLong says that a hold would be longer than its sale allows.
func ErrSaleHoldLong(maxMS int64) Error {
	return Error("ERR seckill hold would be longer than the HOLDMAX of " + strconv.FormatInt(maxMS, 10) + " ms")
}

// ErrSaleReturn says that an order has fewer pieces than are to be given back.
func ErrSaleReturn(order []byte, qty int64) Error {
	return quoted("ERR seckill order '", order, "' has only "+strconv.FormatInt(qty, 10)+" pieces")
}

// ErrSaleCart names an order that has some of a cart's vouchers and lacks others: it is another cart's.
func ErrSaleCart(order []byte) Error {
	return quoted("ERR seckill order '", order, "' is that of another cart")
}

// ErrSaleOrder names an order that is another user's.
func ErrSaleOrder(order []byte) Error {
	return quoted("ERR seckill order '", order, "' belongs to another user")
}

// ErrDelayRequest names a request id (ONCE) that another call had.
func ErrDelayRequest(request []byte) Error {
	return quoted("ERR request '", request, "' was another call")
}

// ErrDelayZone names a time zone (TZ) that is not known.
func ErrDelayZone(zone []byte) Error {
	return quoted("ERR time zone '", zone, "' is not known")
}

// ErrSaleExists names a sale that SECKILL.CREATE would overwrite.
func ErrSaleExists(voucher []byte) Error {
	return quoted("ERR seckill '", voucher, "' exists already, REPLACE begins it anew")
}

// ErrSaleBare names a sale that knows no orders.
func ErrSaleBare(voucher []byte) Error {
	return quoted("ERR seckill '", voucher, "' keeps no orders, it was not made with SECKILL.CREATE")
}

// ErrSaleField names a setting that is no number; the server never writes such a setting.
func ErrSaleField(field []byte) Error {
	return quoted("ERR seckill sale has an invalid field '", field, "'")
}

// ErrSaleRecord names an order with an invalid record. The server never writes one.
func ErrSaleRecord(order []byte) Error {
	return quoted("ERR seckill order '", order, "' has an invalid record")
}

// The errors of Bloom filters. Some of RedisBloom's texts have no
// code.
const (
	ErrBloomNotFound        Error = "ERR not found"
	ErrBloomExists          Error = "ERR item exists"
	ErrBloomFull            Error = "ERR non scaling filter is full"
	ErrBloomCreate          Error = "ERR could not create filter"
	ErrBloomInsert          Error = "ERR problem inserting into filter"
	ErrBloomRate            Error = "ERR bad error rate"
	ErrBloomRateRange       Error = "ERR (0 < error rate range < 1) "
	ErrBloomCapacity        Error = "ERR bad capacity"
	ErrBloomCapacityRange   Error = "ERR (capacity should be larger than 0)"
	ErrBloomNoExpansion     Error = "ERR no expansion"
	ErrBloomExpansion       Error = "ERR bad expansion"
	ErrBloomNonScaling      Error = "Nonscaling filters cannot expand"
	ErrBloomInsertRate      Error = "Bad error rate"
	ErrBloomInsertExpansion Error = "Bad expansion"
	ErrBloomInsertCapacity  Error = "Bad capacity"
	ErrBloomInsertWord      Error = "Unknown argument received"
	ErrBloomInsertRange     Error = "Bad argument received"
	ErrBloomInfo            Error = "Invalid information value"
	ErrBloomPlace           Error = "Second argument must be numeric"
	ErrBloomLoadPlace       Error = "ERR Second argument must be numeric"
	ErrBloomData            Error = "ERR received bad data"
	ErrBloomOffset          Error = "ERR invalid offset - no link found"
	ErrBloomChunk           Error = "ERR invalid chunk - Too big for current filter"
)

// The errors of delayed entries.
const (
	ErrDelayTime         Error = "ERR the time of a delayed entry is not an integer or out of range"
	ErrDelayID           Error = "ERR the id of a delayed entry must not be empty"
	ErrDelayRequestEmpty Error = "ERR the request id of ONCE must not be empty"
	ErrDelayPlaces       Error = "ERR no more entries can be due at this time"
	ErrDelayEvery        Error = "ERR EVERY needs a positive number of milliseconds"
	ErrDelayTimes        Error = "ERR TIMES needs a positive number"
	ErrDelayCron         Error = "ERR CRON needs a cron expression of five or six fields"
	ErrDelayNever        Error = "ERR the entry would never be due"
)

// The errors of limiters.
const (
	ErrLimitRate      Error = "ERR burst, count and period must be positive integers"
	ErrLimitLong      Error = "ERR the burst would take more than a hundred years to come back"
	ErrLimitCost      Error = "ERR COST must be an integer that is 0 or more"
	ErrLimitCostBurst Error = "ERR COST is above the burst, it could never be taken"
	ErrLimitTwice     Error = "ERR a key is named twice: a limiter has one state"
	ErrLimitsMany     Error = "ERR one call can name at most 64 limiters"
	ErrLimitState     Error = "ERR the key does not hold the state of a limiter"
	ErrLimitClock     Error = "ERR the clock shows a time that a limiter cannot hold: only 1970 to 2162"

	// As in redis-cell, except for the first words.
	ErrThrottleZero     Error = "ERR Zero rates are not supported"
	ErrThrottleNegative Error = "ERR max_burst, count, period and quantity must not be negative"
)
