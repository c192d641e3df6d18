//go:build oracle

package differential

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// aclCases returns plays with several users.
func aclCases() []blockingCase {
	const users = `
	W ACL SETUSER ann on nopass ~a* %R~r* &c* -@all +get +set +mget +blpop +eval +multi +exec +auth +select|1 +acl|whoami +client|kill +copy
	W ACL SETUSER bob on >pw ~* &* +@all
	W CONFIG RESETSTAT
	W ACL LOG RESET
`
	return []blockingCase{
		{name: "commands, keys, channels", play: users + `
	A AUTH ann x
	A ACL WHOAMI
	A GET a
	A GET r
	A SET r v
	A SET a v
	A MGET a r b
	A DEL a
	A PING
	A SELECT 1
	A SELECT 2
	A COPY r a
	A COPY a r
	A ACL LIST
	A PUBLISH c m
	A NOSUCH
	A GET
	A AUTH bob wrong
	A AUTH nobody pw
	A AUTH bob pw
	A PUBLISH x m
	A HELLO 3 AUTH bob bad
	A RESET
	A ACL WHOAMI
	W ACL SETUSER ann nonsense
	W ACL DELUSER default
	W ACL GETUSER nobody
	W CLIENT KILL USER nobody
	W ACL DRYRUN ann GET b
	W ACL DRYRUN ann GET a
	W ACL DRYRUN ann NOSUCH
	W ACL DRYRUN nobody GET a
	W ACL DRYRUN ann GET
	W ACL DRYRUN ann PUBLISH x m
	W ACL LOG x
	W ACL LOG 0
	W ACL LOG 1 2
	W ACL SAVE
	W ACL LOAD
	W ACL DELUSER ann bob carl
`},
		{name: "transactions and scripts", play: users + `
	A AUTH ann x
	A MULTI
	A SET a 1
	A SET b 1
	A EXEC
	A MULTI
	A SET a 1
	A GET r
	W ACL SETUSER ann -get resetkeys ~r*
	A EXEC
	A MULTI
	A DEL a
	A EXEC
	W ACL SETUSER ann +get ~a*
	A EVAL "return redis.pcall('GET', 'b')" 0
	A EVAL "return redis.call('DEL', 'a')" 0
	A EVAL "return redis.call('GET', 'r')" 0
	A EVAL "return 1" 1 b
	A EVAL "return redis.acl_check_cmd('GET', 'b')" 0
	A EVAL "return redis.acl_check_cmd('GET', 'a')" 0
	A EVAL "return redis.acl_check_cmd('NOSUCH')" 0
	W ACL DELUSER ann bob
`},
		{name: "those who wait", play: users + `
	A AUTH ann x
	A* BLPOP a 0
	W ACL SETUSER ann resetkeys ~b*
	W RPUSH a v
	A<
	W LRANGE a 0 -1
	A* BLPOP b 0
	W ACL SETUSER ann off
	W RPUSH b v
	A<
	W ACL DELUSER ann bob
`},
		{name: "SORT and what patterns name", play: users + `
	W ACL SETUSER ann +sort
	W RPUSH a1 1 2 3
	A AUTH ann x
	A SORT a1
	A SORT a1 BY nosort
	A SORT a1 BY b_*
	A SORT a1 GET #
	A SORT a1 STORE a2
	A SORT a1 STORE b
	W ACL SETUSER ann %R~*
	A SORT a1 BY b_* GET # GET b_*
	W ACL DELUSER ann bob
`},
	}
}

// TestUsers plays what users may and may not.
func TestUsers(t *testing.T) { playAll(t, startPair(t, ""), aclCases()) }

// TestUsersWithPassword plays AUTH with requirepass.
func TestUsersWithPassword(t *testing.T) {
	p := startPair(t, "secret")
	for _, l := range [][]string{{"AUTH", "secret"}, {"ACL", "LIST"}, {"ACL", "SETUSER", "ann", "on", ">one", ">two", "+@all", "-get"}, {"AUTH", "ann", "three"},
		{"AUTH", "ann", "two"}, {"ACL", "WHOAMI"}, {"GET", "a"}, {"AUTH", "secret"}, {"CONFIG", "SET", "requirepass", "other"}, {"ACL", "LIST"}, {"AUTH", "secret"},
		{"AUTH", "other"}, {"CONFIG", "SET", "requirepass", ""}, {"AUTH", "x"}, {"AUTH", "default", "x"}, {"ACL", "LIST"}, {"ACL", "SETUSER", "default", "off"},
		{"RESET"}, {"PING"}, {"AUTH", "default", "x"}, {"AUTH", "ann", "one"}, {"ACL", "SETUSER", "default", "on"}, {"RESET"}, {"PING"}} {
		ours, redis := p.do(l...)
		require.Equal(t, redis.String(), ours.String(), line(l))
	}
}
