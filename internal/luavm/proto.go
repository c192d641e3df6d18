package luavm

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// Proto is a compiled chunk. It is immutable: any number of states may run it at the same time.
type Proto struct {
	proto *lua.FunctionProto
}

// CompileError is why a source is not a chunk.
type CompileError struct {
	// Message is Lua's: chunk name, line, what was wrong and near what.
	Message string
}

func (e *CompileError) Error() string { return e.Message }

// maxCode is how many instructions a function may have: the interpreter's jumps reach that far.
const maxCode = 130_000

// Compile parses source by Lua 5.1's grammar and compiles it. chunkName is in the messages: "user_script".
// The error is a *CompileError with the text that Lua has for it.
func Compile(chunkName string, source []byte) (*Proto, error) {
	return compile(chunkName, chunkName, string(source))
}

// compile compiles with one name for the messages of the compiler and one for those at run time.
func compile(messageName, chunkName, source string) (p *Proto, err error) {
	defer func() {
		switch failure := recover().(type) {
		case nil:
		case *CompileError:
			err = failure
		default:
			panic(failure)
		}
	}()
	statements := parseChunk(messageName, source)
	proto, err := lua.Compile(statements, chunkName)
	if err != nil {
		return nil, translateCompileError(messageName, err)
	}
	if err := link(messageName, proto); err != nil {
		return nil, err
	}
	if proto.IsVarArg&lua.VarArgNeedsArg != 0 {
		// The main function does not use its arguments. Lua has no table arg of them, which would
		// cost more than many a script.
		proto.IsVarArg = 0
	}
	return &Proto{proto: proto}, nil
}

// translateCompileError gives Lua's words to the limits of the interpreter's compiler.
func translateCompileError(messageName string, err error) error {
	line := 0
	var limit *lua.CompileError
	if errors.As(err, &limit) {
		line = limit.Line
	}
	return &CompileError{Message: fmt.Sprintf("%s:%d: function or expression too complex", messageName, line)}
}

// Fields of an instruction.
const (
	opShift = 26
	aShift  = 18
	aMask   = 0xff
	cShift  = 9
	bcMask  = 0x1ff
	bxMask  = 0x3ffff
	rkBit   = 1 << 8 // in B or C: a constant
)

func opcode(inst uint32) int { return int(inst >> opShift) }
func argA(inst uint32) int   { return int(inst>>aShift) & aMask }
func argB(inst uint32) int   { return int(inst & bcMask) }
func argC(inst uint32) int   { return int(inst>>cShift) & bcMask }
func argBx(inst uint32) int  { return int(inst & bxMask) }

// link inserts the helpers that the parser named. Reading a global of such a name becomes loading a constant,
// and the mark before a break becomes the closing of variables.
func link(chunkName string, proto *lua.FunctionProto) error {
	if len(proto.Code) > maxCode {
		return &CompileError{Message: fmt.Sprintf("%s:%d: control structure too long", chunkName, proto.LineDefined)}
	}
	constants := make(map[string]int) // of the helpers
	for pc, inst := range proto.Code {
		if opcode(inst) != lua.OP_GETGLOBAL {
			continue
		}
		name := string(proto.Constants[argBx(inst)].(lua.LString))
		if !strings.HasPrefix(name, helperMark) {
			continue
		}
		if base, ok := strings.CutPrefix(name, helperClose); ok {
			register, err := strconv.Atoi(base)
			if err != nil {
				panic(err) // the parser wrote this name
			}
			proto.Code[pc] = uint32(lua.OP_CLOSE)<<opShift | uint32(register)<<aShift
			continue
		}
		index, ok := constants[name]
		if !ok {
			index = len(proto.Constants)
			constants[name] = index
			proto.Constants = append(proto.Constants, helperValue(name))
		}
		proto.Code[pc] = uint32(lua.OP_LOADK)<<opShift | uint32(argA(inst))<<aShift | uint32(index)
	}
	for _, inner := range proto.FunctionPrototypes {
		if err := link(chunkName, inner); err != nil {
			return err
		}
	}
	return nil
}
