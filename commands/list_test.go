package commands

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestListScript(t *testing.T) {
	playScript(t, "testdata/list.script", ListRows, StringRows, KeyRows, SetRows, HashRows)
}

// TestListEffects: the journal gets the commands that a plain Redis needs to make the same change.
func TestListEffects(t *testing.T) {
	f := newFixture(t, ListRows)
	for _, c := range []struct {
		command []string
		want    string
	}{
		{[]string{"RPUSH", "l", "a", "b", "a", "c"}, "0 RPUSH l a b a c"},
		{[]string{"LPUSHX", "l", "x"}, "0 LPUSH l x"},
		{[]string{"LSET", "l", "-1", "d"}, "0 LSET l 4 d"},
		{[]string{"LINSERT", "l", "AFTER", "a", "y"}, "0 LINSERT l AFTER a y"},
		{[]string{"LREM", "l", "-1", "a"}, "0 LREM l -1 a"},
		{[]string{"LTRIM", "l", "-4", "100"}, "0 LTRIM l 1 4"},
		{[]string{"LPOP", "l"}, "0 LPOP l 1"},
		{[]string{"RPOP", "l", "1"}, "0 RPOP l 1"},
		{[]string{"LMOVE", "l", "l", "LEFT", "RIGHT"}, "0 LPOP l 1, 0 RPUSH l y"},
		{[]string{"LMOVE", "l", "d", "LEFT", "RIGHT"}, "0 LPOP l 1, 0 RPUSH d b"},
		{[]string{"RPOPLPUSH", "l", "d"}, "0 DEL l, 0 LPUSH d y"},
		{[]string{"LMOVE", "l", "l", "LEFT", "RIGHT"}, ""},
		{[]string{"BLMPOP", "0", "1", "d", "RIGHT", "COUNT", "9"}, "0 DEL d"},
		{[]string{"RPUSH", "l", "z"}, "0 RPUSH l z"},
		{[]string{"LMOVE", "l", "l", "LEFT", "RIGHT"}, ""},
		{[]string{"LREM", "l", "0", "none"}, ""},
		{[]string{"LREM", "l", "0", "z"}, "0 DEL l"},
		{[]string{"RPUSH", "l", "z"}, "0 RPUSH l z"},
		{[]string{"LTRIM", "l", "1", "0"}, "0 DEL l"},
	} {
		f.effects()
		f.do(c.command...)
		require.Equal(t, c.want, strings.Join(f.effects(), ", "), "%q", c.command)
	}
	f.client(2).do("BLMOVE", "l", "d", "LEFT", "RIGHT", "0")
	f.effects()
	f.do("RPUSH", "l", "a", "b")
	require.Equal(t, []string{"0 RPUSH l a b", "0 LPOP l 1", "0 RPUSH d a"}, f.effects())
}
