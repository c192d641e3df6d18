package server

import (
	"crypto/sha256"
	"encoding/hex"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/config"
)

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
		require.Equal(t, `["user default on sanitize-payload #`+hash(password)+` ~* &* +@all"]`, c.Do("ACL", "LIST").String())
		user := c.Do("ACL", "GETUSER", "default")
		require.Equal(t, hash(password), user.Elems[3].Elems[0].Str)
		require.Equal(t, `["on" "sanitize-payload"]`, user.Elems[1].String())
	}
}
