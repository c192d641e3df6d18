package luavm

import "lockserver/internal/lua"

// nullMark is the value inside cjson.null.
type nullMark struct{}

// newNull makes a state's cjson.null: a value that scripts can only pass on.
func newNull() *lua.LUserData { return &lua.LUserData{Value: nullMark{}} }

func isNull(v *lua.LUserData) bool {
	_, is := v.Value.(nullMark)
	return is
}
