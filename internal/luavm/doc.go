// Package luavm runs Lua scripts as Redis 7.4 runs them: gopher-lua's virtual machine behind a Lua 5.1 parser
// of our own, with Redis' libraries, sandbox and limits.
//
// It owns the language: parser, operators, number formats, and error texts with variable names. It owns the
// libraries base, string, table, math, coroutine, os.clock, cjson, cmsgpack, struct and bit. It also owns the
// protection of globals and library tables, and the limits on time (a hook), memory and depth. It must not
// know keys, commands, replies or clients. The embedder registers its own tables (Redis' `redis`) by
// Options.Libraries, and decides in Options.Hook when a script has run for too long.
//
// # Use
//
//	proto, err := luavm.Compile("user_script", source)      // once a script; safe for concurrent use
//	state := luavm.NewState(luavm.Options{...})             // some; each used by one goroutine at a time
//	state.SetArrays(keys, argv)                             // KEYS and ARGV
//	value, err := state.Run(proto)                          // err: *luavm.Error, or what the hook returned
//
// A function that a script handed out (Redis' FUNCTION) is called by State.Call. A Go function that a script
// calls gets its State from FromLua, and the embedder's value from State.Attached. It raises errors by
// L.RaiseError (text, with position), Raise (any value) or Kill (nothing can catch it).
//
// # How Lua 5.1 is reached on another machine
//
// The parser (parser.go) builds gopher-lua's syntax tree with Lua's own messages and limits. Where an
// instruction would act differently (concatenation, %, assignment to globals) it puts calls of the helpers of
// operators.go. Compile then turns the names of these helpers into constants, so that no script can name or
// replace them. Operations outside the machine's fast paths end in metatables of the basic types (types.go),
// which convert strings and give errors Lua's texts. variable.go reads the failed instruction to name the
// variable at fault. Other texts of the machine are translated where an error is raised or caught
// (errors.go). A protected call runs in a thread of its own (call.go), as an error detaches the variables
// that closures share with any frame of the thread. Instructions are counted by the context of the thread
// (limits.go), which the machine asks before each.
//
// To add a library function, write it in its library's file, list it in that file's table, and add a line to
// the scripts under testdata. Their expected replies come from a real Redis.
package luavm
