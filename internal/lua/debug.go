package lua

import "fmt"

// This file finds the position of code and the names of values, as Lua 5.1's ldebug.c does. See NOTICE.

// noOperand is the operand of a value that is in no register.
const noOperand = -1

// positionOf returns "chunk:line: " for a frame of Lua code, otherwise "".
func (l *LState) positionOf(f *frame) string {
	if f.function == nil || f.function.Proto == nil {
		return ""
	}
	return fmt.Sprintf("%s:%d: ", f.function.Proto.Source, f.function.Proto.line(f.pc-1))
}

// CallerPosition returns "chunk:line: " for a level of the calls: 0 is the running function, 1 its caller. It
// is empty if that is not Lua code, or if a tail call replaced the caller.
func (l *LState) CallerPosition(level int) string {
	f := l.frame
	for ; level > 0 && f != &l.bottom; f = f.outer {
		level--
		if f.function.Proto != nil {
			level -= f.tailCalls
		}
	}
	if level != 0 || f == &l.bottom {
		return ""
	}
	return l.positionOf(f)
}

// Where returns the position of the running Lua code, or of the Lua code that called the running Go function.
func (l *LState) Where() (source string, line int) {
	f := l.frame
	for range 2 {
		if f == nil || f == &l.bottom {
			break
		}
		if p := f.function.Proto; p != nil {
			return p.Source, p.line(f.pc - 1)
		}
		f = f.outer
	}
	return "=[C]", -1
}

// FunctionName returns the name by which the running Go function was called. method says that it was called
// as a method. ok is false if the name is unknown.
func (l *LState) FunctionName() (name string, method, ok bool) {
	caller := l.frame.outer
	if caller == nil || caller == &l.bottom || caller.function.Proto == nil {
		return "", false, false
	}
	i := caller.function.Proto.code[caller.pc-1]
	switch opcode(i) {
	case opCall, opTailCall, opTForLoop:
		kind, name := caller.nameOf(argA(i))
		return name, kind == "method", kind != ""
	default:
		return "", false, false
	}
}

// localName returns the name of the local variable in a register at an instruction.
func (p *Proto) localName(register, pc int) string {
	for _, local := range p.locals {
		if local.from > pc {
			break
		}
		if pc < local.to {
			if register == 0 {
				return local.name
			}
			register--
		}
	}
	return ""
}

// nameOf returns the kind of the variable in a register, and its name. Both are empty if it has no name.
func (f *frame) nameOf(register int) (kind, name string) {
	p, pc := f.function.Proto, f.pc-1
	if name := p.localName(register, pc); name != "" {
		return "local", name
	}
	setter := p.lastSetter(register, pc)
	if setter < 0 {
		return "", ""
	}
	i := p.code[setter]
	switch opcode(i) {
	case opGetGlobal:
		return "global", p.constants[argBx(i)].str()
	case opMove:
		if argB(i) < argA(i) {
			return f.nameOf(argB(i))
		}
	case opGetTable:
		return "field", p.keyName(argC(i))
	case opSelf:
		return "method", p.keyName(argC(i))
	case opGetUpval:
		return "upvalue", p.upvalues[argB(i)]
	}
	return "", ""
}

// keyName is a constant string used as an index.
func (p *Proto) keyName(operand int) string {
	if isConstant(operand) {
		if v := p.constants[operand&^rkBit]; v.isString() {
			return v.str()
		}
	}
	return "?"
}

// lastSetter returns the last instruction before end that wrote a register, or -1. It follows forward jumps
// that do not skip end.
func (p *Proto) lastSetter(register, end int) int {
	last := -1
	for pc := 0; pc < end; pc++ {
		i := p.code[pc]
		a := argA(i)
		switch opcode(i) {
		case opSetGlobal, opSetUpval, opSetTable, opEq, opLt, opLe, opReturn, opClose:
		case opSetList:
			if argC(i) == 0 {
				pc++
			}
		case opLoadNil:
			if a <= register && register <= argB(i) {
				last = pc
			}
		case opCall, opTailCall, opVararg:
			if register >= a {
				last = pc
			}
		case opTForLoop:
			if register >= a+3 {
				last = pc
			}
		case opSelf:
			if register == a || register == a+1 {
				last = pc
			}
		case opJmp, opForLoop, opForPrep:
			if opcode(i) != opJmp && a == register {
				last = pc
			}
			if target := pc + 1 + argSBx(i); pc < target && target <= end {
				pc = target - 1
			}
		default:
			if a == register {
				last = pc
			}
		}
	}
	return last
}

// typeError raises "attempt to ... local 'x' (a nil value)". operand is the register that holds the value, a
// constant, or noOperand.
func (l *LState) typeError(v Value, operand int, operation string) {
	kind, name := "", ""
	if operand >= 0 && !isConstant(operand) && l.frame.function.Proto != nil {
		kind, name = l.frame.nameOf(operand)
	}
	if kind != "" {
		l.runError(fmt.Sprintf("attempt to %s %s '%s' (a %s value)", operation, kind, name, v.Type()))
	}
	l.runError(fmt.Sprintf("attempt to %s a %s value", operation, v.Type()))
}

func (l *LState) compareError(a, b Value) {
	if a.Type() == b.Type() {
		l.runError(fmt.Sprintf("attempt to compare two %s values", a.Type()))
	}
	l.runError(fmt.Sprintf("attempt to compare %s with %s", a.Type(), b.Type()))
}
