// Package lua is a machine for Lua 5.1: values, tables, the compiler, and the execution of compiled
// functions.
//
// It owns the language and the texts of its errors. It must not know any library except the iterators that
// loops run without a call (Global.SetIterators). It knows no limits: it counts instructions and bytes, and
// calls Global.Interrupt and Global.Exhausted. Package luavm sets both. Nothing in it may know Redis, with
// one exception: a table can be read-only, which Redis has added to Lua.
//
// # How it works
//
// The parser (parser.go, statement.go, expression.go) generates code in one pass with code.go, with the
// instructions of Lua 5.1 (opcode.go). So the limits of a function, the messages of the compiler and the
// variables that errors name (debug.go) are those of the original. Tables (table.go) have the original's
// array and hash, hence its order of keys and its lengths of arrays with holes. execute.go runs the
// instructions. operations.go has the rare parts of instructions: conversions, metamethods, errors.
//
// A Value takes two words and no allocation. Go functions (LGFunction) read arguments from an LState and push
// results. Most use Values. LValue is an interface for code that runs rarely: a number or a string in it is
// an allocation.
//
// Errors are panics with a *Raised, which PCall and Resume recover. A coroutine is a thread with its own
// stack in the goroutine of its caller: Yield returns from execute.
//
// To add an operation, add it to opcode.go, execute.go and lastSetter in debug.go.
package lua
