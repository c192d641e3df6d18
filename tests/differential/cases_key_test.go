//go:build oracle

package differential

func keyCases() family {
	return family{"key", []namedCase{
		{"presence", `
			DEL gone
			MSET a 1 b 2 c 3
			EXISTS a b c gone a
			TOUCH a gone a
			TYPE a
			TYPE gone
			DEL a gone a
			UNLINK b c b
			EXISTS
			DEL
			UNLINK
			TOUCH
			TYPE
			TYPE a b
			HSET h f v
			SADD t m
			XADD x 1-1 f v
			TYPE h
			TYPE t
			TYPE x
			DBSIZE
			DBSIZE x
		`},
		{"expire", `
			EXPIRE gone 100
			SET k v
			TTL k
			PTTL k
			EXPIRETIME k
			PEXPIRETIME k
			TTL gone
			PTTL gone
			EXPIRETIME gone
			PEXPIRETIME gone
			EXPIRE k 1000
			TTL k
			PTTL k
			PERSIST k
			PERSIST k
			PERSIST gone
			PEXPIRE k 1000000
			EXPIREAT k {s+1000}
			PEXPIREAT k {ms+1000000}
			EXPIRETIME k
			EXPIRE k abc
			EXPIRE k 1.5
			EXPIRE k 9223372036854775807
			EXPIRE k 9223372036854775
			EXPIRE k 9223372036854776
			EXPIRE k -9223372036854775808
			EXISTS k
			SET k v
			PEXPIRE k 9223372036854775807
			PEXPIRE k -9223372036854775808
			EXISTS k
			SET k v
			EXPIREAT k 9223372036854775807
			PEXPIREAT k 9223372036854775807
			PTTL k
			EXPIRE gone abc
			EXPIRE gone 9223372036854775807
			EXPIRE k
			EXPIRE k 0
			EXISTS k
			SET k v
			EXPIRE k -1
			EXISTS k
			SET k v
			PEXPIREAT k 1
			EXISTS k
			SET k v
			EXPIREAT k 0
			EXISTS k
			EXPIREAT k -5
		`},
		{"expire: conditions", `
			SET k v
			EXPIRE k 1000 XX
			EXPIRE k 1000 GT
			TTL k
			EXPIRE k 1000 LT
			TTL k
			EXPIRE k 500 NX
			EXPIRE k 2000 GT
			EXPIRE k 1500 GT
			EXPIRE k 1500 LT
			EXPIRE k 3000 XX
			EXPIRE k 1000 XX GT
			EXPIRE k 1000 XX LT
			EXPIRE k 1000 NX XX
			EXPIRE k 1000 NX GT
			EXPIRE k 1000 NX LT
			EXPIRE k 1000 GT LT
			EXPIRE k 1000 XX NX GT LT
			EXPIRE k 1000 BAD
			EXPIRE k 1000 NX BAD
			EXPIRE k abc NX XX
			EXPIRE k abc BAD
			EXPIRE gone 1000 NX XX
			EXPIRE gone 1000 BAD
			EXPIRE k 1000 nx nx
			EXPIRE k -1 GT
			EXISTS k
			EXPIRE k -1 LT
			EXISTS k
			SET k v
			EXPIRE k -1 XX
			EXISTS k
			EXPIRE k -1 NX
			EXISTS k
			SET k v
			PEXPIREAT k {ms+100000} NX
			PEXPIREAT k {ms+200000} GT
			PEXPIREAT k {ms+100000} LT
			EXPIREAT k {s+100} XX
		`},
		{"keys", `
			KEYS *
			MSET one 1 two 2 three 3 four 4 h?llo 5 hello 6 h*llo 7 "" 8
			KEYS *
			KEYS t*
			KEYS ?o?r
			KEYS h[ae?]llo
			KEYS h\?llo
			KEYS h\*llo
			KEYS [^t]*
			KEYS [n-z]*
			KEYS [z-n]*
			KEYS ""
			KEYS [
			KEYS [a
			KEYS one\
			KEYS ****o
			KEYS
			KEYS a b
		`},
		{"scan", `
			SCAN 0
			MSET one 1 two 2 three 3
			SADD t m
			HSET h f v
			SCAN 0
			SCAN 0 MATCH t*
			SCAN 0 COUNT 1
			SCAN 0 COUNT 1000
			SCAN 0 TYPE string
			SCAN 0 TYPE set
			SCAN 0 TYPE HASH
			SCAN 0 TYPE nonsense
			SCAN 0 TYPE
			SCAN 0 COUNT 0
			SCAN 0 COUNT -1
			SCAN 0 COUNT abc
			SCAN 0 MATCH
			SCAN 0 BAD
			SCAN abc
			SCAN -1
			SCAN ""
			SCAN " 0"
			SCAN 0x10
			SCAN 18446744073709551615
			SCAN 18446744073709551616
			SCAN
			SCAN 0 MATCH t* COUNT 1 TYPE string
			SCAN "0\x00"
		`},
		{"rename", `
			RENAME gone x
			RENAME gone gone
			SET a 1
			RENAME a b
			GET b
			RENAME b b
			SADD t m
			RENAME b t
			GET t
			SET a 1 EX 1000
			RENAME a c
			TTL c
			SET d 1 EX 1000
			SET e 2
			RENAME e d
			TTL d
			RENAMENX gone x
			RENAMENX gone gone
			RENAMENX d c
			RENAMENX d new
			RENAMENX new new
			RENAME a
			RENAMENX a
			HSET h f v
			RENAME h h2
			HGETALL h2
		`},
		{"move", `
			SET k v EX 1000
			MOVE k 1
			EXISTS k
			SELECT 1
			TTL k
			MOVE k 1
			MOVE k abc
			MOVE k 16
			MOVE k -1
			MOVE k 9223372036854775808
			MOVE k 4294967296
			MOVE gone 0
			MOVE gone 1
			SELECT 0
			SET k other
			SELECT 1
			MOVE k 0
			GET k
			MOVE k 0 0
		`},
		{"copy", `
			COPY gone x
			SET k v EX 1000
			COPY k l
			TTL l
			COPY k l
			COPY k l REPLACE
			COPY k k
			COPY k k DB 1
			COPY k m DB 1
			COPY k m DB 1 REPLACE
			COPY k m DB 16
			COPY k m DB -1
			COPY k m DB abc
			COPY k m DB
			COPY k m BAD
			COPY k m DB 1 DB 2
			COPY k k DB 0
			COPY k k DB 0 REPLACE
			COPY gone k REPLACE
			COPY gone gone
			HSET h a 1 b 2
			COPY h h2
			HSET h a 5
			HGETALL h2
			SADD t 1 2 3
			COPY t k REPLACE
			TYPE k
			TTL k
			XADD x 1-1 f v
			XADD x 2-1 f v
			XDEL x 2-1
			COPY x x2
			COPY k
			COPY k l replace db 3 replace
			COPY k m DB 9223372036854775808
			COPY k m DB 4294967296
		`},
		{"flush and swap", `
			SET a 1
			SELECT 1
			SET b 2
			FLUSHDB
			DBSIZE
			SELECT 0
			GET a
			FLUSHDB ASYNC
			EXISTS a
			SET a 1
			FLUSHALL SYNC
			EXISTS a
			FLUSHDB BAD
			FLUSHALL ASYNC SYNC
			FLUSHALL async
			SET a 0
			SELECT 1
			SET a 1
			SWAPDB 0 1
			GET a
			SWAPDB 0 16
			SWAPDB 16 0
			SWAPDB -1 0
			SWAPDB abc 1
			SWAPDB 1 abc
			SWAPDB 1 1
			SWAPDB 1
			SWAPDB 9223372036854775808 1
			SWAPDB 4294967296 1
			SWAPDB 0 4294967296
			SELECT 16
			SELECT -1
			SELECT abc
			SELECT ""
			SELECT 9223372036854775808
			SELECT 4294967296
			SELECT
			SELECT 1 2
			SELECT 15
		`},
		{"object", `
			OBJECT ENCODING gone
			OBJECT REFCOUNT gone
			OBJECT IDLETIME gone
			OBJECT FREQ gone
			SET k v
			OBJECT REFCOUNT k
			OBJECT IDLETIME k
			OBJECT FREQ k
			OBJECT ENCODING
			OBJECT ENCODING k k
			OBJECT
			OBJECT BAD k
			object encoding k
			RANDOMKEY
			DEL k
			RANDOMKEY
			RANDOMKEY x
		`},
		{"unknown commands", `
			NOSUCH
			NOSUCH a b c
			nosuch "a\r\nb" {x*200} c
			{N*200} a
			NOSUCH {y*100} {z*100}
			"GET\x00" k
			"" a
			G-ET
			CLIENT
			CLIENT NOSUCH
			CONFIG NOSUCH {q*200}
			OBJECT NOSUCH
			COMMAND NOSUCH
			COMMAND GETKEYS
			COMMAND GETKEYS NOSUCH
			COMMAND GETKEYS GET
			COMMAND GETKEYS GET k
			COMMAND GETKEYS GET k l
			COMMAND GETKEYS PING
			COMMAND GETKEYS MSET a 1 b 2
			COMMAND GETKEYS MSET a 1 b
			COMMAND GETKEYS SINTERCARD 2 a b LIMIT 1
			COMMAND GETKEYS SINTERCARD 5 a b
			COMMAND GETKEYS OBJECT ENCODING k
			COMMAND GETKEYS COPY a b DB 3
			!D4 COMMAND GETKEYS SINTERCARD 1.5 a
			COMMAND GETKEYSANDFLAGS SET k v
			COMMAND GETKEYSANDFLAGS SET k v GET
			COMMAND GETKEYSANDFLAGS RENAME a b
			COMMAND INFO nosuch
			COMMAND DOCS nosuch
			COMMAND LIST FILTERBY
			COMMAND LIST FILTERBY BAD x
			COMMAND LIST FILTERBY MODULE nosuch
			COMMAND LIST FILTERBY PATTERN nosuch*
			COMMAND COUNT x
		`},
	}}
}
