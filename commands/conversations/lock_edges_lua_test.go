package conversations

// lockLuaEdges are locks that scripts take and give back. Words are split at blanks, so the scripts contain
// no blanks.
var lockLuaEdges = []script{
	{"nothing waits inside", `
		A LOCK k a PX 1000 -> 1750000000000000
		B EVAL return{redis.call('lock',KEYS[1],'b','WAIT','0'),redis.call('lock','j','b','WAIT','5000'),redis.call('mlock',2,'j',KEYS[1],'b','WAIT','0')} 1 k -> [$nil 1750000000000001 $nil]
		parked 0
		B HGET j b -> "1"`},
	{"who waits outside is granted after it, not in between", `
		A LOCK k a PX 5000 -> 1750000000000000
		B LOCK k b PX 700 WAIT 0 -> waits
		C EVAL return{redis.call('unlock',KEYS[1],'a'),redis.call('lock',KEYS[1],'c'),redis.call('exists',KEYS[1])} 1 k -> [1 $nil 0]
		B <- 1750000000000001
		C PTTL k -> 700`},
	{"what is free at its end is granted once", `
		A LOCK k a PX 5000 -> 1750000000000000
		B LOCK k b WAIT 0 -> waits
		D LOCK k d WAIT 0 -> waits
		A EVAL return{redis.call('unlock','k','a'),redis.call('hset','k','x',1),redis.call('del','k')} 1 k -> [1 1 1]
		B <- 1750000000000001
		parked 1`},
	{"also when the script fails behind the release", `
		A LOCK k a PX 5000 -> token
		B LOCK k b WAIT 0 -> waits
		C EVAL redis.call('unlock','k','a');return(redis.call('hget')) 1 k -> -ERR Wrong number of args calling Redis command from script script: 95edca58ea4fd5429a0029bfbee76ae3c96900c5, on @user_script:1.
		B <- token`},
	{"a script's lock that is watched lives with the connection that called it", `
		A EVAL return(redis.call('lock',KEYS[1],'a')) 1 k -> token=1
		+29s
		B PTTL k -> 21000
		B EVAL return(redis.call('lock',KEYS[1],'b','WAIT','0')) 1 k -> $nil
		close A
		+30s
		B EXISTS k -> 0`},
	{"a wait that is none is an error of the call", `
		A EVAL return(redis.pcall('lock','k','a','WAIT','-1')) 1 k -> -ERR timeout is negative
		A EVAL return(redis.pcall('lock','k','','WAIT','1')) 1 k -> -ERR lock owner must not be empty
		A EXISTS k -> 0`},
	{"tokens fence what a script does", `
		A LOCK k a PX 1000 -> token=1
		A GUARD k token:1 EVAL return(redis.call('set',KEYS[1],ARGV[1])) 1 d v -> +OK
		A GET d -> "v"
		+1s
		A GUARD k token:1 EVAL return(redis.call('set',KEYS[1],ARGV[1])) 1 d w -> -STALETOKEN the lock is not held with this token
		A GET d -> "v"`},
	{"GUARD runs scripts by name, functions, and no others of their group", `
		A LOCK k a PX 1000 -> token=1
		A GUARD k token:1 EVALSHA e0e1f9fabfc9d4800c877a703b823ac0578ff8db 0 -> -NOSCRIPT No matching script. Please use EVAL.
		A SCRIPT LOAD return(1) -> "930269f31393d0be681588b6ab08dccee7d6bb67"
		A GUARD k token:1 EVAL_RO return(1) 0 -> 1
		A GUARD k token:1 FCALL nosuch 0 -> -ERR Function not found
		A GUARD k token:1 SCRIPT FLUSH -> -ERR GUARD cannot run 'script|flush': only commands on data can be guarded
		A GUARD k token:1 FUNCTION FLUSH -> -ERR GUARD cannot run 'function|flush': only commands on data can be guarded`},
	{"GUARD in a script", `
		A LOCK k a PX 1000 -> token=1
		A EVAL return(redis.call('guard',KEYS[1],ARGV[1],'set',KEYS[2],'v')) 2 k d token:1 -> +OK
		A GET d -> "v"
		A EVAL return(redis.pcall('guard',KEYS[1],ARGV[1],'eval','return(1)','0')) 1 k token:1 -> -ERR This Redis command is not allowed from script
		A EVAL return(redis.pcall('guard',KEYS[1],1,'set',KEYS[2],'w')) 2 k d -> -STALETOKEN the lock is not held with this token
		A EVAL_RO return(redis.pcall('guard',KEYS[1],ARGV[1],'get','d')) 1 k token:1 -> -ERR Write commands are not allowed from read-only scripts.`},
	{"a sale in a script", `
		A SET seckill:stock:10 2 -> +OK
		A EVAL return{redis.call('seckill','10','u','1'),redis.call('seckill','10','u','2'),redis.call('seckill','10','v','3'),redis.call('seckill','10','w','4')} 0 -> [0 2 0 1]`},
}
