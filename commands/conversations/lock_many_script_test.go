package conversations

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/resp"
	"lockserver/server"
	"lockserver/tests/testkit"
)

// lockManyScripts are the edges of MLOCK, MUNLOCK, LOCK.FORCE and of owners that wait for each other.
var lockManyScripts = []script{
	{"all or nothing", `
		A MLOCK 3 x y z a -> tokens=x,y,z
		A LOCK y a -> token=y
		B MLOCK 2 w x b -> *nil
		B EXISTS w -> 0
		A MUNLOCK 3 x y z a -> [1 0 1]
		A EXISTS x y z -> 1
		A MUNLOCK 2 y x a -> [1 $nil]
		B MLOCK 2 w x b PX 500 -> tokens=w,x2
		B PTTL w -> 500`},
	{"words that make no sense", `
		A MLOCK 0 x a -> -ERR numkeys should be greater than 0
		A MLOCK -1 x a -> -ERR numkeys should be greater than 0
		A MLOCK two x y a -> -ERR numkeys should be greater than 0
		A MLOCK 2 x y -> -ERR Number of keys can't be greater than number of args
		A MLOCK 9223372036854775807 x y -> -ERR Number of keys can't be greater than number of args
		A MLOCK 1 x a PX 0 -> -ERR invalid expire time in 'mlock' command
		A MLOCK 1 x "" -> -ERR lock owner must not be empty
		A MLOCK 1 x mode -> -ERR lock owner must not be '$token', '$watchdog', '$mode', '$limit', '$readers' or 'mode', these fields are reserved
		A MLOCK 1 x a WAIT -1 -> -ERR timeout is negative
		A MLOCK 1 x a b -> -ERR syntax error
		A MUNLOCK 2 x y -> -ERR Number of keys can't be greater than number of args
		A MUNLOCK 1 x a b -> -ERR syntax error
		A MUNLOCK 1 x $token -> -ERR lock owner must not be '$token', '$watchdog', '$mode', '$limit', '$readers' or 'mode', these fields are reserved
		A EXISTS x y -> 0`},
	{"one key that is no lock", `
		A SET y v -> +OK
		A MLOCK 3 x y z a -> -WRONGTYPE Operation against a key holding the wrong kind of value
		A EXISTS x z -> 0
		A LOCK x a -> token
		A MUNLOCK 2 x y a -> -WRONGTYPE Operation against a key holding the wrong kind of value
		A EXISTS x -> 1
		A LOCK.FORCE y -> -WRONGTYPE Operation against a key holding the wrong kind of value`},
	{"the same key twice is two holds", `
		A MLOCK 2 x x a -> tokens=x,x
		A HGET x a -> "2"
		A MUNLOCK 2 x x a -> [0 1]
		A MUNLOCK 2 x x a -> [$nil $nil]
		A HSET y a 9223372036854775806 -> 1
		A MLOCK 2 y y a -> -ERR increment or decrement would overflow
		A MLOCK 1 y a -> tokens=y
		A HGET y a -> "9223372036854775807"`},
	{"it holds nothing while it waits", `
		A LOCK y a -> token
		B MLOCK 3 x y z b WAIT 0 -> waits
		C LOCK x c -> $nil
		C EXISTS x z -> 0
		A UNLOCK y a -> 1
		B <- tokens=x,y,z
		B MUNLOCK 3 x y z b -> [1 1 1]
		C LOCK x c -> token`},
	{"it is in every queue, and no other passes", `
		A LOCK x a -> token
		B LOCK y b -> token
		C MLOCK 2 x y c WAIT 0 -> waits
		D LOCK x d WAIT 0 -> waits
		E LOCK y e WAIT 0 -> waits
		A UNLOCK x a -> 1
		A LOCK x a -> $nil
		parked 3
		B UNLOCK y b -> 1
		C <- tokens=x,y
		C MUNLOCK 2 x y c -> [1 1]
		D <- token>x
		E <- token>y
		parked 0`},
	{"two that want the same keys in opposite order", `
		A LOCK x a -> token
		B MLOCK 2 x y b WAIT 0 -> waits
		C MLOCK 2 y x c WAIT 0 -> waits
		D MLOCK 3 z y x d WAIT 0 -> waits
		A UNLOCK x a -> 1
		B <- tokens=bx,by
		B MUNLOCK 2 y x b -> [1 1]
		C <- tokens=cy,cx
		C MUNLOCK 2 y x c -> [1 1]
		D <- tokens=dz,dy,dx`},
	{"it gives up, and those behind it go on", `
		A LOCK x a -> token
		B MLOCK 2 x y b WAIT 300 -> waits
		C LOCK y c WAIT 0 -> waits
		D LOCK y d -> $nil
		+300ms
		B <- *nil
		C <- token
		A UNLOCK x a -> 1
		A EXISTS x -> 0`},
	{"it disconnects, and those behind it go on", `
		A LOCK x a -> token
		B MLOCK 2 x y b WAIT 0 -> waits
		C LOCK y c WAIT 0 -> waits
		close B
		C <- token`},
	{"in front of one queue, behind in another", `
		A LOCK x a -> token
		B LOCK y b -> token
		C LOCK y c WAIT 0 -> waits
		D MLOCK 2 x y d WAIT 0 -> waits
		A UNLOCK x a -> 1
		parked 2
		B UNLOCK y b -> 1
		C <- token
		parked 1
		C UNLOCK y c -> 1
		D <- tokens=x,y`},
	{"who stood before it gives up", `
		A LOCK x a -> token
		B LOCK x b WAIT 200 -> waits
		C MLOCK 2 x y c WAIT 0 -> waits
		A UNLOCK x a -> 1
		B <- token
		D LOCK y d -> $nil
		B UNLOCK x b -> 1
		C <- tokens=x,y`},
	{"keys that the owner holds need no queueing", `
		A LOCK x a -> token=x
		B LOCK x b WAIT 0 -> waits
		A MLOCK 2 x y a -> tokens=x,y
		A HGET x a -> "2"
		A MUNLOCK 2 x y a -> [0 1]
		C LOCK y c -> token
		A MLOCK 2 x y a WAIT 0 -> waits
		C UNLOCK y c -> 1
		A <- tokens=x,y2
		A MUNLOCK 2 x y a -> [0 1]
		A UNLOCK x a -> 1
		B <- token>x`},
	{"what it held ends while it waits for more", `
		A LOCK x a PX 500 -> token=x
		B LOCK y b -> token
		A MLOCK 2 x y a WAIT 0 -> waits
		C LOCK x c WAIT 0 -> waits
		+500ms
		parked 2
		D EXISTS x -> 0
		D LOCK.FORCE y -> 1
		A <- tokens=x2,y2
		A MUNLOCK 2 x y a -> [1 1]
		C <- token>x2`},
	{"another waiter of the same owner is granted with the first", `
		A LOCK x a -> token
		B LOCK x b WAIT 0 -> waits
		C LOCK x c WAIT 0 -> waits
		D LOCK x b WAIT 0 -> waits
		A UNLOCK x a -> 1
		B <- token=b
		D <- token=b
		parked 1
		B UNLOCK x b -> 0
		B UNLOCK x b -> 1
		C <- token>b`},
	{"MLOCK goes on once its owner holds the key it queued for", `
		A LOCK x a -> token
		B LOCK x b WAIT 0 -> waits
		C LOCK x c WAIT 0 -> waits
		D MLOCK 2 x y b WAIT 0 -> waits
		A UNLOCK x a -> 1
		B <- token=b
		D <- tokens=b,y
		parked 1`},
	{"the lease of all begins with the grant", `
		A LOCK x a -> token
		B MLOCK 2 x y b PX 1000 WAIT 0 -> waits
		+5s
		A UNLOCK x a -> 1
		B <- tokens=x,y
		B PTTL x -> 1000
		B PTTL y -> 1000
		+1s
		B EXISTS x y -> 0`},
	{"the watchdog of all", `
		A MLOCK 2 x y a -> tokens=x,y
		+3600s
		B EXISTS x y -> 2
		close A
		+30s
		B EXISTS x y -> 0`},
	{"an owner that is overwritten under it", `
		A LOCK x a -> token
		B MLOCK 2 x y b WAIT 0 -> waits
		C LOCK y c WAIT 0 -> waits
		A SET y v -> +OK
		B <- -WRONGTYPE Operation against a key holding the wrong kind of value
		C <- -WRONGTYPE Operation against a key holding the wrong kind of value
		A GET y -> "v"`},
	{"in a transaction nothing waits, and grants come after the whole", `
		A LOCK x a -> token
		B MULTI -> +OK
		B MLOCK 2 x y b WAIT 0 -> +QUEUED
		B EXISTS y -> +QUEUED
		B EXEC -> [*nil 0]
		C MLOCK 2 x y c WAIT 0 -> waits
		A MULTI -> +OK
		A UNLOCK x a -> +QUEUED
		A LOCK x d -> +QUEUED
		A EXEC -> [1 $nil]
		C <- tokens=x,y`},
	{"LOCK.FORCE", `
		A LOCK.FORCE x -> 0
		A LOCK x a -> token=a
		A LOCK x a -> token=a
		B LOCK x b WAIT 0 -> waits
		C LOCK.FORCE x -> 1
		B <- token>a
		A UNLOCK x a -> $nil
		C HSET y u:1 3 -> 1
		C LOCK.FORCE y -> 1
		C EXISTS y -> 0
		C HSET y $token 5 -> 1
		C LOCK.FORCE y -> 0`},
	{"LOCK.FORCE ends the renewal", `
		A LOCK x a -> token
		B LOCK.FORCE x -> 1
		B LOCK x a PX 15000 -> token
		+15s
		B EXISTS x -> 0`},
	{"two owners in a cycle", `
		A LOCK 1 a -> token
		B LOCK 2 b -> token
		A LOCK 2 a WAIT 0 -> waits
		B LOCK 1 b WAIT 0 -> -DEADLOCK b -> 1 -> a -> 2 -> b
		B LOCK 1 b -> $nil
		parked 1
		B UNLOCK 2 b -> 1
		A <- token`},
	{"three, over two connections of one of them", `
		A LOCK 1 a -> token
		B LOCK 2 b -> token
		C LOCK 3 c -> token
		D LOCK 2 a WAIT 0 -> waits
		E LOCK 3 b WAIT 5000 -> waits
		F LOCK 1 c WAIT 100 -> -DEADLOCK c -> 1 -> a -> 2 -> b -> 3 -> c
		parked 2
		C UNLOCK 3 c -> 1
		E <- token`},
	{"no owner that does not wait is followed", `
		A LOCK 1 a -> token
		B LOCK 2 b -> token
		A LOCK 2 a -> $nil
		B LOCK 1 b WAIT 100 -> waits
		+100ms
		B <- $nil
		A LOCK 2 a WAIT 100 -> waits
		+100ms
		A <- $nil
		B LOCK 1 b WAIT 100 -> waits`},
	{"over MLOCK", `
		A LOCK 1 a -> token
		B MLOCK 2 2 3 b -> tokens=b,c
		A MLOCK 2 3 4 a WAIT 0 -> waits
		B MLOCK 3 5 2 1 b WAIT 0 -> -DEADLOCK b -> 1 -> a -> 3 -> b
		B MLOCK 3 5 2 6 b -> tokens=5,b,6`},
	{"one that stands before it in a queue", `
		A LOCK 1 a -> token
		B LOCK 2 b -> token
		C MLOCK 2 1 2 c WAIT 0 -> waits
		B LOCK 1 b WAIT 0 -> -DEADLOCK b -> 1 -> c -> 2 -> b
		A UNLOCK 1 a -> 1
		B UNLOCK 2 b -> 1
		C <- tokens=x,y`},
	{"a holder of the key is in no one's way", `
		A LOCK 1 a -> token=a
		B MLOCK 2 1 2 b WAIT 0 -> waits
		A LOCK 1 a WAIT 0 -> token=a
		A MLOCK 2 1 3 a WAIT 0 -> tokens=a,3
		C LOCK 4 c -> token
		A MLOCK 2 1 4 a WAIT 0 -> waits
		C UNLOCK 4 c -> 1
		A <- tokens=a,4`},
	{"the owner's other waiters count", `
		A LOCK 1 a -> token
		B LOCK 2 b -> token
		C LOCK 3 c -> token
		D LOCK 3 a WAIT 0 -> waits
		E LOCK 2 a WAIT 0 -> waits
		F LOCK 1 b WAIT 0 -> -DEADLOCK b -> 1 -> a -> 2 -> b
		close E
		F LOCK 1 b WAIT 0 -> waits`},
	{"an owner that does not wait any more leads nowhere", `
		A LOCK 1 a -> token
		B LOCK 2 b -> token
		A LOCK 2 a WAIT 200 -> waits
		+200ms
		A <- $nil
		B LOCK 1 b WAIT 0 -> waits
		A LOCK 2 a WAIT 0 -> -DEADLOCK a -> 2 -> b -> 1 -> a`},
	{"a cycle that RENAME closes", `
		A LOCK 1 a -> token
		B LOCK 2 b -> token
		C LOCK 3 c PX 1000 -> token
		A LOCK 3 a WAIT 0 -> waits
		B LOCK 1 b WAIT 0 -> waits
		C RENAME 2 3 -> +OK
		B <- -DEADLOCK b -> 1 -> a -> 3 -> b
		parked 1
		C LOCK.FORCE 3 -> 1
		A <- token`},
	{"a cycle that RENAME closes behind the heads of queues", `
		A LOCK 1 a -> token
		H LOCK 2 h -> token
		B LOCK 3 b -> token
		X LOCK 2 x WAIT 0 -> waits
		Y LOCK 3 y WAIT 0 -> waits
		B LOCK 2 b WAIT 0 -> waits
		A LOCK 3 a WAIT 0 -> waits
		C RENAME 1 2 -> +OK
		A <- -DEADLOCK a -> 3 -> b -> 2 -> a
		parked 3
		A UNLOCK 2 a -> 1
		X <- token
		X UNLOCK 2 x -> 1
		B <- token`},
	{"a cycle that closes when the one before them leaves", `
		A LOCK 1 h -> token
		B LOCK 2 a -> token
		H LOCK 1 y WAIT 0 -> waits
		C LOCK 1 a WAIT 10 -> waits
		X MLOCK 2 1 2 x WAIT 0 -> waits
		Y LOCK 1 a WAIT 0 -> waits
		+10ms
		C <- $nil
		Y <- -DEADLOCK a -> 1 -> x -> 2 -> a
		parked 2`},
	{"a cycle that closes around a holder who lost one of two locks", `
		A LOCK 1 a -> token
		A LOCK 3 a -> token
		P LOCK 2 p -> token
		Q LOCK 4 q -> token
		Y MLOCK 2 1 4 y WAIT 0 -> waits
		X MLOCK 2 1 3 x WAIT 0 -> waits
		A MLOCK 2 1 2 a WAIT 0 -> waits
		P DEL 1 -> 1
		A <- -DEADLOCK a -> 1 -> x -> 3 -> a
		parked 2`},
	{"a cycle that the end of a lease closes", `
		A LOCK 1 a PX 500 -> token
		A LOCK 3 a -> token
		B LOCK 2 b -> token
		C MLOCK 2 1 3 c WAIT 0 -> waits
		A MLOCK 2 1 2 a WAIT 0 -> waits
		parked 2
		+500ms
		A <- -DEADLOCK a -> 1 -> c -> 3 -> a
		A UNLOCK 3 a -> 1
		C <- tokens=x,y`},
	{"owners have their names in every database", `
		A LOCK 1 a -> token
		B SELECT 1 -> +OK
		B LOCK 1 b -> token
		C SELECT 1 -> +OK
		C LOCK 1 a WAIT 0 -> waits
		B SELECT 0 -> +OK
		B LOCK 1 b WAIT 0 -> -DEADLOCK b -> 1 -> a -> 1 -> b`},
	{"a line break in a name does not end the reply", `
		A pipelines LOCK 1 "a\nx" ; LOCK "2\r3" b ; PING
		A <- token
		A <- token
		A <- +PONG
		B pipelines LOCK "2\r3" "a\nx" WAIT 0
		parked 1
		C pipelines LOCK 1 b WAIT 0 ; PING
		C <- -DEADLOCK b -> 1 -> a x -> 2 3 -> b
		C <- +PONG`},
}

func TestLockManyScripts(t *testing.T) { play(t, nil, "", lockManyScripts) }

// A cycle of many owners is found and spelled out in part.
func TestLongCycle(t *testing.T) {
	t.Parallel()
	srv := serve(t, server.Options{})
	const owners = 100
	var all []*testkit.Client
	for i := range owners {
		all = append(all, client(t, srv))
		require.Positive(t, all[i].Do("LOCK", fmt.Sprint("k", i), fmt.Sprint("o", i)).Int)
	}
	for i := range owners - 1 {
		all[i].Send("LOCK", fmt.Sprint("k", i+1), fmt.Sprint("o", i), "WAIT", "0")
		awaitParked(t, srv, i+1)
	}
	reply := all[owners-1].Do("LOCK", "k0", "o99", "WAIT", "0")
	require.Equal(t, resp.Error, reply.Kind)
	words := strings.Split(reply.Str, " -> ")
	require.Len(t, words, 64)
	require.Equal(t, []string{"DEADLOCK o99", "k0", "o0", "k1"}, words[:4])
	require.Equal(t, []string{"...", "o99"}, words[62:])
	require.Equal(t, owners-1, parked(srv))
}
