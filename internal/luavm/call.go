package luavm

import (
	"errors"

	lua "github.com/yuin/gopher-lua"
)

// maxDepth is how deep Go code and Lua code may call each other in turn, Lua 5.1's
// LUAI_MAXCCALLS less the call of the script.
const maxDepth = 199

// descend counts a call from Go into Lua. ascend undoes it; an error that skips it is
// made up for where it is caught.
func (s *State) descend(L *lua.LState) {
	if s.depth >= maxDepth {
		failWithin(L, "C stack overflow")
	}
	s.depth++
}

func (s *State) ascend() { s.depth-- }

// callOne calls a value and returns its first result.
func (s *State) callOne(L *lua.LState, fn lua.LValue, args ...lua.LValue) lua.LValue {
	s.descend(L)
	L.Push(fn)
	for _, arg := range args {
		L.Push(arg)
	}
	L.Call(len(args), 1)
	s.ascend()
	result := L.Get(-1)
	L.Pop(1)
	return result
}

// protectedCall calls a function with the arguments of L from first on, and pushes its results onto L. An
// error is returned instead of raised. The call has a thread of its own. When an error is raised, the
// interpreter detaches variables that functions share with all frames of the thread, not only with the frames
// that the error ends.
func (s *State) protectedCall(L *lua.LState, fn lua.LValue, first int) (results int, raised lua.LValue) {
	s.descend(L)
	defer s.restore(s.depth-1, s.running, s.vm.G.CurrentThread)
	thread := s.protectedThread(L)
	thread.Push(s.try)
	thread.Push(fn)
	top := L.GetTop()
	for i := first; i <= top; i++ {
		thread.Push(L.Get(i))
	}
	count := max(top-first+1, 0)
	err := thread.PCall(count+1, lua.MultRet, nil)
	if err != nil {
		thread.SetTop(0)
		return 0, s.caught(L, err)
	}
	results = thread.GetTop()
	for i := 1; i <= results; i++ {
		L.Push(thread.Get(i))
	}
	thread.SetTop(0)
	return results, nil
}

// restore puts back what nested calls that an error ended did not.
func (s *State) restore(depth, running int, current *lua.LState) {
	s.depth = depth
	s.running = running
	s.vm.G.CurrentThread = current
}

// protectedThread is a thread for a protected call that L makes.
func (s *State) protectedThread(L *lua.LState) *lua.LState {
	outer := L.Context().(*threadContext)
	if s.running == len(s.protected) {
		s.protected = append(s.protected, s.newThread())
	}
	thread := s.protected[s.running]
	s.running++
	inner := thread.Context().(*threadContext)
	inner.coroutine, inner.caller = outer.coroutine, L
	return thread
}

// keptThreads is how many threads of protected calls a state keeps between scripts.
const keptThreads = 4

// framesWithin is the stack of a protected call that is not among the outermost.
const framesWithin = 4000

// newThread is a thread with a context of its own.
func (s *State) newThread() *lua.LState {
	options := s.vm.Options
	options.CallStackSize = maxFrames
	if len(s.protected) >= keptThreads {
		options.CallStackSize = framesWithin
	}
	own := s.vm.Options
	s.vm.Options = options
	thread, release := s.vm.NewThread()
	s.vm.Options = own
	release()
	thread.SetContext(&threadContext{state: s, thread: thread})
	return thread
}

// caught is the value of an error that a protected call ends. The end of the script
// is no such error: it goes on.
func (s *State) caught(L *lua.LState, err error) lua.LValue {
	if s.limits.killed != nil {
		L.Error(lua.LString(s.limits.killed.Error()), 0)
	}
	var raised *lua.ApiError
	if !errors.As(err, &raised) {
		s.broken = true
		return lua.LString(err.Error())
	}
	if raised.Type == lua.ApiErrorPanic {
		s.broken = true
	}
	return translate(raised.Object)
}
