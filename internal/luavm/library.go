package luavm

import "lockserver/internal/lua"

// library holds the functions of a global table.
type library map[string]lua.LGFunction
