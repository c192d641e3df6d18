package server

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/config"
)

// What a server says of replicas, clusters and modules is compared with Redis in
// tests/differential; here is what differs (D14).
func TestNoReplication(t *testing.T) {
	c := client(t, start(t, Options{Version: "1.2.3"}))
	require.Equal(t, "+OK", c.Do("SLAVEOF", "No", "oNe").String())
	require.Equal(t, "-ERR this server cannot be a replica: it has no replication", c.Do("REPLICAOF", "127.0.0.1", "6379").String())
	require.Equal(t, `["master" 0 []]`, c.Do("ROLE").String())
	require.Contains(t, c.Do("CLUSTER", "HELP").String(), "SETSLOT <slot>")
	require.Equal(t, "-ERR unknown subcommand 'LOAD'. Try MODULE HELP.", c.Do("MODULE", "LOAD", "x.so").String())
	require.True(t, strings.HasSuffix(c.Do("LOLWUT", "VERSION", "6", "1").Str, "\nlockserver ver. 1.2.3\n"))
}

// ACL tells of the password by its hash alone, at once when it changes; whoever is
// not logged in hears nothing.
func TestUser(t *testing.T) {
	srv := startWith(t, Options{}, func(c *config.Config) { c.RequirePass = "secret" })
	c := client(t, srv)
	for _, sub := range []string{"WHOAMI", "LIST", "USERS", "CAT", "GENPASS"} {
		require.Equal(t, "-NOAUTH Authentication required.", c.Do("ACL", sub).String())
	}
	require.Equal(t, "+OK", c.Do("AUTH", "default", "secret").String())
	hash := func(password string) string {
		sum := sha256.Sum256([]byte(password))
		return hex.EncodeToString(sum[:])
	}
	for _, password := range []string{"secret", "other"} {
		c.Do("CONFIG", "SET", "requirepass", password)
		require.Equal(t, `["user default on #`+hash(password)+` ~* &* +@all"]`, c.Do("ACL", "LIST").String())
		user := c.Do("ACL", "GETUSER", "default")
		require.Equal(t, hash(password), user.Elems[3].Elems[0].Str)
		require.Equal(t, `["on"]`, user.Elems[1].String())
	}
	require.Equal(t, "-ERR unknown subcommand 'SETUSER'. Try ACL HELP.", c.Do("ACL", "SETUSER", "eve", "on").String())
	require.Contains(t, c.Do("ACL", "CAT").String(), `"lock" "sale"`)
	require.Contains(t, c.Do("ACL", "CAT", "LOCK").String(), `"unlock"`)
}

func TestGenPass(t *testing.T) {
	c := client(t, start(t, Options{Seed: 1}))
	seen := map[string]bool{}
	for bits, digits := range map[string]int{"": 64, "1": 1, "4": 1, "5": 2, "13": 4, "128": 32, "4096": 1024} {
		args := []string{"ACL", "GENPASS"}
		if bits != "" {
			args = append(args, bits)
		}
		got := c.Do(args...).Str
		require.Len(t, got, digits)
		require.Regexp(t, regexp.MustCompile("^[0-9a-f]+$"), got)
	}
	for range 10 {
		seen[c.Do("ACL", "GENPASS").Str] = true
	}
	require.Len(t, seen, 10, "each is another, whatever the seed")
}
