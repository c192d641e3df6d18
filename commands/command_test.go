package commands

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// nativeRows returns rows that are similar to those of our own commands.
func nativeRows() []Row {
	return []Row{
		{Name: "lock", Group: Lock, Since: "1.0.0", Summary: "Acquires a lock.", Complexity: "O(1)",
			Flags: Write | DenyOOM | Blocking | Fast, Run: nothing,
			Args: []Arg{Key("key", RW|Insert), Str("owner"),
				Opt(OneOf("lease", Int("milliseconds").After("PX"), Int("seconds").After("EX"))),
				Opt(Int("milliseconds").After("WAIT"))}},
		{Name: "seckill", Group: Sale, Since: "1.0.0", Summary: "Sells.", Complexity: "O(1)", Flags: Write | Fast, Run: nothing,
			Args: []Arg{Str("voucher"), Str("user"), Str("order"), Opt(Int("n").After("QTY"))}},
	}
}

func TestNativeCommandsDescribeThemselves(t *testing.T) {
	table := NewTable(CommandRows(), nativeRows())
	info := callValue(t, table, "COMMAND", "INFO", "Lock")
	require.Equal(t, `[["lock" -3 [+write +denyoom +blocking +fast] 1 1 1 [+@write +@fast +@blocking +@lock] [] `+
		`[["flags" [+RW +insert] "begin_search" ["type" "index" "spec" ["index" 1]] `+
		`"find_keys" ["type" "range" "spec" ["lastkey" 0 "keystep" 1 "limit" 0]]]] []]]`, info.String())
	docs := call(t, table, 3, "COMMAND", "DOCS", "lock")
	require.Equal(t, `{"lock":{"summary":"Acquires a lock." "since":"1.0.0" "group":"lock" "complexity":"O(1)" `+
		`"arguments":[{"name":"key" "type":"key" "display_text":"key" "key_spec_index":0} `+
		`{"name":"owner" "type":"string" "display_text":"owner"} `+
		`{"name":"lease" "type":"oneof" "flags":~[+optional] "arguments":[`+
		`{"name":"milliseconds" "type":"integer" "display_text":"milliseconds" "token":"PX"} `+
		`{"name":"seconds" "type":"integer" "display_text":"seconds" "token":"EX"}]} `+
		`{"name":"milliseconds" "type":"integer" "display_text":"milliseconds" "token":"WAIT" "flags":~[+optional]}]}}`, docs.String())
}

func TestWholeCommandIsInfoOfAll(t *testing.T) {
	table := NewTable(CommandRows(), nativeRows())
	all := call(t, table, 3, "COMMAND")
	require.Len(t, all.Elems, 3)
	require.True(t, all.Equal(call(t, table, 3, "COMMAND", "INFO")))
	require.True(t, all.Equal(call(t, table, 3, "COMMAND", "INFO", "command", "lock", "seckill")))
	require.True(t, call(t, table, 3, "COMMAND", "DOCS").Equal(call(t, table, 3, "COMMAND", "DOCS", "command", "lock", "seckill")))
	require.Equal(t, int64(3), call(t, table, 3, "COMMAND", "COUNT").Int)
}
