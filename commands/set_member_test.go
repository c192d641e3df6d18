package commands

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// fields splits a line at its spaces.
func fields(line string) []string { return strings.Fields(line) }

func TestSetEffects(t *testing.T) {
	f := newFixture(t, SetRows)
	for _, c := range []struct {
		line    string
		effects []string
	}{
		{"SADD s a b a", []string{"0 SADD s a b"}},
		{"SADD s a", nil},
		{"SADD s c a", []string{"0 SADD s c"}},
		{"SREM s zz", nil},
		{"SREM s c zz", []string{"0 SREM s c"}},
		{"SMOVE s d a", []string{"0 SREM s a", "0 SADD d a"}},
		{"SMOVE s d zz", nil},
		{"SMOVE s s b", nil},
		{"SADD d b", []string{"0 SADD d b"}},
		{"SMOVE s d b", []string{"0 DEL s"}},
		{"SMEMBERS d", nil},
		{"SREM d a b", []string{"0 SREM d a", "0 DEL d"}},
	} {
		f.do(fields(c.line)...)
		require.Equal(t, c.effects, f.effects(), c.line)
	}
	require.Zero(t, f.store.DB(0).Len())
}

func TestSetCommandsKeepTheDeadline(t *testing.T) {
	f := newFixture(t, SetRows)
	f.want("2", "SADD", "s", "a", "b")
	require.True(t, f.store.DB(0).Expire([]byte("s"), f.nowMS+10))
	f.want("1", "SADD", "s", "c")
	f.want("1", "SREM", "s", "a")
	f.advance(10)
	f.want("2", "SCARD", "s")
	f.advance(1)
	f.want("0", "SCARD", "s")
}

func TestSetHotPathsDoNotAllocate(t *testing.T) {
	f := newFixture(t, SetRows)
	f.want("3", "SADD", "ints", "1", "2", "3")
	f.want("3", "SADD", "small", "a", "b", "cc")
	fillSet(f, "large", "m", 1000)
	for _, line := range []string{
		"SISMEMBER ints 2", "SISMEMBER ints 9", "SADD ints 2", "SREM ints 9", "SCARD ints",
		"SISMEMBER small b", "SISMEMBER small zz", "SADD small a", "SMISMEMBER small a zz",
		"SISMEMBER large m7", "SISMEMBER large zz", "SADD large m7", "SREM large zz", "SISMEMBER none a",
		"SRANDMEMBER ints", "SRANDMEMBER small", "SRANDMEMBER large",
	} {
		require.Zero(t, f.allocsOf(fields(line)...), line)
	}
}
