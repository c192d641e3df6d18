package luavm_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/luavm"
)

// TestRunAllocatesNothing: running a script allocates only what the script itself makes. Only the texts of
// KEYS and ARGV are copied, together.
func TestRunAllocatesNothing(t *testing.T) {
	state := luavm.NewState(luavm.Options{})
	defer state.Close()
	for script, most := range map[string]float64{
		"":               1,
		"return 1.5":     1,
		"return KEYS[1]": 1,
		"local n = 0 for i = 1, 9 do n = n + i end return n": 1,
	} {
		proto, err := luavm.Compile("user_script", []byte(script))
		require.NoError(t, err)
		keys, argv := [][]byte{[]byte("k"), []byte("l")}, [][]byte{[]byte("30000")}
		run := func() {
			state.SetArrays(keys, argv)
			_, err = state.Run(proto)
		}
		require.LessOrEqual(t, testing.AllocsPerRun(100, run), most, script)
		require.NoError(t, err)
		keys, argv = nil, nil
		require.Equal(t, most-1, testing.AllocsPerRun(100, run), script)
	}
}
