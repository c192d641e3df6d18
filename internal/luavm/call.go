package luavm

import (
	"errors"

	"lockserver/internal/lua"
)

// protectedCall calls the function below the last count values of L. The results replace them. An error is
// returned, not raised.
func (s *State) protectedCall(L *lua.LState, count int) (raised lua.LValue) {
	err := L.PCall(count, lua.MultRet)
	if err == nil {
		return nil
	}
	return s.caught(L, err)
}

// caught returns the error value of a protected call or a resumed coroutine. An error that ends the whole
// script is raised again.
func (s *State) caught(L *lua.LState, err error) lua.LValue {
	if s.limits.killed != nil {
		L.Error(lua.LString(s.limits.killed.Error()))
	}
	var raised *lua.Raised
	if !errors.As(err, &raised) {
		s.broken = true
		return lua.LString(err.Error())
	}
	return raised.Object
}

// callOne calls a value and returns its first result.
func (s *State) callOne(L *lua.LState, fn lua.LValue, args ...lua.LValue) lua.LValue {
	values := make([]lua.Value, len(args))
	for i, arg := range args {
		values[i] = lua.Of(arg)
	}
	return L.CallValue(lua.Of(fn), values...).Boxed()
}
