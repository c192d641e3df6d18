package luavm

import "lockserver/internal/lua"

// NewState makes an interpreter. It costs some hundred microseconds, so embedders keep states.
func NewState(o Options) *State {
	if o.HookEvery <= 0 {
		o.HookEvery = DefaultHookEvery
	}
	if o.MaxMemoryBytes <= 0 {
		o.MaxMemoryBytes = DefaultMaxMemoryBytes
	}
	if o.Collect == nil {
		o.Collect = func() {}
	}
	s := &State{options: o}
	s.collector.pause, s.collector.stepMul = 200, 200 // LUAI_GCPAUSE, LUAI_GCMUL
	s.vm = lua.NewState()
	s.vm.G.Owner = s
	s.main = new(lua.LFunction)
	s.globals = s.vm.G.Global
	s.limits.install(s)
	s.openLibraries()
	if o.Libraries != nil {
		o.Libraries(s.vm)
	}
	s.lock()
	s.random = unseeded
	return s
}
