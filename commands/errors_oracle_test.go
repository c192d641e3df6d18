//go:build oracle

package commands

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestErrorsAgainstRedis(t *testing.T) {
	redis := startOracle(t)
	for _, setup := range []string{"set str abc", "set num 10", "hset hash f x n 1", "rpush list a", "sadd set a",
		"xadd stream 5-5 a b", "zadd zset 1 a"} {
		require.False(t, redis.do(strings.Fields(setup)...).IsError(), setup)
	}
	for _, p := range provoked {
		calls := strings.Split(p.calls, "; ")
		for _, c := range calls[:len(calls)-1] {
			redis.do(strings.Split(c, " ")...)
		}
		got := redis.do(strings.Split(calls[len(calls)-1], " ")...)
		require.Equal(t, string(p.err), got.Str, p.calls)
	}
	redis.do("AUTH", "p")
	inScript := redis.do("EVAL", "return redis.call('multi')", "0")
	require.True(t, strings.HasPrefix(inScript.Str, ErrNoScript.Error()+" script: "), inScript.Str)
}

func TestClientWordsInErrors(t *testing.T) {
	redis := startOracle(t)
	long := strings.Repeat("x", 300)
	for _, args := range [][]string{
		{"foo"}, {"foo", ""}, {"foo", "a", "b"}, {"fo\r\no", "a\nb"}, {"foo", "a\x00b", "c"}, {"f\x00oo", "a"},
		{long, long}, {"foo", long[:124], "b", "c"}, {"foo", long[:125], "b", "c"}, {"foo", long[:126], "b"},
		{"foo", long[:50], long[:50], long[:50], long[:50]}, append([]string{"foo"}, strings.Split(long, "")...),
		{"caf\xc3\xa9", "\xff\xfe"},
	} {
		require.Equal(t, redis.do(args...).Str, ErrUnknownCommand(words(args...)).Error(), "%q", args)
	}
	for _, sub := range []string{"", "x", long, "a\r\nb", "a\x00b"} {
		require.Equal(t, redis.do("CliEnt", sub).Str, ErrUnknownSubcommand("client", []byte(sub)).Error(), "%q", sub)
	}
}

// provoked lists errors with calls that make Redis report them. Calls are separated by ';'. The last one
// reports the error, the others prepare it.
var provoked = []struct {
	calls string
	err   Error
}{
	{"set a b foo", ErrSyntax},
	{"incr list", ErrWrongType},
	{"incr str", ErrNotInteger},
	{"incrbyfloat str 1", ErrNotFloat},
	{"spop set -1", ErrNotPositive},
	{"hrandfield hash 9223372036854775807 withvalues", ErrOutOfRange},
	{"lset list 5 x", ErrIndexRange},
	{"setrange str -1 x", ErrOffsetRange},
	{"srandmember set -9223372036854775808", ErrCountRange},
	{"zrangebyscore zset x y", ErrMinMaxFloat},
	{"rename nosuch x", ErrNoSuchKey},
	{"move str 0", ErrSameObject},
	{"setrange str 536870912 x", ErrStringTooBig},
	{"scan x", ErrCursor},
	{"sintercard 0 set", ErrNumKeysZero},
	{"sintercard 2 set", ErrTooManyKeys},
	{"sintercard 1 set limit -1", ErrLimitSign},
	{"xread block x streams stream 0", ErrTimeout},
	{"blpop list x", ErrTimeoutFloat},
	{"xread block -1 streams stream 0", ErrTimeoutSign},

	{"set big 9223372036854775807; incr big", ErrOverflow},
	{"decrby num -9223372036854775808", ErrDecrOverflow},
	{"incrbyfloat num inf", ErrNaNOrInfinity},
	{"hincrby hash f 1", ErrHashInteger},
	{"hincrbyfloat hash f 1", ErrHashFloat},
	{"hincrbyfloat hash n inf", ErrIncrNaN},

	{"select 16", ErrDBIndex},
	{"swapdb a 1", ErrFirstDB},
	{"swapdb 1 b", ErrSecondDB},
	{"auth foo", ErrNoPassword},
	{"auth foo bar", ErrWrongPass},
	{"hello 4", ErrNoProto},
	{"hello x", ErrProtoInteger},
	{"hello 3 auth a", ErrHelloOption([]byte("auth"))},
	{"client setname a\nb", ErrClientName},
	{"client kill 1.1.1.1:1", ErrNoSuchClient},
	{"client list id x", ErrClientID},
	{"client kill id 0", ErrClientIDSign},
	{"client kill maxage 0", ErrMaxAge},
	{"client kill maxage x", ErrMaxAgeNotInteger},
	{"client unblock 99 foo", ErrUnblockReason},
	{"client kill type foo", ErrClientType([]byte("foo"))},
	{"client kill user nosuch", ErrNoSuchUser([]byte("nosuch"))},

	{"multi; multi", ErrNestedMulti},
	{"discard; exec", ErrExecWithoutMulti},
	{"discard", ErrDiscardNoMulti},
	{"multi; watch a", ErrWatchInsideMulti},
	{"save", ErrNotInsideMulti}, // still inside of MULTI
	{"nosuch; exec", ErrExecAbort},
	{"exec x", ErrExecAbortedBy(ErrArity("exec"))},

	{"expire str 10 nx xx", ErrExpireNXWithOthers},
	{"expire str 10 gt lt", ErrExpireGTAndLT},
	{"expire str 10 foo", ErrUnsupportedOption([]byte("foo"))},
	{"expire str 9223372036854775807", ErrInvalidExpire("expire")},
	{"set a b ex 0", ErrInvalidExpire("set")},
	{"object freq str", ErrNoLFU},
	{"restore str 0 x", ErrBusyKey},

	{"lcs str num len idx", ErrLCSLenAndIdx},
	{"lcs list str", ErrLCSType},

	{"xadd stream foo a b", ErrStreamID},
	{"xadd stream 1-1 a b", ErrStreamIDSmall},
	{"xadd stream 0-0 a b", ErrStreamIDZero},
	{"xadd full 18446744073709551615-18446744073709551615 a b; xadd full * a b", ErrStreamExhausted},
	{"xadd stream maxlen -1 * a b", ErrStreamMaxLen},
	{"xadd stream maxlen ~ 5 limit -3 * a b", ErrStreamLimit},
	{"xtrim stream maxlen 3 limit 3", ErrStreamLimitApprox},
	{"xadd stream limit 3 * a b", ErrStreamLimitStrategy},
	{"xtrim stream limit 0", ErrStreamTrim},
	{"xadd high 5-18446744073709551615 a b; xadd high 5-* a b", ErrStreamIDSmall},
	{"xadd stream maxlen 5 minid 3 * a b", ErrStreamMaxLenAndMinID},
	{"xrange stream (18446744073709551615-18446744073709551615 +", ErrStreamStart},
	{"xrange stream - (0-0", ErrStreamEnd},
	{"xread streams a b c", ErrStreamsUnbalanced(false)},
	{"xreadgroup group g c streams a b c", ErrStreamsUnbalanced(true)},
	{"xread streams stream >", ErrXReadNewID},
	{"xread group g c streams stream 0", ErrXReadGroup},
	{"xread noack streams stream 0", ErrXReadNoAck},
	{"xsetid stream 1-1", ErrXSetIDSmall},
	{"xsetid stream 9-9 entriesadded -1 maxdeletedid 1-1", ErrXSetIDEntries},
	{"xsetid stream 9-9 entriesadded 0 maxdeletedid 1-1", ErrXSetIDLength},
	{"xsetid stream 9-9 entriesadded 1 maxdeletedid 10-10", ErrXSetIDDeleted},
	{"xadd gap 1-1 a b; xadd gap 2-1 a b; xdel gap 2-1; xsetid gap 2-0", ErrXSetIDBelowDeleted},
	{"xinfo stream stream foo", ErrSubcommandSyntax("xinfo", []byte("stream"))},

	{"command getkeys nosuch x", ErrCommandInvalid},
	{"command getkeys echo x", ErrCommandNoKeys},
	{"command getkeys object freq", ErrCommandArity},
	{"command getkeys zunion 3 a", ErrCommandInvalidArgs},

	{"readonly", ErrNoCluster},
	{"replicaof a b", ErrMasterPort},
	{"acl genpass 0", ErrPasswordBits},
	{"acl cat foo", ErrCategory([]byte("foo"))},

	{"config rewrite", ErrNoConfigFile},
	{"config set maxmemory 1; set a b", ErrOutOfMemory},
	{"config set maxmemory 0; subscribe c; get a", ErrSubscribed("get")},
	{"client list", ErrSubscribed("client|list")},
	{"reset; config set requirepass p; reset; get a", ErrNoAuth},
	{"hello 3", ErrNoAuthHello},
}
