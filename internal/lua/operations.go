package lua

import (
	"fmt"
	"strings"
	"unsafe"
)

// metaname is the name of a metamethod, ready for looking it up.
type metaname struct {
	name Value
	hash uint32
	bit  uint8 // its bit in LTable.absent; 0: it has none
}

// metanames are the events of metamethods.
type metanames struct {
	index, newIndex, eq, lt, le, call, concat, length metaname
	arithmetic                                        [opUnm - opAdd + 1]metaname
}

func newMetanames() metanames {
	name := func(text string, bit uint8) metaname {
		return metaname{name: String(text), hash: hashString(text), bit: bit}
	}
	return metanames{
		index: name("__index", 1), newIndex: name("__newindex", 2), eq: name("__eq", 4), lt: name("__lt", 0),
		le: name("__le", 0), call: name("__call", 8), concat: name("__concat", 0), length: name("__len", 0),
		arithmetic: [...]metaname{
			name("__add", 0), name("__sub", 0), name("__mul", 0), name("__div", 0), name("__mod", 0), name("__pow", 0),
			name("__unm", 0),
		},
	}
}

// metatable is the metatable of a value, or nil.
func (l *LState) metatable(v Value) *LTable {
	switch {
	case v.n == tagTable:
		return v.table().meta
	case v.isString():
		return l.G.Strings
	default:
		return nil
	}
}

// handler returns a metamethod from a metatable, which may be nil.
func (t *LTable) handler(event *metaname) Value {
	if t == nil || t.absent&event.bit != 0 {
		return Value{}
	}
	slot := t.stringSlot(event.name, event.hash)
	if slot == nil || slot.n == tagNil {
		t.absent |= event.bit
		return Value{}
	}
	return *slot
}

func (l *LState) metafield(v Value, event *metaname) Value { return l.metatable(v).handler(event) }

// maxHandlers limits the chain of __index or __newindex handlers in one access: Lua's MAXTAGLOOP.
const maxHandlers = 100

// indexValue is object[key]. operand is the register that holds the object, for messages.
func (l *LState) indexValue(object, key Value, operand int) Value {
	for range maxHandlers {
		var handler Value
		if object.n == tagTable {
			t := object.table()
			v := t.get(key)
			if v.n != tagNil {
				return v
			}
			handler = t.meta.handler(&l.G.names.index)
			if handler.n == tagNil {
				return Value{}
			}
		} else {
			handler = l.metafield(object, &l.G.names.index)
			if handler.n == tagNil {
				l.typeError(object, operand, "index")
			}
		}
		if handler.n == tagFunction {
			return l.CallValue(handler, object, key)
		}
		object, operand = handler, noOperand
	}
	l.runError("loop in gettable")
	return Value{}
}

// setValue sets object[key]. operand is the register that holds the object, for messages.
func (l *LState) setValue(object, key, value Value, operand int) {
	for range maxHandlers {
		var handler Value
		if object.n == tagTable {
			t := object.table()
			l.checkWrite(t, key)
			if t.meta != nil {
				handler = t.meta.handler(&l.G.names.newIndex)
				if handler.n != tagNil && t.get(key).n != tagNil {
					handler = Value{}
				}
			}
			if handler.n == tagNil {
				l.setChecked(t, key, value)
				return
			}
		} else {
			handler = l.metafield(object, &l.G.names.newIndex)
			if handler.n == tagNil {
				l.typeError(object, operand, "index")
			}
		}
		if handler.n == tagFunction {
			l.callHandler(handler, object, key, value)
			return
		}
		object, operand = handler, noOperand
	}
	l.runError("loop in settable")
}

// callHandler calls a metamethod for its effect.
func (l *LState) callHandler(handler Value, arguments ...Value) {
	l.reserve(len(arguments) + 1)
	at := l.top
	l.stack[at] = handler
	copy(l.stack[at+1:], arguments)
	l.top += len(arguments) + 1
	l.callAt(at, 0)
}

// checkWrite raises an error for a table or key that cannot be assigned to.
func (l *LState) checkWrite(t *LTable, key Value) {
	if t.ReadOnly {
		l.runError("Attempt to modify a readonly table")
	}
	if key.n == tagNil {
		l.runError("table index is nil")
	}
	if key.n >= firstNumber {
		if f := key.float(); f != f {
			l.runError("table index is NaN")
		}
	}
}

// RawSetChecked is rawset: t[key] = value without metamethods. It refuses writes that a script may not do.
func (l *LState) RawSetChecked(t *LTable, key, value Value) {
	l.checkWrite(t, key)
	l.setChecked(t, key, value)
}

// setChecked does what RawSetChecked does, for a checked key. It counts the memory that the table takes.
func (l *LState) setChecked(t *LTable, key, value Value) {
	before := t.bytes()
	t.set(key, value)
	if after := t.bytes(); after > before {
		l.Charge(after - before)
	}
}

// arithmetic computes an operation on numbers.
func arithmetic(op int, a, b float64) float64 {
	switch op {
	case opAdd:
		return a + b
	case opSub:
		return a - b
	case opMul:
		return a * b
	case opDiv:
		return a / b
	case opMod:
		return Modulo(a, b)
	case opPow:
		return Power(a, b)
	default:
		return -a
	}
}

// ToNumber returns the value of a number, or of a string that reads as a number.
func (v Value) ToNumber() (float64, bool) {
	if v.isNumber() {
		return v.float(), true
	}
	if v.isString() {
		return ParseNumber(v.str())
	}
	return 0, false
}

// arithmeticOn is an operation of an instruction on values that are not both numbers.
func (l *LState) arithmeticOn(op int, a, b Value, i instruction) Value {
	x, ok := a.ToNumber()
	if y, both := b.ToNumber(); ok && both {
		return number(arithmetic(op, x, y))
	}
	event := &l.G.names.arithmetic[op-opAdd]
	handler := l.metafield(a, event)
	if handler.n == tagNil {
		handler = l.metafield(b, event)
	}
	if handler.n != tagNil {
		return l.CallValue(handler, a, b)
	}
	if ok {
		l.typeError(b, argC(i), "perform arithmetic on")
	}
	l.typeError(a, argB(i), "perform arithmetic on")
	return Value{}
}

// lengthOf is the operator # for values other than tables and strings.
func (l *LState) lengthOf(v Value, operand int) Value {
	if handler := l.metafield(v, &l.G.names.length); handler.n != tagNil {
		return l.CallValue(handler, v, Value{})
	}
	l.typeError(v, operand, "get length of")
	return Value{}
}

// equal is equality with metamethods.
func (l *LState) equal(a, b Value) bool {
	if RawEqual(a, b) {
		return true
	}
	if a.n != tagTable || b.n != tagTable {
		return false
	}
	first, second := a.table().meta, b.table().meta
	handler := first.handler(&l.G.names.eq)
	if handler.n == tagNil {
		return false
	}
	if first != second && !RawEqual(handler, second.handler(&l.G.names.eq)) {
		return false
	}
	return l.CallValue(handler, a, b).isTrue()
}

// order asks a metamethod that both operands share.
func (l *LState) order(a, b Value, event *metaname) (result, ok bool) {
	handler := l.metafield(a, event)
	if handler.n == tagNil || !RawEqual(handler, l.metafield(b, event)) {
		return false, false
	}
	return l.CallValue(handler, a, b).isTrue(), true
}

// Less is the operator <. It raises an error for values that cannot be compared.
func (l *LState) Less(a, b Value) bool {
	switch {
	case a.isNumber() && b.isNumber():
		return a.float() < b.float()
	case a.isString() && b.isString():
		return strings.Compare(a.str(), b.str()) < 0
	}
	if a.Type() == b.Type() {
		if result, ok := l.order(a, b, &l.G.names.lt); ok {
			return result
		}
	}
	l.compareError(a, b)
	return false
}

// lessEqual is the operator <=.
func (l *LState) lessEqual(a, b Value) bool {
	switch {
	case a.isNumber() && b.isNumber():
		return a.float() <= b.float()
	case a.isString() && b.isString():
		return strings.Compare(a.str(), b.str()) <= 0
	}
	if a.Type() == b.Type() {
		if result, ok := l.order(a, b, &l.G.names.le); ok {
			return result
		}
		if result, ok := l.order(b, a, &l.G.names.lt); ok {
			return !result
		}
	}
	l.compareError(a, b)
	return false
}

// concat joins the values from one index of the stack to another, and leaves the result at the first.
func (l *LState) concat(first, last int) {
	for last > first {
		left, right := l.stack[last-1], l.stack[last]
		if !isText(left) || !isText(right) {
			l.concatByHandler(left, right, last)
			last--
			continue
		}
		begin, size := last-1, textLength(left)+textLength(right)
		for begin > first && isText(l.stack[begin-1]) {
			begin--
			size += textLength(l.stack[begin])
		}
		l.stack[begin] = l.join(l.stack[begin:last+1], size)
		last = begin
	}
}

func (l *LState) concatByHandler(left, right Value, at int) {
	handler := l.metafield(left, &l.G.names.concat)
	if handler.n == tagNil {
		handler = l.metafield(right, &l.G.names.concat)
	}
	if handler.n == tagNil {
		wrong := at - 1
		if isText(left) {
			wrong = at
		}
		l.typeError(l.stack[wrong], wrong-l.frame.base, "concatenate")
	}
	result := l.CallValue(handler, left, right)
	l.stack[at-1] = result
}

func isText(v Value) bool { return v.n >= tagString }

// textLength returns an upper limit of the length of a string or number as text.
func textLength(v Value) int {
	if v.isString() {
		return len(v.str())
	}
	return 24
}

// join is the text of strings and numbers, which takes at most size bytes.
func (l *LState) join(values []Value, size int) Value {
	l.Charge(size)
	l.Work(size / 256)
	text := make([]byte, 0, size)
	for _, v := range values {
		if v.isString() {
			text = append(text, v.str()...)
		} else {
			text = AppendNumber(text, v.float())
		}
	}
	return String(unsafe.String(unsafe.SliceData(text), len(text)))
}

// Work counts steps of a library function. A step takes about as long as an instruction.
func (l *LState) Work(steps int) {
	if l.G.Left -= steps; l.G.Left <= 0 {
		l.G.Interrupt(l)
	}
}

// prepareLoop checks the bounds of a numeric loop.
func (l *LState) prepareLoop(r *[frameSpace]Value, a uint8) {
	for i, what := range [...]string{"initial value", "limit", "step"} {
		v := &r[a+uint8(i)]
		if v.isNumber() {
			continue
		}
		n, ok := v.ToNumber()
		if !ok {
			l.runError(fmt.Sprintf("'for' %s must be a number", what))
		}
		*v = Number(n)
	}
	r[a].setNumber(r[a].float() - r[a+2].float())
}

// iterate does a step of pairs or ipairs without a call. It returns false for other iterators.
func (l *LState) iterate(r *[frameSpace]Value, a uint8, results int) bool {
	t := r[a+1].table()
	switch r[a].function() {
	case l.G.next:
		key, value, steps, ok := t.next(r[a+2])
		if !ok {
			return false // the function raises the error
		}
		l.G.Left -= steps / 4
		r[a+3], r[a+4] = key, value
	case l.G.ipairs:
		if !r[a+2].isNumber() {
			return false
		}
		i := int(r[a+2].float()) + 1
		value := t.getInt(i)
		if value.n == tagNil {
			r[a+3], r[a+4] = Value{}, Value{}
		} else {
			r[a+3], r[a+4] = number(float64(i)), value
		}
	default:
		return false
	}
	for i := uint8(2); int(i) < results; i++ {
		r[a+3+i] = Value{}
	}
	return true
}

// setList stores count values above the table at an index of the stack, as the items of a batch.
func (l *LState) setList(t *LTable, at, count, batch int) {
	last := (batch-1)*fieldsPerFlush + count
	if last > len(t.array) {
		l.Charge(16 * (last - len(t.array)))
		fields := len(t.nodes)
		if &t.nodes[0] == &noNodes[0] {
			fields = 0
		}
		t.resize(last, fields)
	}
	for ; count > 0; count-- {
		t.setInt(last, l.stack[at+count])
		last--
	}
}

// closure makes a closure inside the function outer.
func (l *LState) closure(outer *LFunction, p *Proto, base int) *LFunction {
	l.Charge(64 + 32*len(p.upvalueFrom))
	fn := &LFunction{Proto: p, Env: outer.Env, id: l.G.newID()}
	if len(p.upvalueFrom) > 0 {
		fn.upvalues = make([]*upvalue, len(p.upvalueFrom))
		for i, from := range p.upvalueFrom {
			if from.local {
				fn.upvalues[i] = l.findUpvalue(base + int(from.index))
			} else {
				fn.upvalues[i] = outer.upvalues[from.index]
			}
		}
	}
	return fn
}

// vararg copies the extra arguments to an index of the stack: wanted of them, or all.
func (l *LState) vararg(f *frame, to, wanted int) {
	count := f.base - f.at - int(f.function.Proto.numParams) - 1
	if wanted == multiple {
		l.reserve(count)
		wanted = count
		l.top = to + count
	}
	from := f.base - count
	for i := range wanted {
		if i < count {
			l.stack[to+i] = l.stack[from+i]
		} else {
			l.stack[to+i] = Value{}
		}
	}
}

// replaceFrame replaces the frame that made a tail call by the new top frame.
func (l *LState) replaceFrame() {
	called := l.frame
	f := called.outer
	if l.open != nil {
		l.closeUpvalues(f.base)
	}
	shift := called.at - f.at
	copy(l.stack[f.at:], l.stack[called.at:called.top])
	f.function, f.base, f.top = called.function, called.base-shift, called.top-shift
	f.pc = 0
	f.tailCalls++
	l.frame = f
	l.frames--
	l.top = f.top
}
