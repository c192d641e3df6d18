package commands

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestStringCompareScript plays what Redis 8.4 and Valkey 9.0 document; each case says where.
func TestStringCompareScript(t *testing.T) {
	playDocumented(t, "testdata/string_compare.script", StringRows, KeyRows)
}

// TestStringCompareEffects: a comparison has no effect of its own: the journal gets only SET and DEL. Redis'
// string.tcl has "DELEX propagate as DEL command to replica" and "DELEX does not propagate when condition not
// met".
func TestStringCompareEffects(t *testing.T) {
	f := newStrings(t)
	at := fmt.Sprint(f.nowMS + 5000)
	for _, c := range []struct {
		call    string
		effects []string
	}{
		{"SET k v IFNE x", []string{"0 SET k v"}},
		{"SET k w IFEQ x", nil},
		{"SET k w IFEQ v PX 5000", []string{"0 SET k w PXAT " + at}},
		{"SET k v IFEQ w KEEPTTL GET", []string{"0 SET k v KEEPTTL"}},
		{"DIGEST k", nil},
		{"DELEX k IFEQ x", nil},
		{"DELEX k IFEQ v", []string{"0 DEL k"}},
		{"DELIFEQ k v", nil},
		{"MSETEX 2 a 1 b 2 NX PX 5000", []string{"0 SET a 1 PXAT " + at, "0 SET b 2 PXAT " + at}},
		{"MSETEX 2 b 1 c 2 NX", nil},
		{"MSETEX 2 a 3 a 4 KEEPTTL", []string{"0 SET a 3 KEEPTTL", "0 SET a 4 KEEPTTL"}},
		{"MSETEX 2 a 1 c 1 PXAT 1", []string{"0 DEL a"}},
		{"DELIFEQ b 2", []string{"0 DEL b"}},
		{"DELEX b", nil},
	} {
		f.do(strings.Fields(c.call)...)
		require.Equal(t, c.effects, f.effects(), c.call)
	}
}

// TestStringCompareOverdue: an overdue key does not exist for these commands.
func TestStringCompareOverdue(t *testing.T) {
	for _, c := range []struct{ call, reply string }{
		{"DIGEST k", "$nil"}, {"SET k v IFEQ 100", "$nil"}, {"SET k v IFNE 100", "+OK"}, {"DELEX k", "0"},
		{"DELEX k IFEQ 100", "0"}, {"DELIFEQ k 100", "0"}, {"MSETEX 1 k v XX", "0"}, {"MSETEX 1 k v NX", "1"},
	} {
		f := newStrings(t)
		f.want("+OK", "SET", "k", "100", "PX", "10")
		f.nowMS += 11 // not f.advance, which would remove it
		f.store.SetNow(f.nowMS * 1000)
		f.want(c.reply, strings.Fields(c.call)...)
	}
}

// TestStringCompareKeys: the keys of a call and their use follow from the options, as Redis' command files
// say with VARIABLE_FLAGS.
func TestStringCompareKeys(t *testing.T) {
	table := NewTable(StringRows())
	for call, want := range map[string][]KeyRef{
		"SET k v IFEQ x":           {{1, RW | Update}},
		"SET k v IFDNE x GET":      {{1, RW | Access | Update}},
		"DELEX k":                  {{1, RM | Delete}},
		"DELEX k ifdeq d":          {{1, RW | Delete}},
		"DELIFEQ k v":              {{1, RM | Access | Delete}},
		"DIGEST k":                 {{1, RO | Access}},
		"MSETEX 2 a 1 b 2 EX 10":   {{2, OW | Update}, {4, OW | Update}},
		"MSETEX 1 a 1 NX KEEPTTL":  {{2, OW | Update}},
		"MSETEX 3 a 1 b 2 NX EX 1": {{2, OW | Update}, {4, OW | Update}, {6, OW | Update}},
	} {
		argv := words(strings.Fields(call)...)
		refs, err := table.KeyRefs(table.Lookup(argv[0]), argv, nil)
		require.NoError(t, err, call)
		require.Equal(t, want, refs, call)
	}
	_, err := table.KeyRefs(table.Lookup([]byte("msetex")), words("msetex", "3", "a", "1", "b", "2"), nil)
	require.Equal(t, ErrCommandInvalidArgs, err)
	require.Equal(t, []KeySpec{{Flags: OW | Update, Index: 1, KeyNum: true, FirstKey: 1, Step: 2}},
		table.Lookup([]byte("msetex")).Keys())
}

func TestStringCompareDoesNotAllocate(t *testing.T) {
	f := newStrings(t)
	f.do("MSET", "k", "hello", "other", "x")
	for _, call := range []string{"DIGEST k", "DELEX k IFEQ x", "DELEX k IFDNE 9555e8555c62dcfd", "DELIFEQ k x",
		"SET k v IFEQ x", "SET k v IFDEQ 0000000000000000"} {
		require.Zero(t, f.allocsOf(strings.Fields(call)...), call)
	}
}
