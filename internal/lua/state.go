package lua

import (
	"errors"
	"fmt"
)

// Limits of the machine's stacks.
const (
	// maxFrames is Lua 5.1's LUAI_MAXCALLS: the limit of nested calls in a thread.
	maxFrames = 20_000
	// maxDepth is how deep Go code and Lua code may call each other, Lua 5.1's LUAI_MAXCCALLS.
	maxDepth = 200
	// frameSpace is the number of values above the base of every frame. So every register number of eight
	// bits is valid.
	frameSpace = 256
	// startSlots and maxSlots are sizes of a stack in values.
	startSlots = 2 * frameSpace
	maxSlots   = 1 << 20
	// keptFrames and keptSlots limit the part of a stack that a state keeps from one run to the next.
	keptFrames = 64
	keptSlots  = 8 * startSlots
)

// Global holds the parts that all threads of a state share.
type Global struct {
	// Owner belongs to the embedder: its Go functions find their data there.
	Owner any
	// Global is the table of the global variables.
	Global *LTable
	// MainThread is the first thread, and CurrentThread the running thread.
	MainThread, CurrentThread *LState
	// Strings is the metatable of strings, or nil.
	Strings *LTable
	// Left is decremented about once for each instruction. At zero or below the machine calls Interrupt,
	// which sets it again, and may raise an error. Long library functions decrement it, too.
	Left      int
	Interrupt func(l *LState)
	// Charged grows by the bytes that a script allocates. At ChargeLimit the machine calls Exhausted, which
	// sets it again, and may raise an error.
	Charged, ChargeLimit int64
	Exhausted            func(l *LState)
	// Depth is the depth of nested calls between Go code and Lua code.
	Depth int

	ids    uint32 // for the hashes of tables and functions
	next   *LFunction
	ipairs *LFunction
	names  metanames
}

// LGFunction is a Go function. Its arguments are l.Get(1) to l.Get(l.GetTop()). It pushes its results and
// returns their number.
type LGFunction func(l *LState) int

// LFunction is a function of a script, or a Go function.
type LFunction struct {
	Proto     *Proto     // of a script
	GFunction LGFunction // in Go
	Env       *LTable    // the global variables that a script's function sees
	upvalues  []*upvalue
	id        uint32
}

// IsGo reports whether the function is a Go function.
func (f *LFunction) IsGo() bool { return f.GFunction != nil }

// upvalue is a local variable that closures share. It is on the stack while its block runs.
type upvalue struct {
	v      *Value
	closed Value
	index  int      // on the stack
	next   *upvalue // the next open upvalue below it
}

// frame is an active call.
type frame struct {
	function  *LFunction
	at        int // index of the function on the stack; its results go there
	base      int // first register
	top       int // end of the registers
	pc        int // the next instruction
	results   int // number of wanted results, or multiple
	tailCalls int
	fresh     bool // Go code made the call
	outer     *frame
	inner     *frame // the frame object for the next call, which is reused
}

// LState is a thread: the main one or a coroutine.
type LState struct {
	G      *Global
	stack  []Value
	top    int
	frame  *frame
	bottom frame // of the thread itself
	frames int   // number of calls
	high   int   // the stack is clean from here on
	nested int   // calls from Go since the thread was resumed
	open   *upvalue
	status Status
	// Coroutine says that the thread is a coroutine, not the main thread.
	Coroutine bool
	id        uint32
}

// NewState makes a state with no libraries.
func NewState() *LState {
	g := &Global{Left: 1 << 30, ChargeLimit: 1 << 62}
	g.names = newMetanames()
	l := newThread(g, startSlots)
	g.MainThread, g.CurrentThread = l, l
	g.Global = l.NewTable()
	return l
}

func newThread(g *Global, slots int) *LState {
	l := &LState{G: g, stack: make([]Value, slots), id: g.newID()}
	l.bottom.function = &LFunction{GFunction: func(*LState) int { return 0 }}
	l.frame = &l.bottom
	l.bottom.base, l.top = 1, 1
	return l
}

func (g *Global) newID() uint32 {
	g.ids += 16
	return g.ids
}

// Restart begins a run: table numbers start again at 0, so that the order of keys is the same in every run.
func (g *Global) Restart() { g.ids = 0 }

// Clean clears the stack of the main thread. No call may be running.
func (l *LState) Clean() {
	l.markTop()
	l.closeUpvalues(0)
	l.frame, l.frames, l.nested = &l.bottom, 0, 0
	l.top = 1
	if len(l.stack) > keptSlots {
		l.stack = make([]Value, startSlots)
	} else {
		clear(l.stack[:min(l.high, len(l.stack))])
	}
	l.high = 0
	f := &l.bottom
	for range keptFrames {
		if f == nil {
			return
		}
		f.function = nil
		f = f.inner
	}
	if f != nil {
		f.inner = nil
	}
}

// grow makes space for count values above the top, and for a frame above them.
func (l *LState) grow(count int) {
	need := l.top + count + frameSpace
	if need > maxSlots {
		l.runError("stack overflow")
	}
	size := min(max(need, 2*len(l.stack)), maxSlots)
	l.Charge(16 * (size - len(l.stack)))
	stack := make([]Value, size)
	copy(stack, l.stack)
	l.stack = stack
	for u := l.open; u != nil; u = u.next {
		u.v = &stack[u.index]
	}
}

// reserve makes sure that count values can be pushed.
func (l *LState) reserve(count int) {
	if l.top+count+frameSpace > len(l.stack) {
		l.grow(count)
	}
}

// Charge counts bytes that the script is about to allocate.
func (l *LState) Charge(n int) {
	g := l.G
	g.Charged += int64(n)
	if g.Charged >= g.ChargeLimit {
		g.Exhausted(l)
	}
}

// findUpvalue is the upvalue of a slot of the stack.
func (l *LState) findUpvalue(index int) *upvalue {
	place := &l.open
	for *place != nil && (*place).index >= index {
		if (*place).index == index {
			return *place
		}
		place = &(*place).next
	}
	u := &upvalue{v: &l.stack[index], index: index, next: *place}
	*place = u
	return u
}

// closeUpvalues moves the variables from an index on out of the stack into their upvalues.
func (l *LState) closeUpvalues(index int) {
	for u := l.open; u != nil && u.index >= index; u = l.open {
		u.closed = *u.v
		u.v = &u.closed
		l.open = u.next
		u.next = nil
	}
}

// pushFrame begins a call.
func (l *LState) pushFrame(fn *LFunction, at, base, top, results int) *frame {
	f := l.frame.inner
	if f == nil {
		f = &frame{outer: l.frame}
		l.frame.inner = f
	}
	l.frames++
	if l.frames > maxFrames {
		l.frames--
		if l.frames < maxFrames+maxFrames/8 {
			l.runError("stack overflow")
		}
	}
	f.function, f.at, f.base, f.top, f.results = fn, at, base, top, results
	f.pc, f.tailCalls, f.fresh = 0, 0, false
	l.frame = f
	return f
}

// Call calls the function below count arguments on the stack. Its results replace them: as many as wanted, or
// all for MultRet.
func (l *LState) Call(count, results int) {
	at := l.top - count - 1
	l.callAt(at, results)
}

// MultRet asks for all results.
const MultRet = multiple

func (l *LState) callAt(at, results int) {
	g := l.G
	if g.Depth >= maxDepth-1 {
		l.runError("C stack overflow")
	}
	if g.Left -= callCost; g.Left <= 0 {
		g.Interrupt(l)
	}
	g.Depth++
	l.nested++
	switch l.precall(at, results) {
	case calledLua:
		l.frame.fresh = true
		l.execute()
	case calledYield:
		l.runError("attempt to yield across metamethod/C-call boundary")
	}
	l.nested--
	g.Depth--
}

// Raised is an error of a script that has not been caught yet.
type Raised struct {
	// Object is the value.
	Object LValue
	// Source and Line are the position of the Lua code that raised the error.
	Source string
	Line   int
}

func (r *Raised) Error() string { return r.Object.String() }

// ErrInternal is part of the error of a call that failed inside the machine. The state must not be used
// again.
var ErrInternal = errors.New("lua: internal failure")

// PCall does what Call does, and returns errors: a *Raised, or an error that is ErrInternal. On an error the
// function, its arguments and all values above are removed.
func (l *LState) PCall(count, results int) (err error) {
	g := l.G
	at := l.top - count - 1
	frame, frames, nested, depth := l.frame, l.frames, l.nested, g.Depth
	defer func() {
		cause := recover()
		if cause == nil {
			return
		}
		if raised, ok := cause.(*Raised); ok {
			err = raised
		} else {
			err = fmt.Errorf("%w: %v", ErrInternal, cause)
		}
		l.closeUpvalues(at)
		l.markTop()
		l.frame, l.frames, l.nested, g.Depth = frame, frames, nested, depth
		g.CurrentThread = l
		l.top = at
	}()
	l.callAt(at, results)
	return nil
}

// markTop records how far the stack has been used.
func (l *LState) markTop() {
	if l.top > l.high {
		l.high = l.top
	}
}

// Error raises a value as an error.
func (l *LState) Error(value LValue) {
	source, line := l.Where()
	panic(&Raised{Object: value, Source: source, Line: line})
}

// runError raises a message, with the position of the running Lua function, if there is one.
func (l *LState) runError(message string) {
	l.Error(LString(l.positionOf(l.frame) + message))
}
