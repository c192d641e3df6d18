package luavm

import (
	"runtime"
	"strings"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/ast"
)

// status is a coroutine's.
type status int

const (
	suspended status = iota
	running
	normal
	dead
)

func (s status) String() string { return [...]string{"suspended", "running", "normal", "dead"}[s] }

// coroutine is what we know of a coroutine's thread.
type coroutine struct {
	thread *lua.LState
	status status
	// native resumes it.
	native lua.LGFunction
}

// coroutineLibrary is the table coroutine.
func coroutineLibrary() library {
	return library{
		"create":  coroutineCreate,
		"resume":  coroutineResume,
		"running": coroutineRunning,
		"status":  coroutineStatus,
		"wrap":    coroutineWrap,
	}
}

// Sizes of a coroutine's stacks. Its frames come in small pieces, so that a coroutine is cheap.
const (
	coroutineFrames   = 4000
	coroutineRegistry = 128
	coroutineBytes    = 12 << 10
)

// newCoroutine makes a thread for the function that is L's first argument.
func newCoroutine(L *lua.LState) *lua.LState {
	if fn, ok := L.Get(1).(*lua.LFunction); !ok || fn.IsG {
		argumentError(L, 1, "Lua function expected")
	}
	s := FromLua(L)
	s.charge(L, coroutineBytes)
	own := L.Options
	L.Options.CallStackSize = coroutineFrames
	L.Options.RegistrySize = coroutineRegistry
	L.Options.MinimizeStackMemory = true
	s.native["create"](L)
	L.Options = own
	thread := L.Get(-1).(*lua.LState)
	L.Pop(1)
	thread.SetContext(&threadContext{
		state: s, thread: thread, coroutine: &coroutine{thread: thread, native: s.native["resume"]},
	})
	return thread
}

func coroutineCreate(L *lua.LState) int {
	L.Push(newCoroutine(L))
	return 1
}

// of is the coroutine that a thread was made for.
func of(thread *lua.LState) *coroutine { return thread.Context().(*threadContext).coroutine }

// resume continues a coroutine with the arguments of L from the second on (the first is its thread), and
// leaves on L what it yields, returns or raises.
func resume(L *lua.LState, thread *lua.LState) (ok bool, results int) {
	co := of(thread)
	s := FromLua(L)
	if co.status != suspended {
		L.Push(lua.LString("cannot resume " + co.status.String() + " coroutine"))
		return false, 1
	}
	if s.depth >= maxDepth {
		L.Push(lua.LString("C stack overflow"))
		return false, 1
	}
	s.descend(L)
	caller := of(L)
	if caller != nil {
		caller.status = normal
	}
	co.status = running
	depth, protected := s.depth, s.running
	count := co.native(L)
	s.restore(depth-1, protected, L)
	if caller != nil {
		caller.status = running
	}
	co.status = suspended
	if thread.Dead {
		co.status = dead
	}
	first := L.GetTop() - count + 1
	ok = lua.LVAsBool(L.Get(first))
	L.Remove(first)
	if !ok {
		L.Replace(-1, translate(L.Get(-1)))
	}
	return ok, count - 1
}

func coroutineResume(L *lua.LState) int {
	thread, ok := L.Get(1).(*lua.LState)
	if !ok {
		argumentError(L, 1, "coroutine expected")
	}
	done, results := resume(L, thread)
	L.Insert(lua.LBool(done), L.GetTop()-results+1)
	return results + 1
}

func coroutineWrap(L *lua.LState) int {
	thread := newCoroutine(L)
	L.Push(L.NewFunction(func(L *lua.LState) int {
		L.Insert(thread, 1)
		done, results := resume(L, thread)
		if done {
			return results
		}
		raised := L.Get(-1)
		if isText(raised) {
			raised = lua.LString(callerPosition(L, 1) + toText(raised))
		}
		Raise(L, raised)
		return 0
	}))
	return 1
}

func coroutineStatus(L *lua.LState) int {
	thread, ok := L.Get(1).(*lua.LState)
	if !ok {
		argumentError(L, 1, "coroutine expected")
	}
	L.Push(lua.LString(of(thread).status.String()))
	return 1
}

func coroutineRunning(L *lua.LState) int {
	if co := of(L); co != nil {
		L.Push(co.thread)
	} else {
		L.Push(lua.LNil)
	}
	return 1
}

// yieldFunction makes coroutine.yield, a function in Lua that calls yield. The interpreter loses a frame if a
// Go function that yields is called by a tail call (return coroutine.yield()).
func yieldFunction() *lua.FunctionProto {
	arguments := placed(&ast.Comma3Expr{}, 1, 1)
	call := placed(&ast.FuncCallExpr{Func: helperExpr(helperYield, 1), Args: []ast.Expr{arguments}}, 1, 1)
	body := placed(&ast.ReturnStmt{Exprs: []ast.Expr{call}}, 1, 1)
	proto, err := lua.Compile([]ast.Stmt{body}, "=[C]")
	if err == nil {
		err = link("=[C]", proto)
	}
	if err != nil {
		panic(err) // there is nothing in it to fail
	}
	for pc, inst := range proto.Code {
		if opcode(inst) == lua.OP_TAILCALL {
			proto.Code[pc] = uint32(lua.OP_CALL)<<opShift | inst&^(0x3f<<opShift)
		}
	}
	return proto
}

func yield(L *lua.LState) int {
	co := of(L)
	if co == nil || co.thread != L || crossesGo() {
		failWithin(L, "attempt to yield across metamethod/C-call boundary")
	}
	return -1
}

// crossesGo tells whether the running coroutine was entered by more than its resumption: by a
// metamethod, an iterator or a function of a library. The interpreter does not notice, and goes
// on in a thread that has yielded.
func crossesGo() bool {
	var pcs [64]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])])
	loops := 0
	for {
		frame, more := frames.Next()
		switch {
		case strings.HasSuffix(frame.Function, "lua.mainLoopWithContext"):
			loops++
		case strings.HasSuffix(frame.Function, "lua.threadRun"):
			return loops > 1
		}
		if !more {
			return true
		}
	}
}
