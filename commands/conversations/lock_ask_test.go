package conversations

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"lockserver/server"
	"lockserver/tests/conversation"
)

// askScripts show LOCK.ASK. Client A is attached to the owner a.
var askScripts = []script{
	{"a lock", `
		C LOCK k a -> token=1
		C LOCK.ASK k -> 1
		A <- >["lock-asked" "k" token:1 ""]
		C LOCK.ASK k REASON deploy -> 1
		A <- >["lock-asked" "k" token:1 "deploy"]
		C HGET k a -> "1"
		C UNLOCK k a TOKEN token:1 -> 1`},
	{"no client hears it", `
		C LOCK k b -> token
		C LOCK.ASK k -> 0
		C LOCK.ASK free REASON x -> 0
		A LOCK.DETACH a -> 0
		C LOCK l a -> token
		C LOCK.ASK l -> 0`},
	{"the asker is attached as well, and hears it behind the reply", `
		A LOCK k a -> token=1
		A LOCK.ASK k REASON x -> 1
		A <- >["lock-asked" "k" token:1 "x"]`},
	{"every holder of a shared lock", `
		B HELLO 3 -> {"server":"redis" "version":"7.4.1" "proto":3 "id":2 "mode":"standalone" "role":"master" "modules":[]}
		B LOCK.ATTACH b c -> 0
		C LOCK k a SHARED -> token=1
		D LOCK k b SHARED -> token=2
		E LOCK k e SHARED -> token=3
		C LOCK.ASK k REASON x -> 2
		A <- >["lock-asked" "k" token:1 "x"]
		B <- >["lock-asked" "k" token:2 "x"]`},
	{"every holder of a semaphore, once for all its permits", `
		B HELLO 3 -> {"server":"redis" "version":"7.4.1" "proto":3 "id":2 "mode":"standalone" "role":"master" "modules":[]}
		B LOCK.ATTACH PREFIX workers:1 -> 0
		C SEM.ACQUIRE s a LIMIT 9 PERMITS 4 -> token=1
		C SEM.ACQUIRE s workers:1:x LIMIT 9 -> token=2
		C LOCK.ASK s REASON x -> 2
		A <- >["lock-asked" "s" token:1 "x"]
		B <- >["lock-asked" "s" token:2 "x" "workers:1:x"]`},
	{"on the channel, by version 2, which is no client that hears the push", `
		B SUBSCRIBE __lock__:a -> ["subscribe" "__lock__:a" 1]
		A LOCK.DETACH a -> 0
		D LOCK.ATTACH a -> 0
		C LOCK k a -> token=1
		C LOCK.ASK k REASON a-b -> 0
		B <- ["message" "__lock__:a" "lock-asked k token:1 a-b"]`},
	{"in a transaction and in a script", `
		C LOCK k a -> token=1
		C MULTI -> +OK
		C LOCK.ASK k -> +QUEUED
		C UNLOCK k a -> +QUEUED
		C LOCK.ASK k -> +QUEUED
		C EXEC -> [1 1 0]
		A <- >["lock-asked" "k" token:1 ""]
		C LOCK k a -> token=2
		C EVAL return(redis.call('LOCK.ASK',KEYS[1],'REASON','s')) 1 k -> 1
		A <- >["lock-asked" "k" token:2 "s"]`},
	{"a user that may not read the key hears nothing", `
		A ACL SETUSER few on nopass ~other +@all -> +OK
		A AUTH few x -> +OK
		C LOCK k a -> token
		C LOCK.ASK k -> 0
		C LOCK other a -> token=2
		C LOCK.ASK other -> 1
		A <- >["lock-asked" "other" token:2 ""]`},
	{"a client that stays in version 2", `
		A HELLO 2 -> ["server" "redis" "version" "7.4.1" "proto" 2 "id" 1 "mode" "standalone" "role" "master" "modules" []]
		C LOCK k a -> token
		C LOCK.ASK k -> 0`},
	{"the end of a lease comes first", `
		C LOCK k a PX 10 -> token=1
		!10ms
		C LOCK.ASK k -> 0
		A <- >["lock-lost" "k" token:1 "expired"]`},
	{"words that make no sense", `
		C SET s v -> +OK
		C LOCK.ASK s -> -WRONGTYPE Operation against a key holding the wrong kind of value
		C LOCK.ASK -> -ERR wrong number of arguments for 'lock.ask' command
		C LOCK.ASK k REASON -> -ERR syntax error
		C LOCK.ASK k WHY x -> -ERR syntax error
		C LOCK.ASK k REASON x REASON y -> -ERR syntax error
		C LOCK k a -> token=1
		C LOCK.ASK k REASON ` + strings.Repeat("r", 1025) + ` -> -ERR a reason must have at most 1024 bytes
		C LOCK.ASK k REASON ` + strings.Repeat("r", 1024) + ` -> 1
		A <- >["lock-asked" "k" token:1 "` + strings.Repeat("r", 1024) + `"]`},
}

// TestAsks plays askScripts.
func TestAsks(t *testing.T) {
	play(t, nil, "A HELLO 3 -> "+conversation.Welcome+"\nA LOCK.ATTACH a -> 0\n", withEnd(askScripts))
}

// TestAskIsWeakerThanForce: a right of its own, which neither frees a lock nor writes to its key.
func TestAskIsWeakerThanForce(t *testing.T) {
	t.Parallel()
	srv := serve(t, server.Options{})
	c, asker := client(t, srv), client(t, srv)
	c.Do("LOCK", "k", "a")
	c.Do("ACL", "SETUSER", "asker", "on", "nopass", "resetkeys", "%R~k", "+@ask")
	require.Equal(t, "+OK", asker.Do("AUTH", "asker", "x").String())
	require.Equal(t, "0", asker.Do("LOCK.ASK", "k").String())
	for _, refused := range [][]string{{"LOCK.ASK", "other"}, {"LOCK.FORCE", "k"}, {"UNLOCK", "k", "a"}, {"LOCK.ATTACH", "a"}} {
		require.Contains(t, asker.Do(refused...).String(), "-NOPERM", refused)
	}
	require.Equal(t, `["lock.ask"]`, c.Do("ACL", "CAT", "ask").String())
	c.Do("ACL", "SETUSER", "asker", "+@all", "-@dangerous")
	require.Equal(t, "0", asker.Do("LOCK.ASK", "k").String())
	require.Contains(t, asker.Do("LOCK.FORCE", "k").String(), "-NOPERM")
}

// TestAskOfManyHolders: one call asks 1,000 holders of a semaphore.
func TestAskOfManyHolders(t *testing.T) {
	t.Parallel()
	srv := serve(t, server.Options{})
	c, holder := client(t, srv), client(t, srv)
	holder.Hello(3)
	holder.Do("LOCK.ATTACH", "PREFIX", "workers:")
	for i := range 1010 {
		c.Send("SEM.ACQUIRE", "s", "workers:"+strconv.Itoa(i), "LIMIT", "2000")
	}
	for range 1010 {
		c.Receive()
	}
	require.EqualValues(t, 1000, c.Do("LOCK.ASK", "s").Int)
	heard := make(map[string]bool)
	for range 1000 {
		heard[holder.Receive().Elems[4].Str] = true
	}
	require.Len(t, heard, 1000)
}

// TestAskOnAReplica: the master decides about locks, and its clients hold them.
func TestAskOnAReplica(t *testing.T) {
	t.Parallel()
	srv := serve(t, server.Options{})
	c := client(t, srv)
	c.Do("LOCK", "k", "a")
	require.Equal(t, "+OK", c.Do("REPLICAOF", "127.0.0.1", "1").String())
	require.Contains(t, c.Do("LOCK.ASK", "k").String(), "-READONLY")
}
