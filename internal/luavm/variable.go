package luavm

import (
	"reflect"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// instruction is the one that a frame executes, for saying which variable was at fault.
type instruction struct {
	fn    *lua.LFunction
	proto *lua.FunctionProto
	pc    int
	inst  uint32
}

// current is the instruction of the Lua function that called the running Go
// function, by an operator or a call.
func current(L *lua.LState) (instruction, bool) { return instructionAt(L, 1) }

// instructionAt is the instruction at a level of the stack.
func instructionAt(L *lua.LState, level int) (instruction, bool) {
	frame, ok := L.GetStack(level)
	if !ok {
		return instruction{}, false
	}
	value, err := L.GetInfo("f", frame, lua.LNil)
	if err != nil {
		return instruction{}, false
	}
	fn, ok := value.(*lua.LFunction)
	if !ok || fn.IsG {
		return instruction{}, false
	}
	pc, ok := programCounter(frame)
	if !ok || pc < 0 || pc >= len(fn.Proto.Code) {
		return instruction{}, false
	}
	return instruction{fn: fn, proto: fn.Proto, pc: pc, inst: fn.Proto.Code[pc]}, true
}

// programCounter reads a frame's counter, which the interpreter does not export. Only messages depend on it:
// should the field go, they lose the variable's name.
func programCounter(frame *lua.Debug) (int, bool) {
	inner := reflect.ValueOf(frame).Elem().FieldByName("frame")
	if inner.Kind() != reflect.Pointer || inner.IsNil() {
		return 0, false
	}
	pc := inner.Elem().FieldByName("Pc")
	if !pc.IsValid() || !pc.CanInt() {
		return 0, false
	}
	return int(pc.Int()) - 1, true
}

// instructionOperand describes an operand of the current arithmetic instruction.
func instructionOperand(L *lua.LState, which int) string {
	at, ok := current(L)
	if !ok {
		return ""
	}
	switch opcode(at.inst) {
	case lua.OP_ADD, lua.OP_SUB, lua.OP_MUL, lua.OP_DIV, lua.OP_MOD, lua.OP_POW, lua.OP_UNM:
		operand := argB(at.inst)
		if which == 1 {
			operand = argC(at.inst)
		}
		if operand&rkBit != 0 {
			return ""
		}
		return at.register(operand)
	default:
		return ""
	}
}

// callArgument describes an argument of the helper that the current instruction calls.
func callArgument(L *lua.LState, argument int) string {
	at, ok := current(L)
	if !ok || opcode(at.inst) != lua.OP_CALL {
		return ""
	}
	return at.register(argA(at.inst) + argument)
}

// calledFunction describes what the current instruction calls.
func calledFunction(L *lua.LState) string {
	at, ok := current(L)
	if !ok {
		return ""
	}
	return at.called()
}

func (at instruction) called() string {
	switch opcode(at.inst) {
	case lua.OP_CALL, lua.OP_TAILCALL:
		return at.register(argA(at.inst))
	default:
		return ""
	}
}

// indexedObject describes the table of the current access.
func indexedObject(L *lua.LState) string {
	at, ok := current(L)
	if !ok {
		return ""
	}
	switch opcode(at.inst) {
	case lua.OP_GETTABLE, lua.OP_GETTABLEKS, lua.OP_SELF:
		return at.register(argB(at.inst))
	case lua.OP_SETTABLE, lua.OP_SETTABLEKS:
		return at.register(argA(at.inst))
	default:
		return ""
	}
}

// loopBound tells which bound of a loop the current subtraction prepares, "" if none.
func loopBound(L *lua.LState) string {
	at, ok := current(L)
	if !ok || opcode(at.inst) != lua.OP_SUB || argC(at.inst)&rkBit == 0 {
		return ""
	}
	if at.proto.Constants[argC(at.inst)&^rkBit] != lua.LValue(lua.LNumber(0)) {
		return ""
	}
	for ahead, inst := range at.proto.Code[at.pc:] {
		if opcode(inst) != lua.OP_FORPREP {
			continue
		}
		loop := instruction{at.fn, at.proto, at.pc + ahead, inst}
		bound := argA(at.inst) - argA(inst)
		if bound < 0 || bound > 2 || loop.lastSetter(argA(at.inst)) != at.pc {
			return "" // the script itself subtracts 0, somewhere before a loop
		}
		return [...]string{"initial value", "limit", "step"}[bound]
	}
	return ""
}

// register describes what a register holds: "local 'x'", "field 'y'", "" for what has no name.
func (at instruction) register(r int) string {
	name, since := at.local(r)
	setter := at.lastSetter(r)
	if name != "" && setter < since {
		return "local '" + name + "'"
	}
	if setter >= 0 {
		if described := at.produced(setter); described != "" {
			return described
		}
		switch opcode(at.proto.Code[setter]) {
		case lua.OP_NEWTABLE, lua.OP_CALL, lua.OP_VARARG, lua.OP_SELF, lua.OP_CLOSURE:
			return "" // these fill temporaries: the variable that had the register is gone
		}
	}
	if name != "" {
		return "local '" + name + "'"
	}
	return ""
}

// local is the variable last declared in a register, and the instruction from which it counts.
func (at instruction) local(r int) (name string, since int) {
	for _, info := range at.proto.DbgLocals {
		if info.StartPc > at.pc {
			break
		}
		_, mark, ok := strings.Cut(info.Name, uniqueMark)
		if !ok {
			continue
		}
		_, position, ok := strings.Cut(mark, ":")
		if !ok {
			continue
		}
		if number, err := strconv.Atoi(position); err == nil && number == r {
			name, since = plainName(info.Name), info.StartPc
		}
	}
	return name, since
}

// plainName is a variable's name without what made it unique.
func plainName(unique string) string {
	name, _, _ := strings.Cut(unique, uniqueMark)
	return name
}

// produced describes the value that an instruction put into its register.
func (at instruction) produced(pc int) string {
	inst := at.proto.Code[pc]
	before := instruction{fn: at.fn, proto: at.proto, pc: pc, inst: inst}
	switch opcode(inst) {
	case lua.OP_GETGLOBAL:
		return "global '" + at.proto.Constants[argBx(inst)].String() + "'"
	case lua.OP_MOVE, lua.OP_MOVEN:
		if argB(inst) < argA(inst) {
			return before.register(argB(inst))
		}
	case lua.OP_GETTABLE, lua.OP_GETTABLEKS:
		return "field '" + at.key(argC(inst)) + "'"
	case lua.OP_SELF:
		return "method '" + at.key(argC(inst)) + "'"
	case lua.OP_GETUPVAL:
		if argB(inst) < len(at.proto.DbgUpvalues) {
			return "upvalue '" + plainName(at.proto.DbgUpvalues[argB(inst)]) + "'"
		}
	}
	return ""
}

// key is a constant string used as an index.
func (at instruction) key(operand int) string {
	if operand&rkBit != 0 {
		if text, ok := at.proto.Constants[operand&^rkBit].(lua.LString); ok {
			return string(text)
		}
	}
	return "?"
}

// lastSetter is the instruction before the current one that last wrote a register, -1 if none did. Jumps
// forward that do not skip the current instruction are followed.
func (at instruction) lastSetter(r int) int {
	last := -1
	code := at.proto.Code
	for pc := 0; pc < at.pc; pc++ {
		inst := code[pc]
		a := argA(inst)
		switch opcode(inst) {
		case lua.OP_JMP:
			target := pc + 1 + argBx(inst) - bxMask>>1
			if target > pc && target <= at.pc {
				pc = target - 1
			}
		case lua.OP_LOADNIL:
			if a <= r && r <= argB(inst) {
				last = pc
			}
		case lua.OP_CALL, lua.OP_TAILCALL, lua.OP_VARARG:
			if r >= a {
				last = pc
			}
		case lua.OP_TFORLOOP:
			if r >= a+3 {
				last = pc
			}
		case lua.OP_SELF:
			if r == a || r == a+1 {
				last = pc
			}
		case lua.OP_CLOSURE:
			if r == a {
				last = pc
			}
			pc += int(at.proto.FunctionPrototypes[argBx(inst)].NumUpvalues)
		case lua.OP_SETGLOBAL, lua.OP_SETUPVAL, lua.OP_SETTABLE, lua.OP_SETTABLEKS, lua.OP_EQ, lua.OP_LT, lua.OP_LE,
			lua.OP_TEST, lua.OP_RETURN, lua.OP_SETLIST, lua.OP_CLOSE, lua.OP_NOP:
		default:
			if r == a {
				last = pc
			}
		}
	}
	return last
}

// faultyOperand describes the operand that the running instruction of a Lua function could not work with:
// what is called, or the first operand that is no number. kind is its type.
func faultyOperand(L *lua.LState) (variable, kind string) {
	at, ok := instructionAt(L, 0)
	if !ok {
		return "", "table"
	}
	frame, _ := L.GetStack(0)
	operands := []int{argB(at.inst), argC(at.inst)}
	switch opcode(at.inst) {
	case lua.OP_CALL, lua.OP_TAILCALL:
		operands = []int{argA(at.inst)}
	case lua.OP_UNM:
		operands = operands[:1]
	case lua.OP_TFORLOOP:
		_, value := L.GetLocal(frame, argA(at.inst)+1)
		return "", typeName(value)
	}
	for _, operand := range operands {
		if operand&rkBit != 0 {
			continue
		}
		_, value := L.GetLocal(frame, operand+1)
		if _, ok := ToNumber(value); !ok {
			return at.register(operand), typeName(value)
		}
	}
	return "", "table"
}

// functionName returns the name by which the running Go function was called, or "?" if it is unknown, and
// whether it was called as a method.
func functionName(L *lua.LState) (name string, method bool) {
	at, ok := current(L)
	if !ok {
		return "?", false
	}
	kind, quoted, ok := strings.Cut(at.called(), " '")
	if !ok {
		return "?", false
	}
	return strings.TrimSuffix(quoted, "'"), kind == "method"
}
