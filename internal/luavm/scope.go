package luavm

import (
	"fmt"
	"strconv"
)

// Limits of Lua 5.1 on one function.
const (
	maxLocals   = 200
	maxUpvalues = 60
)

// maxLevels is how deep blocks and expressions may nest, Lua's LUAI_MAXCCALLS.
const maxLevels = 200

// freeChain operators or suffixes in a row cost nothing. More are charged to chainBudget, one for the whole
// chunk. The compiler behind the parser recurses along such chains, and a Go stack overflow ends the process.
const (
	freeChain   = 50
	chainBudget = 5000
)

// local is a declared variable. Its position among the locals of the function is its register.
type local struct {
	name string
	// unique is the name that the interpreter's compiler sees: that resolves names by itself, and takes
	// `local f = function() return f end` for recursive.
	unique   string
	captured bool // by a function within
}

// variable is a local as one function sees it.
type variable struct {
	owner *scope
	index int
}

// block is an open block: whether it is a loop, and how many locals were there before it.
type block struct {
	loop bool
	base int
}

// scope is a function under compilation: which names are its locals, which it takes
// from the functions around it.
type scope struct {
	parent   *scope
	locals   []local // active ones, innermost last
	blocks   []block // open ones
	upvalues map[variable]bool
	// constants are the distinct ones; the interpreter's compiler looks through all of them for each.
	constants map[string]struct{}
	vararg    bool
	line      int
}

// resolve tells whether name is a local of this function or of one around it; elsewhere it is a global.
func (p *parser) resolve(s *scope, name string) (variable, bool) {
	if s == nil {
		return variable{}, false
	}
	for i := len(s.locals) - 1; i >= 0; i-- {
		if s.locals[i].name == name {
			return variable{owner: s, index: i}, true
		}
	}
	v, found := p.resolve(s.parent, name)
	if found && !s.upvalues[v] {
		p.limit(s, len(s.upvalues)+1, maxUpvalues, "upvalues")
		if s.upvalues == nil {
			s.upvalues = make(map[variable]bool)
		}
		s.upvalues[v] = true
		v.owner.locals[v.index].captured = true
	}
	return v, found
}

// limit refuses count things where a function may have max.
func (p *parser) limit(s *scope, count, max int, what string) {
	if count <= max {
		return
	}
	message := fmt.Sprintf("main function has more than %d %s", max, what)
	if s.line > 0 {
		message = fmt.Sprintf("function at line %d has more than %d %s", s.line, max, what)
	}
	p.lx.fail(message, noToken)
}

// checkLocals refuses more locals than a function may have, pending of them not declared yet.
func (p *parser) checkLocals(pending int) {
	p.limit(p.scope, len(p.scope.locals)+pending, maxLocals, "local variables")
}

// declare makes names known from here on and returns what the interpreter's compiler is to call them.
func (p *parser) declare(names ...string) []string {
	unique := make([]string, len(names))
	for i, name := range names {
		p.declared++
		unique[i] = name + uniqueMark + strconv.Itoa(p.declared) + ":" + strconv.Itoa(len(p.scope.locals))
		p.scope.locals = append(p.scope.locals, local{name: name, unique: unique[i]})
	}
	return unique
}

// uniqueMark separates a variable's name from the number that makes it unique; its
// register follows after a colon.
const uniqueMark = "\x00"

// declareAs is declare for what the interpreter's compiler names by itself.
func (p *parser) declareAs(names ...string) {
	for _, name := range names {
		p.scope.locals = append(p.scope.locals, local{name: name, unique: name})
	}
}

// openBlock begins a block.
func (p *parser) openBlock(loop bool) {
	p.scope.blocks = append(p.scope.blocks, block{loop: loop, base: len(p.scope.locals)})
}

// closeBlock forgets what the innermost block declared.
func (p *parser) closeBlock() {
	last := len(p.scope.blocks) - 1
	p.scope.locals = p.scope.locals[:p.scope.blocks[last].base]
	p.scope.blocks = p.scope.blocks[:last]
}

// loopBase is the number of locals before the innermost loop.
func (p *parser) loopBase() (int, bool) {
	for i := len(p.scope.blocks) - 1; i >= 0; i-- {
		if p.scope.blocks[i].loop {
			return p.scope.blocks[i].base, true
		}
	}
	return 0, false
}

// capturedFrom tells whether a function holds on to one of the locals from base on.
func (p *parser) capturedFrom(base int) bool {
	for _, v := range p.scope.locals[base:] {
		if v.captured {
			return true
		}
	}
	return false
}

// maxConstants is how many distinct constants a function may have.
const maxConstants = 8192

// constant counts one of the function's constants.
func (p *parser) constant(key string) {
	if p.scope.constants == nil {
		p.scope.constants = make(map[string]struct{})
	}
	p.scope.constants[key] = struct{}{}
	if len(p.scope.constants) > maxConstants {
		p.lx.fail("constant table overflow", noToken)
	}
}

// enter counts a level of nesting; leave undoes it.
func (p *parser) enter() {
	p.levels++
	if p.levels > maxLevels {
		p.lx.fail("chunk has too many syntax levels", noToken)
	}
}

func (p *parser) leave() { p.levels-- }

// chained is called with the length of a chain at each of its links.
func (p *parser) chained(length int) {
	if length <= freeChain {
		return
	}
	p.chains++
	if p.chains > chainBudget {
		p.lx.fail("chunk has too many syntax levels", noToken)
	}
}
