package conversations

import (
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/server"
	"lockserver/tests/conversation"
	"lockserver/tests/testkit"
)

// limitNotifyScripts show LIMIT.TAKE ... WAIT ms NOTIFY owner. Client A speaks version 3 of the protocol.
var limitNotifyScripts = []script{
	{"taken at once, or queued and taken in order", `
		A LIMIT.TAKE k 1 1 1000 WAIT 0 NOTIFY a -> [1 1 0 0 1000]
		A LIMIT.TAKE k 1 1 1000 WAIT 0 NOTIFY b -> +QUEUED
		A LIMIT.TAKE k 1 1 1000 WAIT 1500 NOTIFY c -> +QUEUED
		A LIMIT.TAKE k 1 1 1000 WAIT 0 NOTIFY d -> +QUEUED
		A LIMIT.TAKE k 1 1 1000 -> [0 1 0 1000 1000]
		parked 3
		+999ms
		A PING -> +PONG
		+1ms
		A <- >["limit-granted" "k" [1 1 0 0 1000] "b"]
		+499ms
		A PING -> +PONG
		+1ms
		A <- >["limit-refused" "k" "timeout" "c"]
		+500ms
		A <- >["limit-granted" "k" [1 1 0 0 1000] "d"]
		+1h
		A PING -> +PONG
		A EXISTS k -> 0
		parked 0`},
	{"asked again it keeps its place, and the new deadline counts", `
		A LIMIT.TAKE k 1 1 1000 -> [1 1 0 0 1000]
		A LIMIT.TAKE k 1 1 1000 WAIT 100 NOTIFY a -> +QUEUED
		A LIMIT.TAKE k 1 1 1000 WAIT 0 NOTIFY b -> +QUEUED
		A LIMIT.TAKE k 1 1 1000 WAIT 0 NOTIFY a -> +QUEUED
		parked 2
		+1s
		A <- >["limit-granted" "k" [1 1 0 0 1000] "a"]
		+1s
		A <- >["limit-granted" "k" [1 1 0 0 1000] "b"]`},
	{"cancelled", `
		A LIMIT.TAKE k 2 2 1000 COST 2 -> [1 2 0 0 1000]
		A LIMIT.TAKE k 2 2 1000 COST 2 WAIT 0 NOTIFY a -> +QUEUED
		A LIMIT.TAKE k 2 2 1000 WAIT 0 NOTIFY b -> +QUEUED
		+500ms
		A PING -> +PONG
		C LOCK.CANCEL k a -> 1
		A <- >["limit-refused" "k" "cancelled" "a"]
		A <- >["limit-granted" "k" [1 2 0 0 1000] "b"]
		C LOCK.CANCEL k a -> 0`},
	{"a place outlives the connection, and then it is lost", `
		C LIMIT.TAKE k 1 1 60000 -> [1 1 0 0 60000]
		B LIMIT.TAKE k 1 1 60000 WAIT 0 NOTIFY b -> +QUEUED
		A LIMIT.TAKE k 1 1 60000 WAIT 0 NOTIFY a -> +QUEUED
		close B
		+9999ms
		parked 2
		+1ms
		parked 1
		+50s
		A <- >["limit-granted" "k" [1 1 0 0 60000] "a"]`},
	{"an attached connection keeps the place, and gets the outcome", `
		C LIMIT.TAKE k 1 1 60000 -> [1 1 0 0 60000]
		A LOCK.ATTACH PREFIX program1 -> 0
		B LIMIT.TAKE k 1 1 60000 WAIT 0 NOTIFY program1:b -> +QUEUED
		close B
		+60s
		A <- >["limit-granted" "k" [1 1 0 0 60000] "program1:b"]`},
	{"version 2 of the protocol has messages", `
		C LIMIT.TAKE k 1 1 1000 -> [1 1 0 0 1000]
		B SUBSCRIBE __lock__:b -> ["subscribe" "__lock__:b" 1]
		D LIMIT.TAKE k 1 1 1000 WAIT 100 NOTIFY b -> +QUEUED
		+100ms
		B <- ["message" "__lock__:b" "limit-refused k timeout b"]
		D LIMIT.TAKE k 1 1 1000 WAIT 0 NOTIFY b -> +QUEUED
		+900ms
		B <- ["message" "__lock__:b" "limit-granted k 1,1,0,0,1000 b"]
		D PING -> +PONG`},
	{"the key changes", `
		C LIMIT.TAKE k 1 1 60000 -> [1 1 0 0 60000]
		A LIMIT.TAKE k 1 1 60000 WAIT 0 NOTIFY a -> +QUEUED
		C DEL k -> 1
		A <- >["limit-granted" "k" [1 1 0 0 60000] "a"]
		A LIMIT.TAKE k 1 1 60000 WAIT 0 NOTIFY a -> +QUEUED
		C DEL k -> 1
		A <- >["limit-granted" "k" [1 1 0 0 60000] "a"]
		A LIMIT.TAKE k 1 1 60000 WAIT 0 NOTIFY a -> +QUEUED
		C MULTI -> +OK
		C DEL k -> +QUEUED
		C RPUSH k x -> +QUEUED
		C EXEC -> [1 1]
		A <- >["limit-refused" "k" "wrongtype" "a"]
		C DEL k -> 1
		C LIMIT.TAKE k 1 1 60000 -> [1 1 0 0 60000]
		A LIMIT.TAKE k 1 1 60000 WAIT 0 NOTIFY a -> +QUEUED
		C SET k text -> +OK
		A <- >["limit-refused" "k" "error" "a"]`},
	{"an owner of locks that waits for a limiter is in no deadlock", `
		A LIMIT.TAKE k 1 1 1000 -> [1 1 0 0 1000]
		C LOCK l a -> token
		D LIMIT.TAKE k 1 1 1000 WAIT 0 NOTIFY b -> +QUEUED
		D LOCK l b WAIT 0 NOTIFY -> +QUEUED
		A LIMIT.TAKE k 1 1 1000 WAIT 0 NOTIFY a -> +QUEUED
		parked 3
		+2s
		A <- >["limit-granted" "k" [1 1 0 0 1000] "a"]
		C UNLOCK l a -> 1
		parked 0`},
	{"in a transaction and in a script nothing waits", `
		C LIMIT.TAKE k 1 1 1000 -> [1 1 0 0 1000]
		A MULTI -> +OK
		A LIMIT.TAKE k 1 1 1000 WAIT 0 NOTIFY a -> +QUEUED
		A EXEC -> [[0 1 0 1000 1000]]
		C EVAL return(redis.call('LIMIT.TAKE',KEYS[1],1,1,1000,'WAIT',0,'NOTIFY','a')) 1 k -> [0 1 0 1000 1000]
		parked 0`},
	{"as many waits as there may be", `
		A CONFIG SET lock-max-waits-per-client 2 lock-max-waiters 2 -> +OK
		C LIMIT.TAKE k 1 1 60000 -> [1 1 0 0 60000]
		A LIMIT.TAKE k 1 1 60000 WAIT 0 NOTIFY a -> +QUEUED
		A LIMIT.TAKE k 1 1 60000 WAIT 0 NOTIFY b -> +QUEUED
		A LIMIT.TAKE l 1 1 60000 -> [1 1 0 0 60000]
		A LIMIT.TAKE l 1 1 60000 WAIT 0 NOTIFY a -> -LOCKLIMIT this connection has 2 waits already (lock-max-waits-per-client)
		D LIMIT.TAKE k 1 1 60000 WAIT 0 NOTIFY d -> -LOCKLIMIT lock 'k' has 2 waiters already (lock-max-waiters)
		parked 2`},
	{"several limiters are taken in one moment", `
		A LIMIT.MTAKE 2 k 1 1 1000 l 5 1 300 WAIT 0 NOTIFY a -> [1 0 0 0 1000]
		A LIMIT.MTAKE 2 k 1 1 1000 l 5 1 300 WAIT 0 NOTIFY b -> +QUEUED
		A LIMIT.MTAKE 2 l 5 1 300 m 1 1 2000 WAIT 1200 NOTIFY c -> +QUEUED
		D LIMIT.TAKE l 5 1 300 -> [0 5 4 1 300]
		D LIMIT.MTAKE 2 m 1 1 2000 l 5 1 300 -> [0 1 1 1 300]
		D LIMIT.TAKE m 1 1 2000 COST 0 -> [1 1 1 0 0]
		parked 2
		+999ms
		A PING -> +PONG
		+1ms
		A <- >["limit-granted" ["k" "l"] [1 0 0 0 1000] "b"]
		A <- >["limit-granted" ["l" "m"] [1 0 0 0 2000] "c"]
		A LIMIT.MTAKE 2 m 1 1 2000 k 1 1 1000 WAIT 100 NOTIFY d -> +QUEUED
		+100ms
		A <- >["limit-refused" ["m" "k"] "timeout" "d"]
		parked 0`},
	{"a wait for several limiters is cancelled at any of them, and refused if one is no limiter", `
		C LIMIT.TAKE k 1 1 60000 -> [1 1 0 0 60000]
		A LIMIT.MTAKE 2 k 1 1 60000 l 1 1 60000 WAIT 0 NOTIFY a -> +QUEUED
		C LOCK.CANCEL l a -> 1
		A <- >["limit-refused" ["k" "l"] "cancelled" "a"]
		A LIMIT.MTAKE 2 k 1 1 60000 l 1 1 60000 WAIT 0 NOTIFY a -> +QUEUED
		C RPUSH l x -> 1
		A <- >["limit-refused" ["k" "l"] "wrongtype" "a"]
		parked 0`},
	{"units that are given back go to the waiter", `
		C LIMIT.TAKE k 3 1 60000 COST 3 -> [1 3 0 0 180000]
		A LIMIT.TAKE k 3 1 60000 COST 2 WAIT 0 NOTIFY a -> +QUEUED
		C LIMIT.GIVE k 3 1 60000 -> [1 3 1 0 120000]
		C LIMIT.GIVE k 3 1 60000 -> [1 3 2 0 60000]
		A <- >["limit-granted" "k" [1 3 0 0 180000] "a"]
		B SUBSCRIBE __lock__:b -> ["subscribe" "__lock__:b" 1]
		A LIMIT.MTAKE 2 l 1 1 1000 k 3 1 60000 WAIT 0 NOTIFY b -> +QUEUED
		C LIMIT.GIVE k 3 1 60000 COST 3 -> [1 3 3 0 0]
		B <- ["message" "__lock__:b" "limit-granted l 1,0,0,0,60000 b"]
		B <- ["message" "__lock__:b" "limit-granted k 1,0,0,0,60000 b"]
		A <- >["limit-granted" ["l" "k"] [1 0 0 0 60000] "b"]`},
	{"words that make no sense", `
		A LIMIT.TAKE k 1 1 1000 NOTIFY a -> -ERR syntax error
		A LIMIT.TAKE k 1 1 1000 WAIT 0 NOTIFY -> -ERR syntax error
		A LIMIT.TAKE k 1 1 1000 WAIT 0 NOTIFY a NOTIFY b -> -ERR syntax error
		A EXISTS k -> 0`},
	{"a server that becomes a replica", `
		C LIMIT.TAKE k 1 1 60000 -> [1 1 0 0 60000]
		A LIMIT.TAKE k 1 1 60000 WAIT 0 NOTIFY a -> +QUEUED
		C REPLICAOF 127.0.0.1 1 -> +OK
		A <- >["limit-refused" "k" "failover" "a"]
		parked 0`},
}

func TestNotifyLimitScripts(t *testing.T) {
	play(t, nil, "A HELLO 3 -> "+conversation.Welcome+"\n", limitNotifyScripts)
}

// LOCK.WAITERS and INFO show such a wait.
func TestNotifyLimitIsShown(t *testing.T) {
	t.Parallel()
	srv := serve(t, server.Options{Clock: server.NewManualClock(begun)})
	c := client(t, srv)
	c.Do("LIMIT.TAKE", "k", "1", "1", "60000")
	require.Equal(t, "+QUEUED", c.Do("LIMIT.TAKE", "k", "1", "1", "60000", "WAIT", "5000", "NOTIFY", "ann").String())
	require.Contains(t, c.Do("LOCK.WAITERS").String(), `"owner" "ann"`)
	require.EqualValues(t, 1, testkit.InfoNumber(t, c, "lock_waiters_notify"))
	require.Contains(t, c.Do("LOCK.INFO", "k").String(), "-WRONGTYPE")
}

// LOCK.DETACH PREFIX counts locks also when no connection is attached to a prefix.
func TestDetachFromNothing(t *testing.T) {
	t.Parallel()
	c := testkit.Dial(t, serve(t, server.Options{}).Dial)
	for _, words := range [][]string{{"LOCK", "k", "program1:a"}, {"LOCK", "l", "program1:b", "SHARED"}, {"LOCK", "l", "program1:c", "SHARED"},
		{"SEM.ACQUIRE", "s", "program1:d", "LIMIT", "2"}, {"LOCK", "m", "program2:a"}} {
		require.Positive(t, c.Do(words...).Int)
	}
	require.EqualValues(t, 4, c.Do("LOCK.DETACH", "PREFIX", "program1").Int)
	require.EqualValues(t, 5, c.Do("LOCK.DETACH", "PREFIX", "program1", "program2:", "program1:").Int)
	require.Zero(t, c.Do("LOCK.DETACH", "PREFIX", "program3").Int)
}
