package acl

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzRules: rules that are taken can be written down, and make the same user again.
func FuzzRules(f *testing.F) {
	for _, rules := range []string{"on >pw ~a %R~b &c +@all -get +select|0", "(+get ~a) (-@all", "nopass +@read (%W~x &y +acl|cat)", "#", "%", "!x", "(\"", "~a\x00b", "(&)) ",
		"db=0,1 (db=2 +get) (resetdbs)", "db=", "db=1,,2", "alldbs"} {
		f.Add(rules)
	}
	h := newHouse()
	f.Fuzz(func(t *testing.T, rules string) {
		merged, _, ok := mergeSelectors(strings.Split(rules, " "))
		if !ok {
			return
		}
		r := h.users.maker.newRules()
		for _, rule := range merged {
			if strings.HasPrefix(rule, "(") && strings.Count(rule, ")") > 1 {
				return // as in Redis, what is written of such a pattern ends the selector too early
			}
			if h.users.maker.apply(r, rule) != nil {
				return
			}
		}
		again := h.users.maker.newRules()
		words, _, ok := mergeSelectors(strings.Split(r.String(), " "))
		require.True(t, ok)
		for _, rule := range words {
			require.NoError(t, h.users.maker.apply(again, rule), "%q of %q", rule, r)
		}
		require.Equal(t, r.String(), again.String())
		for i, s := range r.selectors {
			require.Equal(t, s.allowed, again.selectors[i].allowed, "%q", r)
		}
	})
}

// FuzzFile: an ACL file is loaded as a whole, or not at all. A loaded file is written so that it can be
// loaded again.
func FuzzFile(f *testing.F) {
	for _, text := range []string{"user default on nopass ~* &* +@all\nuser a on >pw (+get ~a)\n", "user a\nuser a\n", "user (\nuser b (+get\n", "\x00\nusr", "user  x on"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		h := newHouse()
		before := h.users.Encode()
		if _, err := h.users.Load("f", text, false); err != nil {
			require.Equal(t, before, h.users.Encode())
			return
		}
		saved := h.users.Encode()
		_, err := h.users.Load("f", saved, false)
		require.NoError(t, err, "%q", saved)
		require.Equal(t, saved, h.users.Encode())
	})
}
