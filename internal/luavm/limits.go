package luavm

import (
	"errors"
	"math"
	"runtime"
	"runtime/metrics"

	"lockserver/internal/lua"
)

// errMemory is Lua's error when memory runs out.
var errMemory = errors.New("not enough memory")

// limits holds the limits for a script. The machine counts instructions and bytes.
type limits struct {
	hooks  uint  // calls so far
	killed error // ends the script with this error, which the script cannot catch
	base   int64 // live heap at the first look, minus what the script had made by then; -1 before
	// collectAt is the size of the heap at which the next collection is forced.
	collectAt int64
	made      int64 // bytes that the script has made before the last look at the heap
	sample    []metrics.Sample
	asked     uint64 // the number of collections when Options.Collect was last called for a running script
}

// hooksPerLook is the number of hook calls between two looks at the heap, because a look takes longer than
// the hook.
const hooksPerLook = 16

// checkEvery is the number of bytes that a script may make between two looks at the heap.
const checkEvery = 8 << 20

// collectBytes is the number of bytes after which a script asks for a collection.
const collectBytes = 16 << 20

// install connects the limits to the machine.
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

// expired calls the hook and checks the memory.
func (l *limits) expired(s *State, L *lua.LState) {
	g := s.vm.G
	g.Left = s.options.HookEvery
	if l.killed == nil && s.options.Hook != nil {
		g.CurrentThread = L
		l.killed = s.options.Hook()
	}
	if l.killed != nil {
		g.Left = 0 // code that catches the error meets it again at its next instruction
		fail(L, l.killed.Error())
	}
	l.hooks++
	if l.hooks%hooksPerLook == 0 && l.exhausted(s) {
		fail(L, errMemory.Error())
	}
}

// charged checks the memory after the script has made many bytes.
func (l *limits) charged(s *State, L *lua.LState) {
	g := s.vm.G
	if g.Charged > s.options.MaxMemoryBytes || l.exhausted(s) {
		g.Charged = 0
		fail(L, errMemory.Error())
	}
}

// heap returns the size of the objects on the heap, including dead objects that are not yet swept.
func (l *limits) heap() int64 {
	metrics.Read(l.sample)
	return int64(l.sample[0].Value.Uint64())
}

// exhausted reports whether the heap has grown by more than the script may hold. Only objects that survive a
// collection count. If the growth including dead objects exceeds the limit, a collection is forced. The next
// is not forced before the heap has grown by half of the limit.
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

// pace asks for a collection during a script, once the heap is twice as large as after the last collection.
// The pace of the whole process would let a server with little data take several times its memory.
func (l *limits) pace(s *State, heap int64) {
	live, collections := int64(l.sample[1].Value.Uint64()), l.sample[2].Value.Uint64()
	if heap-live >= max(collectBytes, live) && collections != l.asked {
		l.asked = collections
		s.options.Collect()
	}
}

// end asks for a collection of the garbage that a script has left, if that is half of the heap. Otherwise the
// garbage would stay while the next script makes as much again.
func (l *limits) end(s *State) {
	if made := l.made + s.vm.G.Charged; made >= collectBytes {
		if heap := l.heap(); min(made, heap-l.base) >= max(collectBytes, heap/2) {
			s.options.Collect()
		}
	}
}

// charge counts n bytes that the script is about to make. It raises an error if the limit is exceeded.
func (s *State) charge(L *lua.LState, n int) { L.Charge(n) }

// work counts n steps of a library function. A step takes about as long as an instruction.
func (s *State) work(L *lua.LState, n int) { L.Work(n) }

// Kill ends the script that called the running Go function. The script cannot catch that, and Run returns
// err.
func Kill(L *lua.LState, err error) {
	s := FromLua(L)
	s.limits.killed, s.vm.G.Left = err, 0
	fail(L, err.Error())
}
