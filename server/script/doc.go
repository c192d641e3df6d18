// Package script runs Lua scripts and functions: EVAL, EVALSHA, FCALL, and the commands SCRIPT and FUNCTION.
//
// It owns the compiled scripts, the loaded libraries, the two Lua states in which they run, and the table
// redis that they see. It also owns the handling of scripts that run for too long. Package internal/luavm has
// the language itself.
//
// A script is a part of the unit of its command: all of it sees the same time, and its changes are recorded
// together. Only one script runs at a time. One Lua state is for scripts: a script cannot leave anything
// behind in it for the next script. The other is for functions: libraries live in it, with their state.
//
// The package must not know the executor of commands, sessions, connections, or files. It uses the server
// through the interface [Caller], which runs the commands that a script calls, and gives others a turn while
// a script is busy. Everything here is called under the lock that the host executes under, except
// [Engine.Stop].
//
// To add a function to the table redis, write it in api.go and name it in callingAPI. To add a command, write
// its row and its handler, a method of Engine, in a file that ends in _cmd.go.
package script
