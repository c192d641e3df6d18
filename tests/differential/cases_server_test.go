//go:build oracle

package differential

// serverCases returns the cases for commands on the connection and the server with the same replies on both
// servers.
func serverCases() family {
	return family{"server", []namedCase{
		{"ping, echo", `
			PING
			PING hello
			PING ""
			PING a b
			ECHO hello
			ECHO ""
			ECHO
			ECHO a b
			ECHO "a\r\nb\x00"
			pInG
		`},
		{"hello", `
			HELLO 1
			HELLO 4
			HELLO abc
			HELLO ""
			HELLO 9223372036854775808
			HELLO 3 BAD
			HELLO 3 AUTH
			HELLO 3 AUTH default
			HELLO 3 SETNAME
			HELLO 3 SETNAME "a b"
			HELLO 2 AUTH nobody pass
			HELLO 2 SETNAME a BAD
			CLIENT GETNAME
			HELLO BAD 3
		`},
		{"auth without a password", `
			AUTH x
			AUTH default x
			AUTH nobody x
			AUTH
			AUTH a b c
		`},
		{"client names", `
			CLIENT GETNAME
			CLIENT SETNAME me
			CLIENT GETNAME
			CLIENT SETNAME "a b"
			CLIENT SETNAME "a\n"
			CLIENT SETNAME ~!
			CLIENT GETNAME
			CLIENT SETNAME ""
			CLIENT GETNAME
			CLIENT SETNAME
			CLIENT SETNAME a b
			CLIENT GETNAME x
			CLIENT ID x
		`},
		{"client: errors", `
			CLIENT LIST TYPE bad
			CLIENT LIST BAD
			CLIENT LIST TYPE
			CLIENT LIST ID
			CLIENT LIST ID abc
			CLIENT LIST ID -1
			CLIENT LIST ID 1000000
			CLIENT LIST TYPE master
			CLIENT LIST TYPE pubsub
			CLIENT LIST TYPE replica
			CLIENT KILL
			CLIENT KILL 1.2.3.4:5
			CLIENT KILL ID abc
			CLIENT KILL ID 0
			CLIENT KILL ID -1
			CLIENT KILL ID 1000000
			CLIENT KILL TYPE bad
			CLIENT KILL TYPE master
			CLIENT KILL ADDR 1.2.3.4:5
			CLIENT KILL USER nobody
			CLIENT KILL SKIPME bad
			CLIENT KILL SKIPME
			CLIENT KILL BAD x
			CLIENT KILL ID 1000000 SKIPME no
			CLIENT KILL ID 1000000 ADDR 1.2.3.4:5 LADDR x
			CLIENT UNBLOCK abc
			CLIENT UNBLOCK 1000000
			CLIENT UNBLOCK 1000000 TIMEOUT
			CLIENT UNBLOCK 1000000 ERROR
			CLIENT UNBLOCK 1000000 BAD
			CLIENT UNBLOCK -1
			CLIENT UNBLOCK
			CLIENT NO-EVICT ON
			CLIENT NO-EVICT off
			CLIENT NO-EVICT BAD
			CLIENT NO-EVICT
			CLIENT REPLY
			CLIENT REPLY BAD
			CLIENT REPLY ON
			CLIENT SETINFO lib-name x
			CLIENT SETINFO lib-name "a b"
			CLIENT SETINFO LIB-NAME "a b"
			CLIENT NO-TOUCH ON
			CLIENT KILL MAXAGE 100000
			!D17 CLIENT HELP
		`},
		{"reset", `
			CLIENT SETNAME me
			SELECT 3
			SET k v
			RESET
			CLIENT GETNAME
			GET k
			RESET x
		`},
		{"config", `
			CONFIG GET nosuch
			!D11 CONFIG GET bind
			CONFIG GET client-output-buffer-limit
			CONFIG GET maxmemory-policy
			CONFIG GET databases
			CONFIG GET MAXMEMORY*policy
			CONFIG GET proto-max-bulk-len
			CONFIG GET hash-max-listpack-entries hash-max-listpack-value
			CONFIG GET hash-max-ziplist-entries
			CONFIG GET set-max-intset-entries
			CONFIG GET stream-node-max-entries stream-node-max-bytes
			CONFIG GET timeout
			CONFIG GET tcp-keepalive
			CONFIG GET save
			CONFIG GET appendonly
			CONFIG GET requirepass
			CONFIG GET maxclients
			CONFIG GET
			CONFIG SET nosuch x
			CONFIG SET maxmemory
			CONFIG SET
			CONFIG SET timeout abc
			CONFIG SET timeout -1
			CONFIG SET databases 5
			CONFIG SET hash-max-listpack-entries 3
			HSET h a 1 b 2 c 3
			OBJECT ENCODING h
			HSET h d 4
			OBJECT ENCODING h
			CONFIG SET hash-max-listpack-entries 512
			CONFIG SET timeout 0 timeout 0
			CONFIG SET timeout 0 nosuch 1
			CONFIG SET set-max-intset-entries 2
			SADD t 1 2
			OBJECT ENCODING t
			CONFIG SET set-max-intset-entries 512
			CONFIG SET proto-max-bulk-len 1000
			CONFIG SET save "900 1"
			CONFIG GET save
			CONFIG SET save ""
			CONFIG GET save
			CONFIG REWRITE
			CONFIG RESETSTAT
			CONFIG RESETSTAT x
			CONFIG BAD
			CONFIG
		`},
		{"memory", `
			CONFIG GET maxmemory maxmemory-policy maxmemory-samples lfu-log-factor lfu-decay-time
			CONFIG SET maxmemory-policy foo
			CONFIG SET maxmemory abc
			CONFIG SET maxmemory -1
			CONFIG SET maxmemory-samples 0
			CONFIG SET maxmemory-samples 1k
			CONFIG SET lfu-log-factor -1
			CONFIG SET lfu-decay-time x
			SET k v
			RPUSH l a
			OBJECT FREQ k
			OBJECT FREQ nosuch
			CONFIG SET maxmemory 1
			SET k w
			APPEND k w
			GETSET k w
			GETDEL nosuch
			LPUSH l b
			HSET h f v
			XADD s * f v
			GET k
			EXPIRE k 1000
			PERSIST k
			RENAME k k2
			LRANGE l 0 -1
			LREM l 0 nosuch
			EXISTS k2 l
			MULTI
			GET k2
			EXEC
			MULTI
			SET k v
			PING
			DISCARD
			MULTI
			EXEC
			CONFIG SET maxmemory 0
			MULTI
			SET k v
			EXEC
			CONFIG SET maxmemory-policy volatile-lru
			CONFIG SET maxmemory 1
			SET k w
			GET k
			CONFIG SET maxmemory 0
			CONFIG SET maxmemory-policy ALLKEYS-LFU
			CONFIG GET maxmemory-policy
			OBJECT IDLETIME k
			OBJECT IDLETIME nosuch
			DEL k
			SET k v
			OBJECT FREQ k
			CONFIG SET maxmemory-policy noeviction
			OBJECT FREQ k
			CONFIG SET maxmemory 1kb maxmemory-samples 7 lfu-log-factor 1 lfu-decay-time 0
			CONFIG GET maxmemory maxmemory-samples lfu-log-factor lfu-decay-time
			CONFIG SET maxmemory 0 maxmemory-samples 5 lfu-log-factor 10 lfu-decay-time 1
		`},
		{"server", `
			SHUTDOWN BAD
			SHUTDOWN SAVE NOSAVE
			SHUTDOWN ABORT NOW
			SHUTDOWN ABORT
			SHUTDOWN SAVE ABORT
			BGSAVE BAD
			BGSAVE SCHEDULE BAD
			TIME x
			SAVE x
			LASTSAVE x
			DEBUG SLEEP 0
			DEBUG
			DBSIZE
		`},
	}}
}
