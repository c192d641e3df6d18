package luavm

import "lockserver/internal/lua"

// coroutineLibrary is the table coroutine.
func coroutineLibrary() library {
	return library{
		"create":  coroutineCreate,
		"resume":  coroutineResume,
		"running": coroutineRunning,
		"status":  coroutineStatus,
		"wrap":    coroutineWrap,
		"yield":   func(L *lua.LState) int { return L.Yield() },
	}
}

// newCoroutine makes a thread for the function that is L's first argument.
func newCoroutine(L *lua.LState) *lua.LState {
	fn, ok := L.Get(1).(*lua.LFunction)
	if !ok || fn.IsGo() {
		argumentError(L, 1, "Lua function expected")
	}
	return L.NewThread(fn)
}

func coroutineCreate(L *lua.LState) int {
	L.Push(newCoroutine(L))
	return 1
}

// resume continues a coroutine with the last count values of L. It leaves on L the values that the coroutine
// yields, returns or raises.
func resume(L, thread *lua.LState, count int) (ok bool, results int) {
	ok, results, err := L.Resume(thread, count)
	s := FromLua(L)
	switch {
	case err != nil:
		L.Push(s.caught(L, err))
		return false, 1
	case s.limits.killed != nil:
		L.Error(lua.LString(s.limits.killed.Error()))
	}
	return ok, results
}

func coroutineResume(L *lua.LState) int {
	thread, ok := L.Get(1).(*lua.LState)
	if !ok {
		argumentError(L, 1, "coroutine expected")
	}
	done, results := resume(L, thread, L.GetTop()-1)
	L.Insert(lua.LBool(done), L.GetTop()-results+1)
	return results + 1
}

func coroutineWrap(L *lua.LState) int {
	thread := newCoroutine(L)
	L.Push(L.NewFunction(func(L *lua.LState) int {
		done, results := resume(L, thread, L.GetTop())
		if done {
			return results
		}
		raised := L.Get(-1)
		if isText(raised) {
			raised = lua.LString(L.CallerPosition(1) + toText(raised))
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
	status := thread.Status()
	if thread == L {
		status = lua.Running
	}
	L.PushString(status.String())
	return 1
}

func coroutineRunning(L *lua.LState) int {
	if L.Coroutine {
		L.Push(L)
	} else {
		L.PushValue(lua.Value{})
	}
	return 1
}
