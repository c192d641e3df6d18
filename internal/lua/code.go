package lua

import "math"

// This file makes the instructions of expressions, as Lua 5.1's lcode.c does. See NOTICE.

// expKind says where the value of an expression is while code is generated.
type expKind uint8

const (
	expVoid     expKind = iota
	expNil              // a constant
	expTrue             // a constant
	expFalse            // a constant
	expK                // info: index of the constant
	expNumber           // number: its value
	expLocal            // info: its register
	expUpvalue          // info: its index
	expGlobal           // info: the constant of its name
	expIndexed          // info: register of the table; aux: the key, a register or constant
	expJump             // info: the jump
	expRelocate         // info: the instruction, which may put the value anywhere
	expFixed            // info: the register that has the value
	expCall             // info: the instruction
	expVararg           // info: the instruction
)

// noJump ends a list of jumps. As the distance of a jump it would jump to itself.
const noJump = -1

// expression describes the value of an expression. trueList and falseList are the jumps that leave the
// expression when it is true, or false.
type expression struct {
	kind                expKind
	info, aux           int
	number              float64
	trueList, falseList int
}

func newExpression(kind expKind, info int) expression {
	return expression{kind: kind, info: info, trueList: noJump, falseList: noJump}
}

func (e *expression) set(kind expKind, info int) { e.kind, e.info = kind, info }
func (e *expression) hasJumps() bool             { return e.trueList != e.falseList }
func (e *expression) isNumeral() bool {
	return e.kind == expNumber && e.trueList == noJump && e.falseList == noJump
}
func (e *expression) hasMany() bool { return e.kind == expCall || e.kind == expVararg }

// maxRegisters is Lua's MAXSTACK.
const maxRegisters = 250

func (fs *functionState) pc() int { return len(fs.proto.code) }

func (fs *functionState) emit(i instruction, line int) int {
	fs.dischargePending()
	fs.proto.code = append(fs.proto.code, i)
	fs.proto.lines = append(fs.proto.lines, int32(line))
	return fs.pc() - 1
}

func (fs *functionState) emitABC(op, a, b, c int) int {
	return fs.emit(makeABC(op, a, b, c), fs.parser.lx.lastLine)
}

func (fs *functionState) emitABx(op, a, bx int) int {
	return fs.emit(makeABx(op, a, bx), fs.parser.lx.lastLine)
}

// at is the instruction of an expression.
func (fs *functionState) at(e *expression) *instruction { return &fs.proto.code[e.info] }

func (fs *functionState) fixLine(line int) { fs.proto.lines[fs.pc()-1] = int32(line) }

func (fs *functionState) emitNil(from, count int) {
	if fs.pc() > fs.lastTarget { // no jump leads here
		if fs.pc() == 0 {
			if from >= len(fs.active) {
				return // the registers are still nil
			}
		} else {
			previous := &fs.proto.code[fs.pc()-1]
			if opcode(*previous) == opLoadNil {
				first, last := argA(*previous), argB(*previous)
				if first <= from && from <= last+1 {
					if from+count-1 > last {
						setArgB(previous, from+count-1)
					}
					return
				}
			}
		}
	}
	fs.emitABC(opLoadNil, from, from+count-1, 0)
}

// jump makes a jump that is patched later.
func (fs *functionState) jump() int {
	pending := fs.pending
	fs.pending = noJump
	j := fs.emitABx(opJmp, 0, noJump+maxSBx)
	return fs.join(j, pending)
}

func (fs *functionState) emitReturn(first, count int) { fs.emitABC(opReturn, first, count+1, 0) }

func (fs *functionState) conditionalJump(op, a, b, c int) int {
	fs.emitABC(op, a, b, c)
	return fs.jump()
}

func (fs *functionState) fixJump(pc, target int) {
	offset := target - (pc + 1)
	if offset > maxSBx || offset < -maxSBx {
		fs.parser.syntaxError("control structure too long")
	}
	setSBx(&fs.proto.code[pc], offset)
}

// label returns the next instruction, as a target of jumps.
func (fs *functionState) label() int {
	fs.lastTarget = fs.pc()
	return fs.pc()
}

func (fs *functionState) targetOf(pc int) int {
	offset := argSBx(fs.proto.code[pc])
	if offset == noJump {
		return noJump
	}
	return pc + 1 + offset
}

// control is the instruction that decides whether a jump is taken.
func (fs *functionState) control(pc int) *instruction {
	if pc >= 1 && isTest(opcode(fs.proto.code[pc-1])) {
		return &fs.proto.code[pc-1]
	}
	return &fs.proto.code[pc]
}

// needsValue reports whether a jump of the list does not leave a value in the register.
func (fs *functionState) needsValue(list int) bool {
	for ; list != noJump; list = fs.targetOf(list) {
		if opcode(*fs.control(list)) != opTestSet {
			return true
		}
	}
	return false
}

func (fs *functionState) patchTestRegister(pc, register int) bool {
	i := fs.control(pc)
	if opcode(*i) != opTestSet {
		return false
	}
	if register != noRegister && register != argB(*i) {
		setArgA(i, register)
	} else {
		*i = makeABC(opTest, argB(*i), 0, argC(*i))
	}
	return true
}

func (fs *functionState) removeValues(list int) {
	for ; list != noJump; list = fs.targetOf(list) {
		fs.patchTestRegister(list, noRegister)
	}
}

// patchList sets the targets of a list's jumps: withValue for jumps that leave the value in the register,
// other for the rest.
func (fs *functionState) patchList(list, withValue, register, other int) {
	for list != noJump {
		next := fs.targetOf(list)
		if fs.patchTestRegister(list, register) {
			fs.fixJump(list, withValue)
		} else {
			fs.fixJump(list, other)
		}
		list = next
	}
}

// dischargePending sets the target of the jumps to the next instruction.
func (fs *functionState) dischargePending() {
	list := fs.pending
	fs.pending = noJump
	fs.patchList(list, fs.pc(), noRegister, fs.pc())
}

func (fs *functionState) patchTo(list, target int) {
	if target == fs.pc() {
		fs.patchHere(list)
	} else {
		fs.patchList(list, target, noRegister, target)
	}
}

func (fs *functionState) patchHere(list int) {
	fs.label()
	fs.pending = fs.join(fs.pending, list)
}

// join appends a list of jumps to another list. It walks through the first list, so callers pass the shorter
// list first.
func (fs *functionState) join(first, second int) int {
	switch {
	case second == noJump:
		return first
	case first == noJump:
		return second
	}
	list := first
	for next := fs.targetOf(list); next != noJump; next = fs.targetOf(list) {
		list = next
	}
	fs.fixJump(list, second)
	return first
}

func (fs *functionState) checkStack(count int) {
	size := fs.free + count
	if size > int(fs.proto.maxStack) {
		if size >= maxRegisters {
			fs.parser.syntaxError("function or expression too complex")
		}
		fs.proto.maxStack = uint8(size)
	}
}

func (fs *functionState) reserve(count int) {
	fs.checkStack(count)
	fs.free += count
}

func (fs *functionState) freeRegister(register int) {
	if !isConstant(register) && register >= len(fs.active) {
		fs.free--
	}
}

func (fs *functionState) freeExpression(e *expression) {
	if e.kind == expFixed {
		fs.freeRegister(e.info)
	}
}

// constant is the index of a constant, which is added if the function does not have it yet.
func (fs *functionState) constant(v Value) int {
	key := constantKey{tag: v.n}
	if v.isNumber() && v.float() == 0 {
		key.tag = number(0).n // as in Lua 5.1, both zeros share the constant that comes first
	}
	if v.isString() {
		key = constantKey{text: v.str(), tag: tagString}
	}
	if index, ok := fs.constants[key]; ok {
		return index
	}
	index := len(fs.proto.constants)
	if index > maxBx {
		fs.parser.lx.fail("constant table overflow", noToken)
	}
	hash := uint32(0)
	if v.isString() {
		v = String(fs.parser.intern(v.str()))
		hash = hashString(v.str())
	}
	fs.proto.constants = append(fs.proto.constants, v)
	fs.proto.hashes = append(fs.proto.hashes, hash)
	if fs.constants == nil {
		fs.constants = make(map[constantKey]int)
	}
	fs.constants[key] = index
	return index
}

// setReturns sets how many values a call or vararg expression gives.
func (fs *functionState) setReturns(e *expression, count int) {
	switch e.kind {
	case expCall:
		setArgC(fs.at(e), count+1)
	case expVararg:
		setArgB(fs.at(e), count+1)
		setArgA(fs.at(e), fs.free)
		fs.reserve(1)
	}
}

func (fs *functionState) setOneReturn(e *expression) {
	switch e.kind {
	case expCall:
		e.set(expFixed, argA(*fs.at(e)))
	case expVararg:
		setArgB(fs.at(e), 2)
		e.kind = expRelocate
	}
}

// dischargeVariables makes the code that reads a variable.
func (fs *functionState) dischargeVariables(e *expression) {
	switch e.kind {
	case expLocal:
		e.kind = expFixed
	case expUpvalue:
		e.set(expRelocate, fs.emitABC(opGetUpval, 0, e.info, 0))
	case expGlobal:
		e.set(expRelocate, fs.emitABx(opGetGlobal, 0, e.info))
	case expIndexed:
		fs.freeRegister(e.aux)
		fs.freeRegister(e.info)
		e.set(expRelocate, fs.emitABC(opGetTable, 0, e.info, e.aux))
	case expVararg, expCall:
		fs.setOneReturn(e)
	}
}

func (fs *functionState) loadBool(register, value, skip int) int {
	fs.label()
	return fs.emitABC(opLoadBool, register, value, skip)
}

func (fs *functionState) dischargeTo(e *expression, register int) {
	fs.dischargeVariables(e)
	switch e.kind {
	case expNil:
		fs.emitNil(register, 1)
	case expFalse:
		fs.emitABC(opLoadBool, register, 0, 0)
	case expTrue:
		fs.emitABC(opLoadBool, register, 1, 0)
	case expK:
		fs.emitABx(opLoadK, register, e.info)
	case expNumber:
		fs.emitABx(opLoadK, register, fs.constant(Number(e.number)))
	case expRelocate:
		setArgA(fs.at(e), register)
	case expFixed:
		if register != e.info {
			fs.emitABC(opMove, register, e.info, 0)
		}
	default:
		return
	}
	e.set(expFixed, register)
}

func (fs *functionState) dischargeAnywhere(e *expression) {
	if e.kind != expFixed {
		fs.reserve(1)
		fs.dischargeTo(e, fs.free-1)
	}
}

// toRegister puts the value of an expression into a register.
func (fs *functionState) toRegister(e *expression, register int) {
	fs.dischargeTo(e, register)
	if e.kind == expJump {
		e.trueList = fs.join(e.trueList, e.info)
	}
	if e.hasJumps() {
		loadFalse, loadTrue := noJump, noJump
		if fs.needsValue(e.trueList) || fs.needsValue(e.falseList) {
			over := noJump
			if e.kind != expJump {
				over = fs.jump()
			}
			loadFalse = fs.loadBool(register, 0, 1)
			loadTrue = fs.loadBool(register, 1, 0)
			fs.patchHere(over)
		}
		end := fs.label()
		fs.patchList(e.falseList, end, register, loadFalse)
		fs.patchList(e.trueList, end, register, loadTrue)
	}
	*e = newExpression(expFixed, register)
}

func (fs *functionState) toNextRegister(e *expression) {
	fs.dischargeVariables(e)
	fs.freeExpression(e)
	fs.reserve(1)
	fs.toRegister(e, fs.free-1)
}

func (fs *functionState) toAnyRegister(e *expression) int {
	fs.dischargeVariables(e)
	if e.kind == expFixed {
		if !e.hasJumps() {
			return e.info
		}
		if e.info >= len(fs.active) {
			fs.toRegister(e, e.info)
			return e.info
		}
	}
	fs.toNextRegister(e)
	return e.info
}

func (fs *functionState) toValue(e *expression) {
	if e.hasJumps() {
		fs.toAnyRegister(e)
	} else {
		fs.dischargeVariables(e)
	}
}

// toOperand puts the value into a register or a constant that an operand can name.
func (fs *functionState) toOperand(e *expression) int {
	fs.toValue(e)
	switch e.kind {
	case expNumber, expTrue, expFalse, expNil:
		if len(fs.proto.constants) <= maxRK {
			value := Value{}
			switch e.kind {
			case expNumber:
				value = Number(e.number)
			case expTrue, expFalse:
				value = Bool(e.kind == expTrue)
			}
			e.set(expK, fs.constant(value))
			return e.info | rkBit
		}
	case expK:
		if e.info <= maxRK {
			return e.info | rkBit
		}
	}
	return fs.toAnyRegister(e)
}

// store assigns the value of an expression to a variable.
func (fs *functionState) store(variable, e *expression) {
	switch variable.kind {
	case expLocal:
		fs.freeExpression(e)
		fs.toRegister(e, variable.info)
		return
	case expUpvalue:
		fs.emitABC(opSetUpval, fs.toAnyRegister(e), variable.info, 0)
	case expGlobal:
		fs.emitABx(opSetGlobal, fs.toAnyRegister(e), variable.info)
	case expIndexed:
		fs.emitABC(opSetTable, variable.info, variable.aux, fs.toOperand(e))
	}
	fs.freeExpression(e)
}

// method makes e the function of a method call, followed by the object.
func (fs *functionState) method(e, key *expression) {
	fs.toAnyRegister(e)
	fs.freeExpression(e)
	function := fs.free
	fs.reserve(2)
	fs.emitABC(opSelf, function, e.info, fs.toOperand(key))
	fs.freeExpression(key)
	e.set(expFixed, function)
}

func (fs *functionState) invertJump(e *expression) {
	i := fs.control(e.info)
	setArgA(i, 1-argA(*i))
}

func (fs *functionState) jumpOn(e *expression, condition int) int {
	if e.kind == expRelocate {
		i := *fs.at(e)
		if opcode(i) == opNot {
			fs.proto.code = fs.proto.code[:fs.pc()-1]
			fs.proto.lines = fs.proto.lines[:len(fs.proto.lines)-1]
			return fs.conditionalJump(opTest, argB(i), 0, 1-condition)
		}
	}
	fs.dischargeAnywhere(e)
	fs.freeExpression(e)
	return fs.conditionalJump(opTestSet, noRegister, e.info, condition)
}

// goIfTrue goes on with the next instruction if e is true, and jumps otherwise.
func (fs *functionState) goIfTrue(e *expression) {
	fs.dischargeVariables(e)
	pc := noJump
	switch e.kind {
	case expK, expNumber, expTrue:
	case expJump:
		fs.invertJump(e)
		pc = e.info
	default:
		pc = fs.jumpOn(e, 0)
	}
	e.falseList = fs.join(pc, e.falseList)
	fs.patchHere(e.trueList)
	e.trueList = noJump
}

func (fs *functionState) goIfFalse(e *expression) {
	fs.dischargeVariables(e)
	pc := noJump
	switch e.kind {
	case expNil, expFalse:
	case expJump:
		pc = e.info
	default:
		pc = fs.jumpOn(e, 1)
	}
	e.trueList = fs.join(pc, e.trueList)
	fs.patchHere(e.falseList)
	e.falseList = noJump
}

func (fs *functionState) not(e *expression) {
	fs.dischargeVariables(e)
	switch e.kind {
	case expNil, expFalse:
		e.kind = expTrue
	case expK, expNumber, expTrue:
		e.kind = expFalse
	case expJump:
		fs.invertJump(e)
	case expRelocate, expFixed:
		fs.dischargeAnywhere(e)
		fs.freeExpression(e)
		e.set(expRelocate, fs.emitABC(opNot, 0, e.info, 0))
	}
	e.trueList, e.falseList = e.falseList, e.trueList
	fs.removeValues(e.falseList)
	fs.removeValues(e.trueList)
}

func (fs *functionState) index(table, key *expression) {
	table.aux = fs.toOperand(key)
	table.kind = expIndexed
}

// fold computes an operation on constants, unless Lua leaves it to run time.
func fold(op int, a, b *expression) bool {
	if !a.isNumeral() || !b.isNumeral() {
		return false
	}
	x, y := a.number, b.number
	switch op {
	case opDiv, opMod:
		if y == 0 {
			return false
		}
	case opLen, opConcat:
		return false
	}
	result := arithmetic(op, x, y)
	if math.IsNaN(result) {
		return false
	}
	a.number = result
	return true
}

func (fs *functionState) arithmetic(op int, a, b *expression) {
	if fold(op, a, b) {
		return
	}
	second := 0
	if op != opUnm && op != opLen {
		second = fs.toOperand(b)
	}
	first := fs.toOperand(a)
	if first > second {
		fs.freeExpression(a)
		fs.freeExpression(b)
	} else {
		fs.freeExpression(b)
		fs.freeExpression(a)
	}
	a.set(expRelocate, fs.emitABC(op, 0, first, second))
}

func (fs *functionState) compare(op, condition int, a, b *expression) {
	first := fs.toOperand(a)
	second := fs.toOperand(b)
	fs.freeExpression(b)
	fs.freeExpression(a)
	if condition == 0 && op != opEq {
		first, second = second, first
		condition = 1
	}
	a.set(expJump, fs.conditionalJump(op, condition, first, second))
}

// prefix applies a unary operator.
func (fs *functionState) prefix(op token, e *expression) {
	zero := newExpression(expNumber, 0)
	switch op {
	case '-':
		if !e.isNumeral() {
			fs.toAnyRegister(e)
		}
		fs.arithmetic(opUnm, e, &zero)
	case tokNot:
		fs.not(e)
	case '#':
		fs.toAnyRegister(e)
		fs.arithmetic(opLen, e, &zero)
	}
}

// infix is called between the operands of a binary operator.
func (fs *functionState) infix(op token, e *expression) {
	switch op {
	case tokAnd:
		fs.goIfTrue(e)
	case tokOr:
		fs.goIfFalse(e)
	case tokConcat:
		fs.toNextRegister(e)
	case '+', '-', '*', '/', '%', '^':
		if !e.isNumeral() {
			fs.toOperand(e)
		}
	default:
		fs.toOperand(e)
	}
}

// postfix applies a binary operator after its operands.
func (fs *functionState) postfix(op token, a, b *expression) {
	switch op {
	case tokAnd:
		fs.dischargeVariables(b)
		b.falseList = fs.join(b.falseList, a.falseList)
		*a = *b
	case tokOr:
		fs.dischargeVariables(b)
		b.trueList = fs.join(b.trueList, a.trueList)
		*a = *b
	case tokConcat:
		fs.toValue(b)
		if b.kind == expRelocate && opcode(*fs.at(b)) == opConcat {
			fs.freeExpression(a)
			setArgB(fs.at(b), a.info)
			a.set(expRelocate, b.info)
		} else {
			fs.toNextRegister(b)
			fs.arithmetic(opConcat, a, b)
		}
	case tokEq:
		fs.compare(opEq, 1, a, b)
	case tokNe:
		fs.compare(opEq, 0, a, b)
	case '<':
		fs.compare(opLt, 1, a, b)
	case tokLe:
		fs.compare(opLe, 1, a, b)
	case '>':
		fs.compare(opLt, 0, a, b)
	case tokGe:
		fs.compare(opLe, 0, a, b)
	default:
		fs.arithmetic(arithmeticOperation(op), a, b)
	}
}

func arithmeticOperation(op token) int {
	switch op {
	case '+':
		return opAdd
	case '-':
		return opSub
	case '*':
		return opMul
	case '/':
		return opDiv
	case '%':
		return opMod
	default:
		return opPow
	}
}

// setList makes the instruction that sets the items of a constructor.
func (fs *functionState) setList(table, items, pending int) {
	batch := (items-1)/fieldsPerFlush + 1
	count := pending
	if pending == multiple {
		count = 0
	}
	if batch <= maxArgC {
		fs.emitABC(opSetList, table, count, batch)
	} else {
		fs.emitABC(opSetList, table, count, 0)
		fs.emit(instruction(batch), fs.parser.lx.lastLine)
	}
	fs.free = table + 1
}
