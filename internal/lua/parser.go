package lua

import (
	"fmt"
	"slices"
)

// parser reads Lua 5.1's grammar and makes code in one pass, as lparser.c does. See NOTICE.
type parser struct {
	lx     *lexer
	fs     *functionState
	levels int
	names  map[string]string
}

// Limits of Lua 5.1 for a function.
const (
	maxLocals   = 200
	maxUpvalues = 60
	// maxLevels is how deep blocks and expressions may nest, Lua's LUAI_MAXCCALLS.
	maxLevels = 200
)

// functionState is a function under compilation.
type functionState struct {
	proto      *Proto
	parser     *parser
	outer      *functionState
	block      *blockState
	constants  map[constantKey]int
	lastTarget int   // of a jump
	pending    int   // list of jumps to the next instruction
	free       int   // the first free register
	active     []int // index in proto.locals of the local variable in each register
	upvalues   []capturedFrom
	vararg     bool
}

type constantKey struct {
	text string
	tag  uint64
}

// blockState is an open block.
type blockState struct {
	outer    *blockState
	breaks   int // list of jumps out of this loop
	active   int // local variables outside
	captured bool
	loop     bool
}

// Compile compiles a source by Lua 5.1's grammar. messageName is the chunk's name in the messages of the
// compiler, chunkName its name at run time. The error is a *CompileError with Lua's text.
func Compile(messageName, chunkName, source string) (p *Proto, err error) {
	defer func() {
		switch failure := recover().(type) {
		case nil:
		case *CompileError:
			err = failure
		default:
			panic(failure)
		}
	}()
	ps := &parser{lx: newLexer(messageName, source)}
	ps.open(chunkName, 0)
	ps.fs.proto.vararg, ps.fs.vararg = true, true
	ps.lx.next()
	ps.chunk()
	ps.check(tokEOS)
	return ps.close(), nil
}

// intern returns a copy of text that does not keep the source in memory. Equal names share the copy.
func (p *parser) intern(text string) string {
	if known, ok := p.names[text]; ok {
		return known
	}
	if p.names == nil {
		p.names = make(map[string]string)
	}
	p.names[text] = text
	return text
}

func (p *parser) open(source string, line int) {
	p.fs = &functionState{
		proto: &Proto{Source: source, LineDefined: line, maxStack: 2}, parser: p, outer: p.fs, lastTarget: -1, pending: noJump,
	}
}

// close ends the function and returns to the enclosing function.
func (p *parser) close() *Proto {
	fs := p.fs
	fs.removeLocals(0)
	fs.emitReturn(0, 0)
	p.fs = fs.outer
	proto := fs.proto
	proto.upvalueFrom = slices.Clip(fs.upvalues)
	proto.code, proto.lines = slices.Clone(proto.code), slices.Clone(proto.lines)
	proto.constants, proto.hashes = slices.Clone(proto.constants), slices.Clone(proto.hashes)
	return proto
}

func (p *parser) syntaxError(message string) { p.lx.fail(message, p.lx.kind) }

func (p *parser) expected(t token) { p.syntaxError("'" + t.String() + "' expected") }

func (p *parser) check(t token) {
	if p.lx.kind != t {
		p.expected(t)
	}
}

func (p *parser) expect(t token) {
	p.check(t)
	p.lx.next()
}

func (p *parser) accept(t token) bool {
	if p.lx.kind != t {
		return false
	}
	p.lx.next()
	return true
}

// expectMatch requires the token that closes the token opened at line.
func (p *parser) expectMatch(what, opened token, line int) {
	if p.accept(what) {
		return
	}
	if line == p.lx.line {
		p.expected(what)
	}
	p.syntaxError(fmt.Sprintf("'%s' expected (to close '%s' at line %d)", what, opened, line))
}

func (p *parser) name() string {
	p.check(tokName)
	name := p.intern(p.lx.text)
	p.lx.next()
	return name
}

// nameConstant is a name as a string.
func (p *parser) nameConstant() expression { return p.stringConstant(p.name()) }

func (p *parser) stringConstant(text string) expression {
	return newExpression(expK, p.fs.constant(String(text)))
}

// limit fails if count is larger than max.
func (fs *functionState) limit(count, max int, what string) {
	if count <= max {
		return
	}
	message := fmt.Sprintf("main function has more than %d %s", max, what)
	if fs.proto.LineDefined > 0 {
		message = fmt.Sprintf("function at line %d has more than %d %s", fs.proto.LineDefined, max, what)
	}
	fs.parser.lx.fail(message, noToken)
}

// enter counts a level of nesting; leave undoes it.
func (p *parser) enter() {
	p.levels++
	if p.levels > maxLevels {
		p.lx.fail("chunk has too many syntax levels", noToken)
	}
}

func (p *parser) leave() { p.levels-- }

// declare adds local variables. activate makes them visible.
func (fs *functionState) declare(pending int, names ...string) {
	for i, name := range names {
		fs.limit(len(fs.active)+pending+i+1, maxLocals, "local variables")
		fs.proto.locals = append(fs.proto.locals, localInfo{name: name})
	}
}

// activate makes the last count declared variables visible.
func (fs *functionState) activate(count int) {
	first := len(fs.proto.locals) - count
	for i := range count {
		fs.active = append(fs.active, first+i)
		fs.proto.locals[first+i].from = fs.pc()
	}
}

func (fs *functionState) removeLocals(level int) {
	for _, local := range fs.active[level:] {
		fs.proto.locals[local].to = fs.pc()
	}
	fs.active = fs.active[:level]
}

// local returns the register of a local variable, or -1 if the function has no variable with this name.
func (fs *functionState) local(name string) int {
	for i := len(fs.active) - 1; i >= 0; i-- {
		if fs.proto.locals[fs.active[i]].name == name {
			return i
		}
	}
	return -1
}

func (fs *functionState) upvalue(name string, from capturedFrom) int {
	for i, known := range fs.upvalues {
		if known == from {
			return i
		}
	}
	fs.limit(len(fs.upvalues)+1, maxUpvalues, "upvalues")
	fs.upvalues = append(fs.upvalues, from)
	fs.proto.upvalues = append(fs.proto.upvalues, name)
	return len(fs.upvalues) - 1
}

// resolve finds the variable of a name. inner says that a function inside fs asks.
func (fs *functionState) resolve(name string, inner bool) expression {
	if fs == nil {
		return newExpression(expGlobal, noRegister)
	}
	if register := fs.local(name); register >= 0 {
		if inner {
			block := fs.block
			for block != nil && block.active > register {
				block = block.outer
			}
			if block != nil {
				block.captured = true
			}
		}
		return newExpression(expLocal, register)
	}
	found := fs.outer.resolve(name, true)
	if found.kind == expGlobal {
		return found
	}
	from := capturedFrom{local: found.kind == expLocal, index: uint8(found.info)}
	return newExpression(expUpvalue, fs.upvalue(name, from))
}

func (p *parser) variable() expression {
	name := p.name()
	e := p.fs.resolve(name, false)
	if e.kind == expGlobal {
		e.info = p.fs.constant(String(name))
	}
	return e
}

func (fs *functionState) enterBlock(loop bool) *blockState {
	fs.block = &blockState{outer: fs.block, breaks: noJump, active: len(fs.active), loop: loop}
	return fs.block
}

func (fs *functionState) leaveBlock() {
	block := fs.block
	fs.block = block.outer
	fs.removeLocals(block.active)
	if block.captured {
		fs.emitABC(opClose, block.active, 0, 0)
	}
	fs.free = len(fs.active)
	fs.patchHere(block.breaks)
}

// blockEnds tells whether the current token closes a block.
func (p *parser) blockEnds() bool {
	switch p.lx.kind {
	case tokElse, tokElseif, tokEnd, tokEOS, tokUntil:
		return true
	default:
		return false
	}
}

// chunk parses statements up to the token that closes them.
func (p *parser) chunk() {
	p.enter()
	for last := false; !last && !p.blockEnds(); {
		last = p.statement()
		p.accept(';')
		p.fs.free = len(p.fs.active)
	}
	p.leave()
}

// blockOf is a chunk with its own names.
func (p *parser) scopedBlock() {
	p.fs.enterBlock(false)
	p.chunk()
	p.fs.leaveBlock()
}
