package server

import (
	"crypto/sha256"
	"encoding/hex"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/config"
)

// Failed logins of all kinds are counted, and listed with the name that was tried.
func TestFailedLogins(t *testing.T) {
	t.Parallel()
	srv := startWith(t, Options{}, func(c *config.Config) { c.RequirePass = "secret" })
	anonymous, admin := client(t, srv), client(t, srv)
	for _, words := range [][]string{{"AUTH", "wrong"}, {"AUTH", "nobody", "secret"}, {"AUTH", "default", "secre"}, {"HELLO", "3", "AUTH", "eve", "x"}} {
		require.Contains(t, anonymous.Do(words...).String(), "-WRONGPASS", words)
	}
	require.Equal(t, "+OK", admin.Do("AUTH", "secret").String())
	require.Contains(t, admin.Do("INFO", "stats").Str, "acl_access_denied_auth:4\r\n")
	var listed []string
	for _, e := range admin.Do("ACL", "LOG").Elems {
		fields := make(map[string]string)
		for i := 0; i < len(e.Elems); i += 2 {
			fields[e.Elems[i].Str] = e.Elems[i+1].String()
		}
		listed = append(listed, fields["count"]+" "+fields["reason"]+" "+fields["object"]+" "+fields["username"])
	}
	require.Equal(t, []string{`1 "auth" "HELLO" "eve"`, `2 "auth" "AUTH" "default"`, `1 "auth" "AUTH" "nobody"`}, listed)
	admin.Do("ACL", "LOG", "RESET")
	require.Contains(t, admin.Do("INFO", "stats").Str, "acl_access_denied_auth:4\r\n", "the count does not forget")
}

// ACL shows the password only as its hash, and at once when it changes. An unauthenticated client gets
// nothing.
func TestUser(t *testing.T) {
	t.Parallel()
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
		require.Equal(t, `["user default on sanitize-payload #`+hash(password)+` ~* &* +@all"]`, c.Do("ACL", "LIST").String())
		user := c.Do("ACL", "GETUSER", "default")
		require.Equal(t, hash(password), user.Elems[3].Elems[0].Str)
		require.Equal(t, `["on" "sanitize-payload"]`, user.Elems[1].String())
	}
}
