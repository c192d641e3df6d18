package conversations

import (
	"testing"

	"lockserver/server"
	"lockserver/tests/conversation"
)

// attachScripts show the life of LOCK.ATTACH. The watchdog's lease is 30 seconds in each.
var attachScripts = []script{
	{"a lock outlives the connection that acquired it", `
		B LOCK.ATTACH a -> 0
		A LOCK k a -> token=1
		close A
		+10m
		B UNLOCK k a TOKEN token:1 -> 1`},
	{"and ends when no connection is left", `
		B LOCK.ATTACH a -> 0
		A LOCK k a -> token
		close A
		+10m
		close B
		+31s
		C EXISTS k -> 0`},
	{"in whatever order they go", `
		B LOCK.ATTACH a -> 0
		C LOCK.ATTACH a -> 0
		A LOCK k a -> token
		close B
		+10m
		close C
		+10m
		D HEXISTS k a -> 1
		close A
		+31s
		D EXISTS k -> 0`},
	{"an owner that attaches within the lease has lost nothing", `
		A LOCK k a -> token=1
		A LOCK l a -> token=2
		A SELECT 1 -> +OK
		A LOCK k a -> token=3
		A LOCK m b -> token=4
		close A
		+29s
		B LOCK.ATTACH a x -> 3
		B PTTL k -> 30000
		+10m
		B MUNLOCK 2 k l a TOKENS token:1 token:2 -> [1 1]
		B SELECT 1 -> +OK
		B UNLOCK k a TOKEN token:3 -> 1
		B EXISTS m -> 0`},
	{"a lease of its own is not renewed, but counts", `
		A LOCK k a PX 1000 -> token
		A LOCK l a -> token
		A RENEW l a PX 1000 -> 1
		B LOCK.ATTACH a a -> 2
		+999ms
		B LOCK.ATTACH a -> 2
		+1ms
		B LOCK.ATTACH a -> 0`},
	{"DETACH ends it", `
		A LOCK k a -> token
		A LOCK l b -> token
		B LOCK.ATTACH a b -> 2
		B LOCK.DETACH a x -> 1
		close A
		+31s
		B MGET k -> [$nil]
		B EXISTS k -> 0
		B EXISTS l -> 1
		B LOCK.DETACH b -> 1
		+31s
		B EXISTS l -> 0`},
	{"and so does RESET", `
		B LOCK.ATTACH a -> 0
		A LOCK k a -> token
		B RESET -> +RESET
		close A
		+31s
		B EXISTS k -> 0`},
	{"a lock is renewed wherever it goes", `
		B LOCK.ATTACH a -> 0
		A LOCK k a -> token
		A LOCK m a -> token
		A RENAME k l -> +OK
		A MOVE m 1 -> 1
		A SWAPDB 0 2 -> +OK
		close A
		+10m
		B EXISTS l -> 0
		B SELECT 2 -> +OK
		B LOCK.ATTACH a -> 2
		B UNLOCK l a -> 1
		B SELECT 1 -> +OK
		B UNLOCK m a -> 1`},
	{"who may not touch a key does not keep it, nor learns of it", `
		A ACL SETUSER limited on nopass ~free* %R~seen* +@all -> +OK
		A LOCK free a -> token
		A LOCK seen a -> token=2
		A LOCK hidden a -> token
		B AUTH limited x -> +OK
		B HELLO 3 -> {"server":"redis" "version":"7.4.1" "proto":3 "id":2 "mode":"standalone" "role":"master" "modules":[]}
		B LOCK.ATTACH a -> 2
		close A
		+31s
		B <- >["lock-lost" "seen" token:2 "expired"]
		C EXISTS free seen hidden -> 1`},
	{"a prefix stands for every owner that begins with it", `
		A LOCK k program1:a -> token=1
		A LOCK l program1: -> token=2
		A LOCK m program1 -> token
		A LOCK n program11:a -> token
		B LOCK.ATTACH PREFIX program1: -> 2
		C LOCK o program1:new -> token=3
		close A
		close C
		+10m
		B LOCK.LIST OWNER program1 -> []
		B EXISTS k l m n o -> 3
		B UNLOCK k program1:a TOKEN token:1 -> 1
		B LOCK.DETACH PREFIX program1: -> 2
		+31s
		B EXISTS l o -> 0`},
	{"a prefix and an owner of its", `
		B LOCK.ATTACH program1:a -> 0
		C LOCK.ATTACH PREFIX program1 -> 0
		A LOCK k program1:a -> token
		close A
		C LOCK.DETACH PREFIX program1 program2 -> 1
		+10m
		C LOCK.ATTACH PREFIX program1 -> 1
		B LOCK.DETACH program1:a -> 1
		+10m
		close C
		+31s
		B EXISTS k -> 0`},
	{"within the lease nothing is lost, and each lock counts once", `
		A LOCK k program1:a -> token
		A LOCK k2 program1:a SHARED -> token
		A LOCK k2 program1:b SHARED -> token
		A SELECT 3 -> +OK
		A LOCK k program2:a PX 60000 -> token
		close A
		+29s
		B LOCK.ATTACH PREFIX program1 program program1:a program1 -> -ERR a prefix of owners must have at least 8 bytes
		B LOCK.ATTACH PREFIX program1 program1:a program1 -> 3
		B LOCK.ATTACH PREFIX program1: program2 -> 4
		+10m
		B EXISTS k k2 -> 2
		B HLEN k2 -> 3
		B LOCK.DETACH PREFIX program1 -> 3
		+10m
		B EXISTS k k2 -> 2
		B LOCK.DETACH PREFIX program1: -> 3
		+10m
		B HLEN k2 -> 2
		B EXISTS k -> 1
		B RESET -> +RESET
		+31s
		B EXISTS k k2 -> 0`},
	{"what a transaction has changed before it attaches counts", `
		A LOCK k program1:a -> token
		A MULTI -> +OK
		A LOCK.FORCE k -> +QUEUED
		A LOCK l program1:b PX 1000 -> +QUEUED
		A LOCK.ATTACH PREFIX program1 -> +QUEUED
		A LOCK m program1:b PX 1000 -> +QUEUED
		A LOCK.DETACH PREFIX program1 -> +QUEUED
		A EXEC -> tokens=one,t1,one,t2,two`},
	{"words that make no sense", `
		A LOCK.ATTACH -> -ERR wrong number of arguments for 'lock.attach' command
		A LOCK.DETACH -> -ERR wrong number of arguments for 'lock.detach' command
		A LOCK.ATTACH "" -> -ERR lock owner must not be empty
		A LOCK.ATTACH a mode -> -ERR lock owner must not be '$token', '$watchdog', '$mode', '$limit', '$readers' or 'mode', these fields are reserved
		A EVAL return(redis.call('LOCK.ATTACH','a')) 0 -> -ERR This Redis command is not allowed from script script: 272f166b4734a9cd3587f4350b2ddeeadfaa69a1, on @user_script:1.
		A LOCK k a -> token
		A MULTI -> +OK
		A LOCK.DETACH a -> +QUEUED
		A LOCK.ATTACH a -> +QUEUED
		A EXEC -> [1 1]`},
}

// lossScripts are the messages of attached connections. A is attached and speaks version 3, C does
// something; each ends with a PING that shows that A got no other message.
var lossScripts = []script{
	{"what the owner releases itself", `
		C LOCK k a -> token
		C LOCK k a -> token
		C UNLOCK k a -> 0
		C UNLOCK k a -> 1
		C MLOCK 2 k l a -> tokens=k,l
		C MUNLOCK 2 k l a -> [1 1]
		C MULTI -> +OK
		C LOCK k a -> +QUEUED
		C UNLOCK k a -> +QUEUED
		C LOCK k a -> +QUEUED
		C EXEC -> tokens=x,one,y
		C UNLOCK k a -> 1`},
	{"what Redisson's script releases", `
		C LOCK k a -> token
		C EVAL return(redis.call('hincrby',KEYS[1],ARGV[1],-1)+redis.call('del',KEYS[1])) 1 k a -> 1
		C EXISTS k -> 0
		C LOCK k a -> token=2
		C EVAL return(redis.call('del',KEYS[1])) 1 k other -> 1
		A <- >["lock-lost" "k" token:2 "deleted"]`},
	{"a script of the owner that finds the lease over", `
		C LOCK k a PX 10 -> token=1
		!10ms
		C EVAL return(redis.call('hexists',KEYS[1],ARGV[1])) 1 k a -> 0
		A <- >["lock-lost" "k" token:1 "expired"]`},
	{"the lease ends", `
		C LOCK k a PX 10 -> token=1
		+10ms
		A <- >["lock-lost" "k" token:1 "expired"]
		C LOCK k a PX 10 -> token=2
		D LOCK k d WAIT 0 -> waits
		+10ms
		A <- >["lock-lost" "k" token:2 "expired"]
		D <- token`},
	{"LOCK.FORCE, and the next one has it", `
		C LOCK k a -> token=1
		D LOCK k d WAIT 0 -> waits
		C LOCK.FORCE k -> 1
		D <- token
		A <- >["lock-lost" "k" token:1 "forced"]`},
	{"overwritten", `
		C LOCK k a -> token=1
		C SET k v -> +OK
		A <- >["lock-lost" "k" token:1 "overwritten"]
		C DEL k -> 1
		C LOCK k a -> token=2
		C HSET k $token 7 -> 0
		A <- >["lock-lost" "k" token:2 "overwritten"]
		C HSET h d 1 -> 1
		C DEL k -> 1
		A <- >["lock-lost" "k" 7 "deleted"]
		C LOCK k a -> token=3
		C COPY h k REPLACE -> 1
		A <- >["lock-lost" "k" token:3 "overwritten"]`},
	{"deleted", `
		C LOCK k a -> token=1
		C DEL k -> 1
		A <- >["lock-lost" "k" token:1 "deleted"]
		C LOCK k a -> token=2
		C HDEL k a -> 1
		A <- >["lock-lost" "k" token:2 "overwritten"]
		C FLUSHALL -> +OK
		C LOCK k a -> token=3
		C FLUSHALL -> +OK
		A <- >["lock-lost" "k" token:3 "deleted"]
		C LOCK k a -> token=4
		C PEXPIRE k -1 -> 1
		A <- >["lock-lost" "k" token:4 "deleted"]
		C LOCK k a -> token=5
		C UNLINK k -> 1
		A <- >["lock-lost" "k" token:5 "deleted"]`},
	{"moved", `
		C LOCK k a -> token=1
		C RENAME k l -> +OK
		A <- >["lock-lost" "k" token:1 "deleted"]
		C MOVE l 1 -> 1
		A <- >["lock-lost" "l" token:1 "deleted"]
		C SWAPDB 1 2 -> +OK
		A <- >["lock-lost" "l" token:1 "deleted"]
		C SELECT 2 -> +OK
		C UNLOCK l a -> 1`},
	{"lost and acquired again in one unit", `
		C LOCK k a PX 10 -> token=1
		!10ms
		C LOCK k a -> token=2
		A <- >["lock-lost" "k" token:1 "expired"]
		C MULTI -> +OK
		C DEL k -> +QUEUED
		C LOCK k a -> +QUEUED
		C EXEC -> tokens=one,3
		A <- >["lock-lost" "k" token:2 "overwritten"]`},
	{"its own command's news come behind the reply", `
		A LOCK k a -> token=1
		A DEL k -> 1
		A <- >["lock-lost" "k" token:1 "deleted"]`},
	{"on the channel, by version 2", `
		B SUBSCRIBE __lock__:a -> ["subscribe" "__lock__:a" 1]
		D LOCK.ATTACH a -> 0
		C LOCK k a PX 10 -> token=1
		C LOCK l b PX 10 -> token
		+10ms
		A <- >["lock-lost" "k" token:1 "expired"]
		B <- ["message" "__lock__:a" "lock-lost k token:1 expired"]
		D LOCK.DETACH a -> 0`},
	{"a connection attached to a prefix gets the owner, too", `
		B HELLO 3 -> {"server":"redis" "version":"7.4.1" "proto":3 "id":2 "mode":"standalone" "role":"master" "modules":[]}
		B LOCK.ATTACH PREFIX program1 -> 0
		A LOCK.ATTACH program1:a -> 0
		C LOCK k program1:a PX 10 -> token=1
		C LOCK l program2:a PX 10 -> token
		+10ms
		A <- >["lock-lost" "k" token:1 "expired"]
		B <- >["lock-lost" "k" token:1 "expired" "program1:a"]
		A LOCK.ATTACH PREFIX program1:a -> 0
		C LOCK k program1:a -> token=2
		C LOCK l program2:a -> token
		C DEL k l -> 2
		A <- >["lock-lost" "k" token:2 "deleted" "program1:a"]
		B <- >["lock-lost" "k" token:2 "deleted" "program1:a"]
		B PING -> +PONG`},
	{"a detached connection gets no more", `
		C LOCK k a -> token
		A LOCK.DETACH a -> 1
		C DEL k -> 1`},
}

// TestLosses plays lossScripts.
func TestLosses(t *testing.T) {
	play(t, map[string]string{"enable-debug-command": "yes"}, "A HELLO 3 -> "+conversation.Welcome+"\nA LOCK.ATTACH a -> 0\n", withEnd(lossScripts))
}

// withEnd adds an exchange to each script, which shows that client A has been sent nothing else.
func withEnd(scripts []script) (all []script) {
	for _, s := range scripts {
		all = append(all, script{s.name, s.text + "\nA PING -> +PONG"})
	}
	return all
}

// What DEBUG RELOAD takes away it brings back: no lock was lost.
func TestReloadIsNoLoss(t *testing.T) {
	t.Parallel()
	clock := server.NewManualClock(begun)
	srv := serve(t, server.Options{Clock: clock, Dir: t.TempDir(), Directives: map[string]string{"enable-debug-command": "yes"}})
	conversation.Run(t, worldOf(srv, clock), `
		A HELLO 3 -> `+conversation.Welcome+`
		A LOCK.ATTACH a -> 0
		C LOCK k a -> token=1
		D LOCK l a -> token=2
		C DEBUG RELOAD -> +OK
		close C
		+10m
		D UNLOCK k a TOKEN token:1 -> 1
		D DEL l -> 1
		A <- >["lock-lost" "l" token:2 "deleted"]
		A PING -> +PONG`)
}

func TestAttachScripts(t *testing.T) { play(t, nil, "", attachScripts) }
