package lua

// callKind is the result of precall.
type callKind int

const (
	calledLua   callKind = iota // it pushed the frame of a script's function
	calledGo                    // it ran a function in Go; the results are there
	calledYield                 // the function in Go has yielded
)

// minArguments is the space that a Go function finds on its stack.
const minArguments = 20

// precall begins the call of the function at an index of the stack. The arguments are above the function.
func (l *LState) precall(at, results int) callKind {
	if l.stack[at].n != tagFunction {
		l.makeCallable(at)
	}
	fn := l.stack[at].function()
	if fn.GFunction != nil {
		l.reserve(minArguments)
		l.pushFrame(fn, at, at+1, l.top+minArguments, results)
		n := fn.GFunction(l)
		if n < 0 {
			return calledYield
		}
		l.postcall(l.top - n)
		return calledGo
	}
	p := fn.Proto
	base := at + 1
	if p.vararg {
		base = l.adjustVararg(p, at)
	} else if last := base + int(p.numParams); l.top > last {
		l.top = last
	}
	top := base + int(p.maxStack)
	if top+frameSpace > len(l.stack) {
		l.grow(top - l.top)
	}
	clear(l.stack[l.top:top])
	if top > l.high {
		l.high = top
	}
	l.pushFrame(fn, at, base, top, results)
	l.top = top
	return calledLua
}

// makeCallable inserts the __call handler of a value that is not a function below the value.
func (l *LState) makeCallable(at int) {
	v := l.stack[at]
	handler := l.metafield(v, &l.G.names.call)
	if handler.n != tagFunction {
		operand := noOperand
		if f := l.frame; f.function.Proto != nil && at >= f.base {
			operand = at - f.base
		}
		l.typeError(v, operand, "call")
	}
	l.reserve(1)
	copy(l.stack[at+1:l.top+1], l.stack[at:l.top])
	l.top++
	l.stack[at] = handler
}

// adjustVararg moves the parameters of a function above all its arguments, and returns its base.
func (l *LState) adjustVararg(p *Proto, at int) int {
	parameters := int(p.numParams)
	l.reserve(2*parameters + 2)
	actual := l.top - at - 1
	for ; actual < parameters; actual++ {
		l.stack[l.top] = Value{}
		l.top++
	}
	var rest *LTable
	if p.needsArg {
		count := actual - parameters
		l.Charge(16*count + 128)
		rest = l.CreateTable(count, 1)
		copy(rest.array, l.stack[l.top-count:l.top])
		rest.set(String("n"), number(float64(count)))
	}
	fixed, base := l.top-actual, l.top
	for i := range parameters {
		l.stack[l.top] = l.stack[fixed+i]
		l.top++
		l.stack[fixed+i] = Value{}
	}
	if rest != nil {
		l.stack[l.top] = Table(rest)
		l.top++
	}
	return base
}

// postcall ends a call. Its results are on the stack from first on; they move to where the caller wants them.
func (l *LState) postcall(first int) {
	f := l.frame
	if l.top > l.high {
		l.high = l.top
	}
	to, wanted := f.at, f.results
	l.frame = f.outer
	l.frames--
	for ; wanted != 0 && first < l.top; wanted-- {
		l.stack[to] = l.stack[first]
		to++
		first++
	}
	for ; wanted > 0; wanted-- {
		l.stack[to] = Value{}
		to++
	}
	l.top = to
}
