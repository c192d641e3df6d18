package luavm

import "lockserver/internal/lua"

type (
	// Proto is a compiled chunk. It is immutable: any number of states may run it at the same time.
	Proto = lua.Proto
	// CompileError is the reason why a source is not a valid chunk.
	CompileError = lua.CompileError
)

// Compile parses source by Lua 5.1's grammar and compiles it. chunkName is the name in messages:
// "user_script". The error is a *CompileError with Lua's text.
func Compile(chunkName string, source []byte) (*Proto, error) {
	return lua.Compile(chunkName, chunkName, string(source))
}
