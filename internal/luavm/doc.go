// Package luavm runs Lua scripts as Redis 7.4 runs them: the machine of package lua with Redis' libraries,
// sandbox and limits.
//
// It owns the libraries base, string, table, math, coroutine, os.clock, cjson, cmsgpack, struct and bit. It
// also owns the protection of globals and library tables, and the limits on time (a hook), memory and depth.
// It must not know keys, commands, replies or clients. The embedder registers its own tables (Redis' `redis`)
// by Options.Libraries, and decides in Options.Hook when a script has run for too long.
//
// # Use
//
//	proto, err := luavm.Compile("user_script", source)      // once a script; safe for concurrent use
//	state := luavm.NewState(luavm.Options{...})             // some; each used by one goroutine at a time
//	state.SetArrays(keys, argv)                             // KEYS and ARGV
//	value, err := state.Run(proto)                          // err: *luavm.Error, or what the hook returned
//
// A function that a script handed out (Redis' FUNCTION) is called by State.Call. A Go function that a script
// calls gets its State from FromLua. It raises errors by L.RaiseError (text, with position), Raise (any
// value) or Kill (nothing can catch it).
//
// # Memory
//
// The machine and the libraries count the bytes that a script makes. After each 16 MB, and now and then by
// instructions, limits.go compares the heap with its size at the beginning. It forces a collection before a
// script gets "not enough memory".
//
// To add a library function, write it in its library's file, list it in that file's table, and add a line to
// the scripts under testdata. Their expected replies come from a real Redis.
package luavm
