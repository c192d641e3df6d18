package lua

import (
	"math"
)

// callCost is the cost of a call, in instructions.
const callCost = 8

// execute runs the function of the top frame and its callees, until the frame that Go code has pushed
// returns, or the coroutine yields.
//
// The registers of the running function are an array above the frame's base, so that an index of eight bits
// needs no check. The stack may move whenever other code runs. So the registers are read again after each
// call of a method of l that may run other code.
//
// It is a single function, because a call for an instruction would cost more than most instructions.
func (l *LState) execute() {
	g := l.G
frames:
	for {
		f := l.frame
		fn := f.function
		p := fn.Proto
		code, k := p.code, p.constants
		base := f.base
		r := (*[frameSpace]Value)(l.stack[base:])
		pc := f.pc
		for {
			i := code[pc]
			pc++
			f.pc = pc
			a := uint8(i >> shiftA)
			switch i & 0x3f {
			case opMove:
				r[a] = r[uint8(i>>shiftB)]
			case opLoadK:
				r[a] = k[i>>shiftC]
			case opLoadBool:
				r[a] = Value{n: tagFalse + uint64(i>>shiftB&1)}
				if argC(i) != 0 {
					pc++
				}
			case opLoadNil:
				clear(r[a : int(i>>shiftB)+1])
			case opGetUpval:
				r[a] = *fn.upvalues[i>>shiftB].v
			case opSetUpval:
				*fn.upvalues[i>>shiftB].v = r[a]
			case opGetGlobal:
				bx := i >> shiftC
				if slot := fn.Env.stringSlot(k[bx], p.hashes[bx]); slot != nil && slot.n != tagNil {
					r[a] = *slot
					continue
				}
				r = l.put(base, a, l.indexValue(Table(fn.Env), k[bx], noOperand))
			case opSetGlobal:
				l.setValue(Table(fn.Env), k[i>>shiftC], r[a], noOperand)
				r = (*[frameSpace]Value)(l.stack[base:])
			case opGetTable:
				object := r[uint8(i>>shiftB)]
				if object.n == tagTable {
					t := object.table()
					if i&rkBitC != 0 {
						c := i >> shiftC & 0xff
						key := k[c]
						if key.n < firstNumber && key.n >= tagString {
							if slot := t.stringSlot(key, p.hashes[c]); slot != nil && slot.n != tagNil {
								r[a] = *slot
								continue
							}
							if t.meta == nil {
								r[a] = Value{}
								continue
							}
						}
					} else if key := r[uint8(i>>shiftC)]; key.n >= firstNumber {
						n := key.float()
						if at := int(n) - 1; uint(at) < uint(len(t.array)) && float64(at+1) == n && t.array[at].n != tagNil {
							r[a] = t.array[at]
							continue
						}
					}
				}
				r = l.put(base, a, l.indexValue(object, l.operand(r, k, argC(i)), argB(i)))
			case opSetTable:
				value := l.operand(r, k, argC(i))
				if r[a].n == tagTable {
					t := r[a].table()
					if i&rkBitB != 0 {
						b := i >> shiftB & 0xff
						key := k[b]
						if key.n < firstNumber && key.n >= tagString && !t.ReadOnly {
							if slot := t.stringSlot(key, p.hashes[b]); slot != nil && slot.n != tagNil {
								*slot = value
								continue
							}
						}
					} else if key := r[uint8(i>>shiftB)]; key.n >= firstNumber {
						n := key.float()
						if at := int(n) - 1; uint(at) < uint(len(t.array)) && float64(at+1) == n && !t.ReadOnly &&
							(t.meta == nil || t.array[at].n != tagNil) {
							t.array[at] = value
							continue
						}
					}
				}
				l.setValue(r[a], l.operand(r, k, argB(i)), value, int(a))
				r = (*[frameSpace]Value)(l.stack[base:])
			case opNewTable:
				items, fields := fromFloatingByte(argB(i)), fromFloatingByte(argC(i))
				l.Charge(96 + 16*items + 40*fields)
				r[a] = Table(l.CreateTable(items, fields))
			case opSelf:
				object := r[uint8(i>>shiftB)]
				key := l.operand(r, k, argC(i))
				r[a+1] = object
				r = l.put(base, a, l.indexValue(object, key, argB(i)))
			case opAdd:
				x, y := operands(r, k, i)
				if x.n >= firstNumber && y.n >= firstNumber {
					r[a].setNumber(x.float() + y.float())
					continue
				}
				r = l.put(base, a, l.arithmeticOn(opAdd, *x, *y, i))
			case opSub:
				x, y := operands(r, k, i)
				if x.n >= firstNumber && y.n >= firstNumber {
					r[a].setNumber(x.float() - y.float())
					continue
				}
				r = l.put(base, a, l.arithmeticOn(opSub, *x, *y, i))
			case opMul:
				x, y := operands(r, k, i)
				if x.n >= firstNumber && y.n >= firstNumber {
					r[a].setNumber(x.float() * y.float())
					continue
				}
				r = l.put(base, a, l.arithmeticOn(opMul, *x, *y, i))
			case opDiv, opMod, opPow, opUnm:
				x := l.operand(r, k, argB(i))
				y := x
				if i&0x3f != opUnm {
					y = l.operand(r, k, argC(i))
				}
				if x.n >= firstNumber && y.n >= firstNumber {
					r[a].setNumber(arithmetic(int(i&0x3f), x.float(), y.float()))
					continue
				}
				r = l.put(base, a, l.arithmeticOn(int(i&0x3f), x, y, i))
			case opNot:
				r[a] = Bool(!r[uint8(i>>shiftB)].isTrue())
			case opLen:
				object := r[uint8(i>>shiftB)]
				switch {
				case object.n == tagTable:
					r[a].setNumber(float64(object.table().length()))
				case object.isString():
					r[a].setNumber(float64(len(object.str())))
				default:
					r = l.put(base, a, l.lengthOf(object, argB(i)))
				}
			case opConcat:
				b, c := argB(i), argC(i)
				l.concat(base+b, base+c)
				r = (*[frameSpace]Value)(l.stack[base:])
				r[a] = r[b]
			case opJmp:
				distance := argSBx(i)
				pc += distance
				if distance < 0 {
					f.pc = pc
					if g.Left += distance; g.Left <= 0 {
						g.Interrupt(l)
					}
				}
			case opEq:
				x, y := l.operand(r, k, argB(i)), l.operand(r, k, argC(i))
				equal := false
				if x.n == tagTable && y.n == tagTable && x.p != y.p {
					equal = l.equal(x, y)
					r = (*[frameSpace]Value)(l.stack[base:])
				} else {
					equal = RawEqual(x, y)
				}
				if equal != (a != 0) {
					pc++ // over the jump that follows
				}
			case opLt:
				x, y := l.operand(r, k, argB(i)), l.operand(r, k, argC(i))
				less := false
				if x.n >= firstNumber && y.n >= firstNumber {
					less = x.float() < y.float()
				} else {
					less = l.Less(x, y)
					r = (*[frameSpace]Value)(l.stack[base:])
				}
				if less != (a != 0) {
					pc++ // over the jump that follows
				}
			case opLe:
				x, y := l.operand(r, k, argB(i)), l.operand(r, k, argC(i))
				less := false
				if x.n >= firstNumber && y.n >= firstNumber {
					less = x.float() <= y.float()
				} else {
					less = l.lessEqual(x, y)
					r = (*[frameSpace]Value)(l.stack[base:])
				}
				if less != (a != 0) {
					pc++ // over the jump that follows
				}
			case opTest:
				if r[a].isTrue() != (argC(i) != 0) {
					pc++
				}
			case opTestSet:
				if v := r[uint8(i>>shiftB)]; v.isTrue() == (argC(i) != 0) {
					r[a] = v
				} else {
					pc++
				}
			case opCall:
				if b := int(i >> shiftB); b != 0 {
					l.top = base + int(a) + b
				}
				if g.Left -= callCost; g.Left <= 0 {
					g.Interrupt(l)
				}
				results := argC(i) - 1
				switch l.precall(base+int(a), results) {
				case calledLua:
					continue frames
				case calledYield:
					return
				}
				if results >= 0 {
					l.top = f.top
				}
				r = (*[frameSpace]Value)(l.stack[base:])
			case opTailCall:
				if b := int(i >> shiftB); b != 0 {
					l.top = base + int(a) + b
				}
				if g.Left -= callCost; g.Left <= 0 {
					g.Interrupt(l)
				}
				switch l.precall(base+int(a), multiple) {
				case calledLua:
					l.replaceFrame()
					continue frames
				case calledYield:
					return
				}
				r = (*[frameSpace]Value)(l.stack[base:])
			case opReturn:
				if b := int(i >> shiftB); b != 0 {
					l.top = base + int(a) + b - 1
				}
				if l.open != nil {
					l.closeUpvalues(base)
				}
				fresh, results := f.fresh, f.results
				l.postcall(base + int(a))
				if fresh {
					return
				}
				if results >= 0 {
					l.top = l.frame.top
				}
				continue frames
			case opForLoop:
				step := r[a+2].float()
				index := r[a].float() + step
				limit := r[a+1].float()
				if step > 0 && index <= limit || step <= 0 && limit <= index {
					distance := argSBx(i)
					pc += distance
					r[a].n = ^math.Float64bits(index)
					r[a+3].setNumber(index)
					if g.Left += distance; g.Left <= 0 {
						f.pc = pc
						g.Interrupt(l)
					}
				}
			case opForPrep:
				l.prepareLoop(r, a)
				pc += argSBx(i)
			case opTForLoop:
				if g.Left--; g.Left <= 0 {
					g.Interrupt(l)
				}
				if r[a].n == tagFunction && r[a+1].n == tagTable && l.iterate(r, a, argC(i)) {
					if r[a+3].n != tagNil {
						r[a+2] = r[a+3]
						pc += argSBx(code[pc])
					}
					pc++
					continue
				}
				r[a+3], r[a+4], r[a+5] = r[a], r[a+1], r[a+2]
				l.top = base + int(a) + 6
				l.callAt(base+int(a)+3, argC(i))
				l.top = f.top
				r = (*[frameSpace]Value)(l.stack[base:])
				if r[a+3].n != tagNil {
					r[a+2] = r[a+3]
					pc += argSBx(code[pc])
				}
				pc++
			case opSetList:
				count, batch := argB(i), argC(i)
				if count == 0 {
					count = l.top - (base + int(a)) - 1
					l.top = f.top
				}
				if batch == 0 {
					batch = int(code[pc])
					pc++
				}
				l.setList(r[a].table(), base+int(a), count, batch)
			case opClose:
				l.closeUpvalues(base + int(a))
			case opClosure:
				r[a] = Function(l.closure(fn, p.inner[i>>shiftC], base))
			case opVararg:
				l.vararg(f, base+int(a), int(i>>shiftB)-1)
				r = (*[frameSpace]Value)(l.stack[base:])
			}
		}
	}
}

// put sets a register of the running function to the result of other code. It returns the registers, because
// that code may have moved them.
func (l *LState) put(base int, a uint8, v Value) *[frameSpace]Value {
	r := (*[frameSpace]Value)(l.stack[base:])
	r[a] = v
	return r
}

// operands returns both operands of an instruction, each a register or a constant.
func operands(r *[frameSpace]Value, k []Value, i instruction) (x, y *Value) {
	x, y = &r[uint8(i>>shiftB)], &r[uint8(i>>shiftC)]
	if i&rkBitB != 0 {
		x = &k[i>>shiftB&0xff]
	}
	if i&rkBitC != 0 {
		y = &k[i>>shiftC&0xff]
	}
	return x, y
}

// operand is a register or a constant.
func (l *LState) operand(r *[frameSpace]Value, k []Value, operand int) Value {
	if operand&rkBit != 0 {
		return k[operand&0xff]
	}
	return r[uint8(operand)]
}
