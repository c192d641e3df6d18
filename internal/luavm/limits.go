package luavm

import (
	"errors"
	"math"
	"runtime"
	"runtime/metrics"

	"lockserver/internal/lua"
)

// errMemory is Lua's error when there is no memory.
var errMemory = errors.New("not enough memory")

// limits bound what one script may use. The machine counts instructions and bytes.
type limits struct {
	hooks  uint  // calls so far
	killed error // ends the script, uncatchable
	base   int64 // live heap, less what the script had made by then, when it was first looked at; -1 before
	// collectAt is the size of the heap at which a collection is forced.
	collectAt int64
	made      int64 // bytes that the script has made, as far as the heap has been looked at since
	sample    []metrics.Sample
	asked     uint64 // the number of collections when Options.Collect was last called while a script ran
}

// hooksPerLook is after how many calls of the hook the heap is looked at, which takes longer than the hook.
const hooksPerLook = 16

// checkEvery is how many bytes a script may make before the heap is looked at.
const checkEvery = 8 << 20

// collectBytes is how much a script makes before it asks for a collection.
const collectBytes = 16 << 20

// install makes the machine ask the limits.
func (l *limits) install(s *State) {
	l.sample = []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/gc/heap/live:bytes"}, {Name: "/gc/cycles/total:gc-cycles"}}
	s.vm.G.Interrupt = func(L *lua.LState) { s.limits.expired(s, L) }
	s.vm.G.Exhausted = func(L *lua.LState) { s.limits.charged(s, L) }
}

func (l *limits) begin(s *State) {
	g := s.vm.G
	g.Left, g.Charged, g.ChargeLimit, g.Depth = s.options.HookEvery, 0, checkEvery, 0
	g.CurrentThread = s.vm
	g.Restart()
	l.killed = nil
	l.base, l.made, l.asked = -1, 0, math.MaxUint64
}

// expired asks the hook and looks at the memory.
func (l *limits) expired(s *State, L *lua.LState) {
	g := s.vm.G
	g.Left = s.options.HookEvery
	if l.killed == nil && s.options.Hook != nil {
		g.CurrentThread = L
		l.killed = s.options.Hook()
	}
	if l.killed != nil {
		g.Left = 0 // whatever catches it meets it again
		fail(L, l.killed.Error())
	}
	l.hooks++
	if l.hooks%hooksPerLook == 0 && l.exhausted(s) {
		fail(L, errMemory.Error())
	}
}

// charged looks at the memory after the script has made much.
func (l *limits) charged(s *State, L *lua.LState) {
	g := s.vm.G
	if g.Charged > s.options.MaxMemoryBytes || l.exhausted(s) {
		g.Charged = 0
		fail(L, errMemory.Error())
	}
}

// heap is the size of the objects on the heap, dead ones not yet swept included.
func (l *limits) heap() int64 {
	metrics.Read(l.sample)
	return int64(l.sample[0].Value.Uint64())
}

// exhausted tells whether the heap has grown by more than the script may hold. Only what a collection
// leaves counts. One is forced when the growth with what is dead exceeds the limit, and again not
// before the heap has grown by half of it.
func (l *limits) exhausted(s *State) bool {
	heap, most := l.heap(), s.options.MaxMemoryBytes
	if l.base < 0 {
		l.base = max(heap-s.vm.G.Charged, 0)
		l.collectAt = l.base + most
	}
	l.made += s.vm.G.Charged
	s.vm.G.Charged = 0
	if heap <= l.collectAt {
		l.pace(s, heap)
		return false
	}
	runtime.GC()
	heap = l.heap()
	l.collectAt = max(l.base+most, heap+most/2)
	return heap-l.base > most
}

// pace asks for a collection while a script runs, once the heap is twice what lived after the last one. The
// pace of the whole process would let a server with little data take several times its memory.
func (l *limits) pace(s *State, heap int64) {
	live, collections := int64(l.sample[1].Value.Uint64()), l.sample[2].Value.Uint64()
	if heap-live >= max(collectBytes, live) && collections != l.asked {
		l.asked = collections
		s.options.Collect()
	}
}

// end asks for a collection of what a script has left behind, if that is much: half of the heap. Otherwise it
// would wait there while the next script makes as much again.
func (l *limits) end(s *State) {
	if made := l.made + s.vm.G.Charged; made >= collectBytes {
		if heap := l.heap(); min(made, heap-l.base) >= max(collectBytes, heap/2) {
			s.options.Collect()
		}
	}
}

// charge tells that the script is about to make n bytes. It raises an error if that is too much.
func (s *State) charge(L *lua.LState, n int) { L.Charge(n) }

// work tells that a library function has done n steps, each about as long as an instruction.
func (s *State) work(L *lua.LState, n int) { L.Work(n) }

// Kill ends the script that called the Go function now running: nothing in it can
// catch that, and Run returns err.
func Kill(L *lua.LState, err error) {
	s := FromLua(L)
	s.limits.killed, s.vm.G.Left = err, 0
	fail(L, err.Error())
}
