package luavm

import (
	"context"
	"errors"
	"runtime"
	"runtime/metrics"
	"time"

	lua "github.com/yuin/gopher-lua"
)

// threadContext is the context of a thread of the interpreter: a coroutine, a protected call, or the main
// one. The machine asks its Done before every instruction, which is how instructions are counted.
type threadContext struct {
	state     *State
	thread    *lua.LState
	coroutine *coroutine  // that this thread is, or is a protected call of; nil: the main one
	caller    *lua.LState // of a protected call: the thread that made it
}

// Deadline is part of context.Context; there is none.
func (*threadContext) Deadline() (time.Time, bool) { return time.Time{}, false }

// Value is part of context.Context; there are none.
func (*threadContext) Value(any) any { return nil }

// Done counts an instruction. It returns a closed channel if the script must stop.
func (c *threadContext) Done() <-chan struct{} {
	left := &c.state.limits.left
	*left--
	if *left > 0 {
		return nil
	}
	return c.state.limits.expired(c.state)
}

// Err is why Done returned a closed channel.
func (c *threadContext) Err() error { return c.state.limits.reason }

// errMemory is Lua's error when there is no memory.
var errMemory = errors.New("not enough memory")

// limits bound what one script may use.
type limits struct {
	left    int           // instructions until the hook is called; steps of long work count, too
	hooks   uint          // calls so far
	killed  error         // ends the script, uncatchable
	reason  error         // of the closed channel
	stop    chan struct{} // closed
	charged int64         // bytes of strings and tables made since the memory was last looked at
	base    int64         // live heap, less what the script had made by then, when it was first looked at; -1 before
	// collectAt is the size of the heap at which a collection is forced.
	collectAt int64
	sample    []metrics.Sample
}

// hooksPerLook is after how many calls of the hook the heap is looked at, which takes longer than the hook.
const hooksPerLook = 16

// checkEvery is how many bytes a script may make before the heap is looked at.
const checkEvery = 16 << 20

func (l *limits) begin(s *State) {
	if l.stop == nil {
		l.stop = make(chan struct{})
		close(l.stop)
		l.sample = []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	}
	l.left = s.options.HookEvery
	l.killed, l.reason = nil, nil
	l.charged, l.base = 0, -1
}

// expired asks the hook and looks at the memory.
func (l *limits) expired(s *State) <-chan struct{} {
	l.left = s.options.HookEvery
	if l.killed == nil && s.options.Hook != nil {
		l.killed = s.options.Hook()
	}
	if l.killed == nil {
		l.hooks++
		if l.hooks%hooksPerLook == 0 && l.exhausted(s) {
			l.reason = errMemory
			return l.stop
		}
		return nil
	}
	l.left = 0 // whatever catches it meets it again
	l.reason = l.killed
	return l.stop
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
		l.base = max(heap-l.charged, 0)
		l.collectAt = l.base + most
	}
	l.charged = 0
	if heap <= l.collectAt {
		return false
	}
	runtime.GC()
	heap = l.heap()
	l.collectAt = max(l.base+most, heap+most/2)
	return heap-l.base > most
}

// charge tells that the script is about to make n bytes. It raises an error if that is too much.
func (s *State) charge(L *lua.LState, n int) {
	l := &s.limits
	l.charged += int64(n)
	if l.charged < checkEvery {
		return
	}
	if int64(n) > s.options.MaxMemoryBytes || l.charged > s.options.MaxMemoryBytes || l.exhausted(s) {
		l.charged = 0
		fail(L, errMemory.Error())
	}
}

// work tells that a library function has done n steps, each about as long as an instruction.
func (s *State) work(L *lua.LState, n int) {
	l := &s.limits
	l.left -= n
	if l.left > 0 {
		return
	}
	if l.expired(s) != nil {
		fail(L, l.reason.Error())
	}
}

// Kill ends the script that called the Go function now running: nothing in it can
// catch that, and Run returns err.
func Kill(L *lua.LState, err error) {
	l := &FromLua(L).limits
	l.killed, l.reason, l.left = err, err, 0
	fail(L, err.Error())
}

var _ context.Context = (*threadContext)(nil)
