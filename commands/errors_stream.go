package commands

// What clients see of streams and consumer groups, byte for byte as Redis 7.4 says it.
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

// Of producers, which 7.4 does not have.
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

// ErrStreamsUnbalanced says that XREAD, or XREADGROUP if grouped, has not as many IDs as keys.
func ErrStreamsUnbalanced(grouped bool) Error {
	name, id := "xread", "$"
	if grouped {
		name, id = "xreadgroup", ">"
	}
	return Error("ERR Unbalanced '" + name + "' list of streams: for each stream key an ID or '" + id + "' must be specified.")
}
