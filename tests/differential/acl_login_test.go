//go:build oracle

package differential

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/resp"
)

// loginPasswords lists the passwords that connections try. The user u has pw or other; default has secret,
// other or none.
var loginPasswords = []string{"secret", "other", "pw", "wrong", "", "secre", "SECRET", "secret\x00", "#pw"}

// TestRulesWithPassword is TestRules on servers with a password. Unauthenticated connections try the same
// commands and all ways to log in, while passwords change. Then the user runs commands under its rules.
func TestRulesWithPassword(t *testing.T) {
	seed := *seedFlag
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("seed %d", seed)
	chance := rand.New(rand.NewPCG(seed, 16))
	p := startPair(t, "secret")
	password := "secret"
	same := func(args ...string) resp.Value {
		t.Helper()
		ours, redis := p.do(args...)
		require.Equal(t, redis.String(), ours.String(), "seed %d: %s", seed, line(args))
		return ours
	}
	for n := 0; n < *commandsFlag; {
		p.reconnect()
		for _, s := range p.sides() {
			s.watch.Do("AUTH", "default", password)
			require.Equal(t, "+OK", s.watch.Do("FLUSHALL").String())
		}
		for range 20 {
			n += tryLogins(p, chance, same)
			same("AUTH", "default", password)
			n += changeUser(p, chance, same)
			same("ACL", "SETUSER", "u", "resetpass", ">pw", word(chance, []string{">other", "<other", "off", "nopass"}))
			if chance.IntN(4) == 0 {
				password = word(chance, []string{"secret", "other", ""})
				same("CONFIG", "SET", "requirepass", password)
				same("ACL", "LIST")
			}
			n += tryLogins(p, chance, same)
			same("AUTH", "u", "pw")
			n += tryCommands(p, chance, same)
			same("AUTH", "default", password)
			n += compareLogs(p, same)
		}
	}
}

// tryLogins resets the authentication of the connections, and then tries commands and logins at random.
func tryLogins(p *pair, chance *rand.Rand, same func(...string) resp.Value) int {
	same("RESET")
	n := 1 + chance.IntN(12)
	for range n {
		user, password := word(chance, []string{"u", "default", "nobody", ""}), word(chance, loginPasswords)
		switch chance.IntN(8) {
		case 0:
			same("AUTH", password)
		case 1, 2:
			same("AUTH", user, password)
		case 3:
			sameHello(p, word(chance, []string{"2", "3"}), "AUTH", user, password)
		case 4:
			same("MULTI")
			same(aclCall(chance)...) // without AUTH: D106
			same("EXEC")
			same("DISCARD")
		case 5:
			same("ACL", "WHOAMI")
		default:
			same(aclCall(chance)...)
		}
	}
	return n + 1
}

// sameHello compares only the errors of HELLO, because its reply contains the id of the connection.
func sameHello(p *pair, args ...string) {
	p.t.Helper()
	args = append([]string{"HELLO"}, args...)
	ours, redis := p.do(args...)
	if !strings.HasPrefix(redis.String(), "-") {
		require.Equal(p.t, redis.Kind, ours.Kind, line(args))
		return
	}
	require.Equal(p.t, redis.String(), ours.String(), line(args))
}
