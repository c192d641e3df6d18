package lua

// An instruction has the layout of Lua 5.1. It has 6 bits for the operation, then A (8 bits), C (9) and B
// (9), or Bx (18) in the place of C and B. In B and C the bit rkBit says that the operand is a constant.
type instruction = uint32

// The operations. R is a register, K a constant, RK either of them, U a variable of an enclosing function.
const (
	opMove      = iota // R(A) := R(B)
	opLoadK            // R(A) := K(Bx)
	opLoadBool         // R(A) := B; if C, skip one
	opLoadNil          // R(A) to R(B) := nil
	opGetUpval         // R(A) := U(B)
	opGetGlobal        // R(A) := Env[K(Bx)]
	opGetTable         // R(A) := R(B)[RK(C)]
	opSetGlobal        // Env[K(Bx)] := R(A)
	opSetUpval         // U(B) := R(A)
	opSetTable         // R(A)[RK(B)] := RK(C)
	opNewTable         // R(A) := {} with sizes B and C
	opSelf             // R(A+1) := R(B); R(A) := R(B)[RK(C)]
	opAdd              // R(A) := RK(B) + RK(C)
	opSub
	opMul
	opDiv
	opMod
	opPow
	opUnm      // R(A) := -R(B)
	opNot      // R(A) := not R(B)
	opLen      // R(A) := #R(B)
	opConcat   // R(A) := R(B) .. ... .. R(C)
	opJmp      // pc += sBx
	opEq       // if (RK(B) == RK(C)) ~= A, skip one
	opLt       // if (RK(B) < RK(C)) ~= A, skip one
	opLe       // if (RK(B) <= RK(C)) ~= A, skip one
	opTest     // if not (R(A) <=> C), skip one
	opTestSet  // if R(B) <=> C, R(A) := R(B), else skip one
	opCall     // R(A), ... := R(A)(R(A+1), ...): B-1 arguments, C-1 results
	opTailCall // return R(A)(R(A+1), ...)
	opReturn   // return R(A), ...: B-1 values
	opForLoop  // R(A) += R(A+2); if within R(A+1), pc += sBx and R(A+3) := R(A)
	opForPrep  // R(A) -= R(A+2); pc += sBx
	opTForLoop // R(A+3), ... := R(A)(R(A+1), R(A+2)); if R(A+3) ~= nil, R(A+2) := R(A+3), else skip one
	opSetList  // R(A)[(C-1)*fieldsPerFlush+i] := R(A+i), i up to B
	opClose    // close variables from R(A) on
	opClosure  // R(A) := closure of the function Bx
	opVararg   // R(A), ... := the arguments: B-1 of them
)

// Fields of an instruction.
const (
	shiftA  = 6
	shiftC  = 14
	shiftB  = 23
	maxBx   = 1<<18 - 1
	maxSBx  = maxBx >> 1
	maxArgC = 1<<9 - 1
	rkBit   = 1 << 8 // in B or C: a constant
	rkBitB  = rkBit << shiftB
	rkBitC  = rkBit << shiftC
	maxRK   = rkBit - 1
	// noRegister is an operand that is set later.
	noRegister = 1<<8 - 1
	// fieldsPerFlush is the number of a constructor's items that one instruction stores.
	fieldsPerFlush = 50
)

func makeABC(op, a, b, c int) instruction {
	return uint32(op) | uint32(a)<<shiftA | uint32(b)<<shiftB | uint32(c)<<shiftC
}

func makeABx(op, a, bx int) instruction { return uint32(op) | uint32(a)<<shiftA | uint32(bx)<<shiftC }

func opcode(i instruction) int { return int(i & 0x3f) }
func argA(i instruction) int   { return int(i>>shiftA) & 0xff }
func argB(i instruction) int   { return int(i >> shiftB) }
func argC(i instruction) int   { return int(i>>shiftC) & 0x1ff }
func argBx(i instruction) int  { return int(i >> shiftC) }
func argSBx(i instruction) int { return int(i>>shiftC) - maxSBx }

func setArgA(i *instruction, a int)  { *i = *i&^(0xff<<shiftA) | uint32(a)<<shiftA }
func setArgB(i *instruction, b int)  { *i = *i&^(0x1ff<<shiftB) | uint32(b)<<shiftB }
func setArgC(i *instruction, c int)  { *i = *i&^(0x1ff<<shiftC) | uint32(c)<<shiftC }
func setSBx(i *instruction, sbx int) { *i = *i&(1<<shiftC-1) | uint32(sbx+maxSBx)<<shiftC }
func isConstant(operand int) bool    { return operand&rkBit != 0 }

// isTest reports whether a jump follows the operation, which the operation may skip.
func isTest(op int) bool {
	switch op {
	case opEq, opLt, opLe, opTest, opTestSet, opTForLoop:
		return true
	default:
		return false
	}
}

// Proto is a compiled function. It is immutable: any number of threads may run it at the same time.
type Proto struct {
	Source      string
	LineDefined int
	code        []instruction
	constants   []Value
	hashes      []uint32 // of the constants that are strings
	inner       []*Proto
	lines       []int32 // the line of each instruction
	locals      []localInfo
	upvalues    []string // names of the captured variables
	upvalueFrom []capturedFrom
	numParams   uint8
	maxStack    uint8
	vararg      bool // takes any number of arguments
	needsArg    bool // the extra arguments are in a table named arg
}

// localInfo says which instructions see a local variable.
type localInfo struct {
	name     string
	from, to int
}

// capturedFrom says where a closure finds a variable of the enclosing function.
type capturedFrom struct {
	local bool // it is a register of that function; otherwise that function has captured it, too
	index uint8
}

// line is the line of an instruction.
func (p *Proto) line(pc int) int {
	if pc < 0 || pc >= len(p.lines) {
		return p.LineDefined
	}
	return int(p.lines[pc])
}

// multiple asks for all values of an expression.
const multiple = -1

// floatingByte rounds a size up to a value that nine bits can represent: eeeeexxx is 1xxx * 2^(eeeee-1).
func floatingByte(x int) int {
	e := 0
	for x >= 16 {
		x = (x + 1) >> 1
		e++
	}
	if x < 8 {
		return x
	}
	return (e+1)<<3 | (x - 8)
}

// fromFloatingByte is the size that floatingByte wrote.
func fromFloatingByte(x int) int {
	e := x >> 3 & 31
	if e == 0 {
		return x
	}
	return (x&7 + 8) << (e - 1)
}
