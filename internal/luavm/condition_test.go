package luavm

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"lockserver/internal/lua"
)

// TestConstantConditions: a loop with a body that begins with a constant condition ends, and behaves
// correctly.
func TestConstantConditions(t *testing.T) {
	left := 0 // calls of the hook until a script counts as endless
	state := NewState(Options{HookEvery: 1000, Hook: func() error {
		if left--; left < 0 {
			return errors.New("it does not end")
		}
		return nil
	}})
	defer state.Close()
	for _, condition := range []string{"false", "nil", "not true", "not 1", "not 'x'", "false and x", "nil or false", "(false)", "not not false", "x and false", "not (true or x)", "1 == 2"} {
		for _, loop := range []string{
			"for i, v in ipairs({1, 2, 3}) do BODY end", "for i = 1, 3 do BODY end", "local i = 0 while i < 3 do BODY i = i + 1 end",
			"local i = 0 while true do BODY i = i + 1 if i == 3 then break end end", "local i = 0 repeat BODY i = i + 1 until i == 3",
		} {
			for _, body := range []string{
				"if COND then n = 100 end n = n + 1", "while COND do n = 100 end n = n + 1", "if COND then local y = 1 n = 100 else n = n + 1 end local z = n < 2",
				"if COND then n = 100 elseif COND then n = 200 else n = n + 1 end", "repeat n = n + 1 until not (COND)", "local y = (COND) and 1 or 2 n = n + (y - 1)", "local y = false or 1 n = n + y", "local y = nil and 1 local z = (true and 3) or 4 n = n + z - 2",
				"n = ((COND) or true) and n + 1", "if ((false or true) and (true and true)) ~= nil then n = n + 1 end",
				"if not (COND) then n = n + 1 end",
			} {
				source := "local n, x = 0 " + loop + " return n"
				for _, r := range [][2]string{{"BODY", body}, {"COND", condition}} {
					source = strings.ReplaceAll(source, r[0], r[1])
				}
				left = 1
				proto, err := Compile("user_script", []byte(source))
				require.NoError(t, err, source)
				value, err := state.Run(proto)
				require.NoError(t, err, source)
				require.Equal(t, lua.LNumber(3), value.Boxed(), source)
			}
		}
	}
}
