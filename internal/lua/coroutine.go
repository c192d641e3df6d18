package lua

import "fmt"

// Status is the status of a coroutine.
type Status int

// The results of coroutine.status.
const (
	Suspended Status = iota
	Running
	Normal
	Dead
)

func (s Status) String() string { return [...]string{"suspended", "running", "normal", "dead"}[s] }

// coroutineSlots is the first size of a coroutine's stack.
const coroutineSlots = frameSpace + 64

// coroutineBytes is about the memory of a coroutine.
const coroutineBytes = 16*coroutineSlots + 512

// NewThread makes a coroutine that runs a function of a script.
func (l *LState) NewThread(fn *LFunction) *LState {
	l.Charge(coroutineBytes)
	co := newThread(l.G, coroutineSlots)
	co.Coroutine = true
	co.PushValue(Function(fn))
	return co
}

// Status is a coroutine's status.
func (l *LState) Status() Status { return l.status }

// Resume continues a coroutine with the last count values on the stack of l. The values that it yields or
// returns, or the error, replace them. failure is an internal error.
func (l *LState) Resume(co *LState, count int) (ok bool, results int, failure error) {
	g := l.G
	if co.status != Suspended {
		l.Pop(count)
		l.PushString("cannot resume " + co.status.String() + " coroutine")
		return false, 1, nil
	}
	if g.Depth >= maxDepth {
		l.Pop(count)
		l.PushString("C stack overflow")
		return false, 1, nil
	}
	co.reserve(count)
	copy(co.stack[co.top:], l.stack[l.top-count:l.top])
	co.top += count
	l.Pop(count)
	if l.Coroutine {
		l.status = Normal
	}
	co.status = Running
	depth := g.Depth
	g.Depth++
	g.CurrentThread = co
	raised, err := co.run(count)
	g.CurrentThread = l
	g.Depth = depth
	if l.Coroutine {
		l.status = Running
	}
	if err != nil {
		co.status = Dead
		return false, 0, err
	}
	if raised != nil {
		co.status = Dead
		l.Push(raised.Object)
		return false, 1, nil
	}
	first := co.frame.base
	if co.status == Running { // it has returned
		co.status = Dead
		first = 1
	}
	results = co.top - first
	l.reserve(results)
	copy(l.stack[l.top:], co.stack[first:co.top])
	l.top += results
	co.markTop()
	co.top = first
	return true, results, nil
}

// run starts or continues the thread with count values on its stack.
func (l *LState) run(count int) (raised *Raised, err error) {
	defer func() {
		switch cause := recover().(type) {
		case nil:
			return
		case *Raised:
			raised = cause
		default:
			err = fmt.Errorf("%w: %v", ErrInternal, cause)
		}
		l.closeUpvalues(0)
	}()
	l.nested = 0
	if l.frame == &l.bottom {
		if l.precall(l.top-count-1, multiple) != calledLua {
			return nil, nil
		}
		l.frame.fresh = true
		l.execute()
		return nil, nil
	}
	// The results of yield replace the call of the Go function that yielded.
	results := l.frame.results
	l.postcall(l.top - count)
	if results != multiple {
		l.top = l.frame.top
	}
	l.execute()
	return nil, nil
}

// Yield suspends the running coroutine: a function in Go returns what it returns.
func (l *LState) Yield() int {
	if !l.Coroutine || l.nested > 0 {
		l.runError("attempt to yield across metamethod/C-call boundary")
	}
	l.status = Suspended
	return yielded
}

// yielded is the result of a Go function that yields all its arguments.
const yielded = -1
