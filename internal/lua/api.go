package lua

import "fmt"

// The functions with which Go code reads arguments and pushes results. Indices count from 1, negative indices
// from the top down, as in Lua's C API.

// NewTable makes a table.
func (l *LState) NewTable() *LTable { return l.CreateTable(0, 0) }

// CreateTable makes a table with space for a number of items and of fields.
func (l *LState) CreateTable(items, fields int) *LTable {
	t := newTable(items, fields)
	t.id = l.G.newID()
	return t
}

// NewFunction wraps a Go function as a Lua function.
func (l *LState) NewFunction(fn LGFunction) *LFunction {
	return &LFunction{GFunction: fn, id: l.G.newID()}
}

// NewClosure makes a function of a compiled chunk. Its global variables are the fields of env.
func (l *LState) NewClosure(p *Proto, env *LTable) *LFunction {
	return &LFunction{Proto: p, Env: env, id: l.G.newID()}
}

// SetClosure makes fn the function that NewClosure would return. Nothing may refer to fn yet.
func (l *LState) SetClosure(fn *LFunction, p *Proto, env *LTable) {
	*fn = LFunction{Proto: p, Env: env, id: l.G.newID()}
}

// SetIterators tells the machine the function next and the step function of ipairs. Loops then run them
// without a call.
func (g *Global) SetIterators(next, ipairs *LFunction) { g.next, g.ipairs = next, ipairs }

// SetGlobal sets a global variable.
func (l *LState) SetGlobal(name string, value LValue) { l.G.Global.RawSetString(name, value) }

// GetTop returns the number of arguments, plus the values pushed since.
func (l *LState) GetTop() int { return l.top - l.frame.base }

// SetTop cuts the stack, or fills it with nil.
func (l *LState) SetTop(n int) {
	top := l.frame.base + n
	if top > l.top {
		l.reserve(top - l.top)
		clear(l.stack[l.top:top])
	} else {
		l.markTop()
	}
	l.top = top
}

// index converts an index to an index of the stack; -1 if the value does not exist.
func (l *LState) index(i int) int {
	if i > 0 {
		i += l.frame.base - 1
	} else {
		i += l.top
	}
	if i < l.frame.base || i >= l.top {
		return -1
	}
	return i
}

// At returns a value on the stack; nil if it does not exist.
func (l *LState) At(i int) Value {
	if at := l.frame.base + i - 1; i > 0 {
		if at < l.top {
			return l.stack[at]
		}
		return Value{}
	}
	if at := l.index(i); at >= 0 {
		return l.stack[at]
	}
	return Value{}
}

// Get returns the value of At as an LValue.
func (l *LState) Get(i int) LValue { return l.At(i).Boxed() }

// PushValue pushes a value.
func (l *LState) PushValue(v Value) {
	if l.top+frameSpace >= len(l.stack) {
		l.grow(1)
	}
	l.stack[l.top] = v
	l.top++
}

// Push pushes a value.
func (l *LState) Push(v LValue) { l.PushValue(Of(v)) }

// PushNumber pushes a number.
func (l *LState) PushNumber(f float64) { l.PushValue(Number(f)) }

// PushString pushes a string.
func (l *LState) PushString(s string) { l.PushValue(String(s)) }

// PushBool pushes a boolean.
func (l *LState) PushBool(b bool) { l.PushValue(Bool(b)) }

// Pop removes n values.
func (l *LState) Pop(n int) {
	l.markTop()
	l.top -= n
}

// Insert puts a value below the value at an index.
func (l *LState) Insert(v LValue, i int) {
	at := l.frame.base + i - 1
	l.PushValue(Value{})
	copy(l.stack[at+1:l.top], l.stack[at:l.top-1])
	l.stack[at] = Of(v)
}

// Metafield is a field of a value's metatable.
func (l *LState) Metafield(v Value, event string) Value {
	if meta := l.metatable(v); meta != nil {
		return meta.getStr(event)
	}
	return Value{}
}

// CallValue calls a function and returns its first result.
func (l *LState) CallValue(fn Value, args ...Value) Value {
	l.reserve(len(args) + 1)
	at := l.top
	l.stack[at] = fn
	copy(l.stack[at+1:], args)
	l.top += len(args) + 1
	l.callAt(at, 1)
	l.Pop(1)
	return l.stack[l.top]
}

// RaiseError raises a message with the position of the code that called the running function.
func (l *LState) RaiseError(format string, args ...any) {
	l.Error(LString(l.CallerPosition(1) + fmt.Sprintf(format, args...)))
}

// PushInt pushes an integer.
func (l *LState) PushInt(n int) { l.PushValue(Number(float64(n))) }

// Index is object[key] with metamethods.
func (l *LState) Index(object, key Value) Value { return l.indexValue(object, key, noOperand) }
