//go:build oracle

package differential

import "testing"

// TestPause plays commands that CLIENT PAUSE delays, and commands that it does not.
func TestPause(t *testing.T) { playAll(t, startPair(t, ""), pauseCases()) }

func pauseCases() []blockingCase {
	return append(pauseWriteCases(),
		blockingCase{"all", `
			A SET k 1
			B MULTI
			C PING
			A CLIENT PAUSE 150 ALL
			B+ GET k
			C+ PING
			C?
			B<
			C<
			B EXEC
			A CLIENT PAUSE 60
			A NOSUCH
		`},
		blockingCase{"what is refused is not held", `
			B MULTI
			C PING
			A CLIENT PAUSE 100 ALL
			B NOSUCH
			B GET
			B EXEC
			B+ EXEC
			C CLIENT NOSUCH
			C SET k
			B<
		`},
		blockingCase{"longer and more, never less", `
			A CLIENT PAUSE 250 WRITE
			A CLIENT PAUSE 10 WRITE
			C PING
			B* SET k 1
			A GET k
			A CLIENT PAUSE 0 ALL
			C+ GET other
			C?
			B<
			C<
			A CLIENT PAUSE 0 ALL
			C GET k
		`},
		blockingCase{"nothing is evicted", `
			A CONFIG SET maxmemory-policy allkeys-random
			A SET k 1
			A CLIENT PAUSE 100000 WRITE
			A CONFIG SET maxmemory 1
			B GET k
			B DBSIZE
			A CLIENT UNPAUSE
			B GET k
			A CONFIG SET maxmemory 0
			A CONFIG SET maxmemory-policy noeviction
		`},
		blockingCase{"whoever is held is unblocked", `
			A CLIENT PAUSE 100000 WRITE
			B* RPUSH l b
			A CLIENT UNBLOCK {B} ERROR
			B<
			B MULTI
			B* RPUSH l c
			A CLIENT UNBLOCK {B} ERROR
			B<
			B GET k
			B EXEC
			B* RPUSH l d
			B-
			A INFO nosuch
			A CLIENT UNPAUSE
		`},
		blockingCase{"who does not count as a use", `
			A CONFIG SET maxmemory-policy allkeys-lfu
			A SET k v
			A CLIENT NO-TOUCH ON
			A GET k
			A OBJECT FREQ k
			A TOUCH k
			A OBJECT FREQ k
			A CLIENT NO-TOUCH OFF
			A CLIENT NO-TOUCH maybe
			A CLIENT NO-EVICT
			A CLIENT NO-EVICT on
			A CONFIG SET maxmemory-policy noeviction
		`})
}

func pauseWriteCases() []blockingCase {
	const library = "#!lua name=lib\\nredis.register_function{function_name='reads', callback=function() return 1 end, " +
		"flags={'no-writes'}}\\nredis.register_function('writes', function() return 2 end)"
	cases := []blockingCase{{"what passes a pause of writes", `
		A FUNCTION LOAD REPLACE "` + library + `"
		A SET k 1
		A RPUSH l 1
		A SCRIPT LOAD "return 3"
		A CLIENT PAUSE 100000 WRITE
		B GET k
		B SORT_RO l
		B WATCH k
		B MULTI
		B GET k
		B PING
		B EXEC
		B MULTI
		B DISCARD
		B EVAL_RO "return 1" 0
		B EVALSHA_RO e0e1f9fabfc9d4800c877a703b823ac0578ff8db 0
		B EVALSHA_RO 0123456789012345678901234567890123456789 0
		B EVAL "#!lua flags=no-writes\nreturn 1" 0
		B EVAL "#!lua flags=no-writes\nreturn redis.call('SET', 'k', 2)" 0
		B EVAL_RO "return redis.call('SET', 'k', 2)" 0
		B EVAL_RO "return redis.call('PUBLISH', 'c', 'm')" 0
		B EVAL_RO "return redis.call('PFCOUNT', 'p')" 0
		B FCALL reads 0
		B FCALL_RO reads 0
		B FCALL_RO nosuch 0
		B SCRIPT EXISTS x
		B SCRIPT LOAD "return 4"
		B FUNCTION LIST LIBRARYNAME nosuch
		B SUBSCRIBE c
		B UNSUBSCRIBE c
		B CONFIG SET maxmemory 0
		B CLIENT LIST TYPE master
		B WAIT 0 0
		B OBJECT ENCODING k
		B TOUCH k
		B SINTERCARD 1 s
		B CLIENT UNPAUSE
		A FUNCTION FLUSH
	`}}
	for _, held := range []string{
		"PFCOUNT p", "PUBLISH c m", "SPUBLISH c m", `EVAL "return 1" 0`, `EVAL "#!lua\nreturn 1" 0`, `EVAL "return redis.call('GET', 'k')" 0`,
		"EVALSHA 0123456789012345678901234567890123456789 0", `EVAL "#!lua flags=nosuch\nreturn 1" 0`, "FCALL nosuch 0", "FCALL writes 0", "FCALL_RO writes 0",
		"FUNCTION FLUSH", "FUNCTION DELETE nosuch", "SCRIPT FLUSH", "GETEX k", "SORT l", "SORT l STORE m", "FLUSHALL", "BLPOP l 0",
		"XREADGROUP GROUP g c STREAMS x >", "RESTORE k 0 x", "SETNX k 1", "GETDEL nosuch", "GEORADIUS g 0 0 1 m", "GEORADIUS_RO g 0 0 1 m",
		"BITFIELD b GET u8 0", "BITFIELD_RO b GET u8 0", "MOVE k 1", "SWAPDB 0 1", "EXPIRE nosuch 10", "PFDEBUG encoding p", "PFMERGE p",
	} {
		text := "A RPUSH l 1\nA FUNCTION LOAD REPLACE \"" + library + "\"\nA CLIENT PAUSE 100000 WRITE\n"
		if passesPause[held] {
			text += "B " + held + "\nA CLIENT UNPAUSE\n"
		} else {
			text += "B* " + held + "\nA CLIENT UNPAUSE\nB<\n"
		}
		text += "B MULTI\nB+ " + held + "\nB<\nA CLIENT PAUSE 100000 WRITE\nB+ EXEC\nA CLIENT UNPAUSE\nB<\nA FUNCTION FLUSH\n"
		cases = append(cases, blockingCase{held, play(text)})
	}
	return cases
}

// passesPause lists commands that a pause of writes does not delay.
var passesPause = map[string]bool{"GEORADIUS_RO g 0 0 1 m": true, "BITFIELD_RO b GET u8 0": true, "SCRIPT FLUSH": true}
