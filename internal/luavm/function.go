package luavm

import lua "github.com/yuin/gopher-lua"

// NewFunction makes a function of a chunk for State.Call. Its globals, and those of the functions that it
// defines, are the fields of env. The embedder decides what env holds, and whether its metatable looks
// further.
func (s *State) NewFunction(p *Proto, env *lua.LTable) *lua.LFunction {
	return &lua.LFunction{Proto: p.proto, Env: env}
}
