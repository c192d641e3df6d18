package clients

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestUsers: a user with a name, who may do less than the others.
func TestUsers(t *testing.T) {
	s := start(t)
	admin := s.connect(t)
	eachSecureLibrary(t, func(t *testing.T, library secureLibrary, p int) {
		ctx := within(t)
		rules := []any{"ACL", "SETUSER", "ann", "reset", "on", ">secret", "~ann:*", "&ann:*", "+@all", "-@dangerous"}
		require.NoError(t, admin.Do(ctx, rules...).Err())
		wrong, err := library.connect(s.addr, p, nil, "ann", "wrong")
		wrong.close()
		require.ErrorContains(t, err, "WRONGPASS")
		ann, err := library.connect(s.addr, p, nil, "ann", "secret")
		require.NoError(t, err)
		defer ann.close()
		require.Equal(t, "ann", ann.ok(t, "ACL", "WHOAMI"))
		require.Equal(t, "OK", ann.ok(t, "SET", "ann:k", "v"))
		for _, words := range [][]string{{"GET", "k"}, {"FLUSHALL"}, {"PUBLISH", "news", "x"},
			{"EVAL", "return redis.call('get', KEYS[1])", "1", "k"}} {
			_, err := ann.do(words...)
			require.ErrorContains(t, err, "NOPERM", "%v", words)
		}
		require.NoError(t, admin.Do(ctx, "ACL", "SETUSER", "ann", "-set").Err())
		_, err = ann.do("SET", "ann:k", "w")
		require.ErrorContains(t, err, "NOPERM")
		require.Equal(t, "v", ann.ok(t, "GET", "ann:k"))
	})
}
