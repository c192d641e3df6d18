//go:build oracle

package differential

// aloneCases returns the cases for a server without replicas, cluster and modules, and with one user.
func aloneCases() family {
	return family{"alone", []namedCase{
		{"replication", `
			ROLE
			ROLE x
			REPLICAOF
			REPLICAOF NO
			REPLICAOF NO ONE
			REPLICAOF NO ONE x
			REPLICAOF no TWO
			REPLICAOF NO one
			SLAVEOF NO ONE
			REPLICAOF localhost x
			REPLICAOF localhost -1
			REPLICAOF localhost 65536
			SLAVEOF "" ""
			MULTI
			ROLE
			REPLICAOF NO ONE
			EXEC
			EVAL "return redis.call('ROLE')" 0
			EVAL "return redis.call('REPLICAOF', 'NO', 'ONE')" 0
		`},
		{"clusters", `
			READONLY
			READWRITE
			ASKING
			READONLY x
			READWRITE x
			ASKING x
			CLUSTER
			CLUSTER NOSUCH
			CLUSTER INFO
			CLUSTER info x
			CLUSTER NODES
			CLUSTER SLOTS
			CLUSTER SHARDS
			CLUSTER LINKS
			CLUSTER MYID
			CLUSTER KEYSLOT k
			CLUSTER KEYSLOT
			CLUSTER COUNTKEYSINSLOT x
			CLUSTER GETKEYSINSLOT 1 1
			CLUSTER MEET a b
			CLUSTER MEET a
			CLUSTER RESET NOSUCH
			CLUSTER FAILOVER FORCE x
			CLUSTER SETSLOT 1 NOSUCH
			CLUSTER ADDSLOTS
			CLUSTER ADDSLOTSRANGE 1 2 3
			!D14 CLUSTER HELP
			MULTI
			READONLY
			CLUSTER INFO
			EXEC
			EVAL "return redis.pcall('READONLY')" 0
			EVAL "return redis.pcall('CLUSTER', 'RESET')" 0
		`},
		{"modules", `
			MODULE
			MODULE LIST
			MODULE LIST x
			MODULE NOSUCH
			!D14 MODULE LOAD x
			EVAL "return redis.call('MODULE', 'LIST')" 0
		`},
		{"lolwut", `
			LOLWUT VERSION x
			!D17 LOLWUT
			!D17 LOLWUT VERSION 5
		`},
		{"users", `
			ACL
			ACL NOSUCH
			ACL WHOAMI
			ACL WHOAMI x
			ACL USERS
			ACL USERS x
			ACL LIST
			ACL GETUSER default
			ACL GETUSER DEFAULT
			ACL GETUSER nobody
			ACL GETUSER
			ACL GETUSER a b
			ACL CAT nosuch
			ACL CAT string x
			ACL CAT "a\r\n"
			!D15 ACL CAT
			!D15 ACL CAT string
			ACL GENPASS 0
			ACL GENPASS -1
			ACL GENPASS 4097
			ACL GENPASS x
			ACL GENPASS 1 2
			ACL DRYRUN default GET k
			MULTI
			ACL WHOAMI
			ACL GETUSER default
			EXEC
			EVAL "return redis.call('ACL', 'WHOAMI')" 0
			CONFIG SET requirepass "pass word"
			ACL LIST
			ACL GETUSER default
			ACL WHOAMI
			CONFIG SET requirepass ""
			ACL LIST
		`},
	}}
}
