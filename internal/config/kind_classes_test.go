package config

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestLockClasses: lines of a file, one value of CONFIG SET, and what CONFIG GET shows.
func TestLockClasses(t *testing.T) {
	c := Default()
	require.Empty(t, c.LockClasses)
	set := func(value string) error {
		_, err := c.Set([]string{"lock-class", value}, true)
		return err
	}
	require.NoError(t, set("orders order:* cart:* ;  mail mail:?"))
	want := [][]string{{"orders", "order:*", "cart:*"}, {"mail", "mail:?"}}
	require.Equal(t, want, c.LockClasses)
	require.Equal(t, []string{"lock-class", "orders order:* cart:* ; mail mail:?"}, c.Get("lock-class"))
	again := Default()
	require.NoError(t, again.Assign(map[string]string{"lock-class": c.Get("lock-class")[1]}))
	require.Equal(t, want, again.LockClasses)

	for value, says := range map[string]string{
		"a":                            "at least one pattern",
		"a x ; a y":                    "same name",
		"other x":                      "no pattern matches",
		"a/b x":                        "letters",
		"a x ; ; b y":                  "at least one pattern",
		strings.Repeat("n", 65) + " x": "letters",
	} {
		require.ErrorContains(t, set(value), says, value)
		require.Equal(t, want, c.LockClasses, "an error changes nothing")
	}
	var many []string
	for i := range 65 {
		many = append(many, fmt.Sprintf("c%d p%d", i, i))
	}
	require.NoError(t, set(strings.Join(many[:64], " ; ")))
	require.ErrorContains(t, set(strings.Join(many, " ; ")), "64 classes")
	require.NoError(t, set(""))
	require.Empty(t, c.LockClasses)
}
