package luavm

import (
	"fmt"
	"strconv"

	"github.com/yuin/gopher-lua/ast"
)

// parser builds the interpreter's syntax tree by Lua 5.1's grammar, with Lua's messages and
// limits. Where the interpreter's own instruction would not do what Lua does, the tree calls
// one of the helpers in operators.go.
type parser struct {
	lx     *lexer
	scope  *scope
	levels int
	chains int
	jumps  int // see countJump
	// declared counts variables, to give each a name of its own.
	declared int
}

// parseChunk turns source into statements. It panics with *CompileError.
func parseChunk(chunk, source string) []ast.Stmt {
	p := &parser{lx: newLexer(chunk, source)}
	p.scope = &scope{vararg: true}
	p.lx.next()
	body := p.block()
	p.check(tokEOS)
	return body
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

// expectMatch wants the token that closes what opened at line.
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
	name := p.lx.text
	p.lx.next()
	return name
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

// block parses statements up to what closes them; the names that they declare stay known.
func (p *parser) block() []ast.Stmt {
	p.enter()
	var list []ast.Stmt
	for last := false; !last && !p.blockEnds(); {
		var stmt ast.Stmt
		stmt, last = p.statement()
		if stmt != nil {
			list = append(list, stmt)
		}
		p.accept(';')
	}
	p.leave()
	return list
}

// scopedBlock is a block with its own names.
func (p *parser) scopedBlock(loop bool) []ast.Stmt {
	p.openBlock(loop)
	list := p.block()
	p.closeBlock()
	return list
}

// placed gives a node its lines.
func placed[N ast.PositionHolder](node N, line, last int) N {
	node.SetLine(line)
	node.SetLastLine(last)
	return node
}

// statement parses one; last tells that none may follow in the block.
func (p *parser) statement() (stmt ast.Stmt, last bool) {
	line := p.lx.line
	switch p.lx.kind {
	case tokIf:
		stmt = p.ifStatement(line)
	case tokWhile:
		stmt = p.whileStatement(line)
	case tokDo:
		p.lx.next()
		stmt = &ast.DoBlockStmt{Stmts: p.scopedBlock(false)}
		p.expectMatch(tokEnd, tokDo, line)
	case tokFor:
		stmt = p.forStatement(line)
	case tokRepeat:
		stmt = p.repeatStatement(line)
	case tokFunction:
		stmt = p.functionStatement(line)
	case tokLocal:
		p.lx.next()
		if p.accept(tokFunction) {
			stmt = p.localFunction(line)
		} else {
			stmt = p.localStatement()
		}
	case tokReturn:
		stmt, last = p.returnStatement(), true
	case tokBreak:
		stmt, last = p.breakStatement(line), true
	default:
		stmt = p.expressionStatement()
	}
	return placed(stmt, line, p.lx.lastLine), last
}

func (p *parser) ifStatement(line int) ast.Stmt {
	first := &ast.IfStmt{}
	current := first
	for links := 0; ; links++ {
		p.chained(links)
		p.lx.next()
		current.Condition = p.condition()
		p.expect(tokThen)
		current.Then = p.scopedBlock(false)
		if p.lx.kind != tokElseif {
			break
		}
		below := placed(&ast.IfStmt{}, p.lx.line, p.lx.line)
		current.Else = []ast.Stmt{below}
		current = below
	}
	if p.accept(tokElse) {
		current.Else = p.scopedBlock(false)
	}
	p.expectMatch(tokEnd, tokIf, line)
	return first
}

func (p *parser) whileStatement(line int) ast.Stmt {
	p.lx.next()
	stmt := &ast.WhileStmt{Condition: p.condition()}
	p.expect(tokDo)
	jumps := p.jumps
	stmt.Stmts = p.steady(jumps, p.scopedBlock(true))
	p.expectMatch(tokEnd, tokWhile, line)
	return stmt
}

// repeatStatement parses a loop with a condition that sees the names of its body.
func (p *parser) repeatStatement(line int) ast.Stmt {
	p.openBlock(true)
	p.openBlock(false)
	p.lx.next()
	jumps := p.jumps
	stmt := &ast.RepeatStmt{Stmts: p.block()}
	stmt.Stmts = p.steady(jumps, stmt.Stmts)
	p.expectMatch(tokUntil, tokRepeat, line)
	stmt.Condition = p.condition()
	p.closeBlock()
	p.closeBlock()
	return stmt
}

func (p *parser) forStatement(line int) ast.Stmt {
	p.openBlock(true)
	p.lx.next()
	name := p.name()
	var stmt ast.Stmt
	switch p.lx.kind {
	case '=':
		stmt = p.numericFor(name)
	case ',', tokIn:
		stmt = p.genericFor(name)
	default:
		p.syntaxError("'=' or 'in' expected")
	}
	p.expectMatch(tokEnd, tokFor, line)
	p.closeBlock()
	return stmt
}

// forHidden are the three values that a loop keeps beside its variables.
var forHidden = [3]string{"(for index)", "(for limit)", "(for step)"}

func (p *parser) numericFor(name string) ast.Stmt {
	stmt := &ast.NumberForStmt{}
	p.checkLocals(4)
	p.expect('=')
	stmt.Init = forBound(p.expression())
	p.expect(',')
	stmt.Limit = forBound(p.expression())
	if p.accept(',') {
		stmt.Step = forBound(p.expression())
	}
	names, body := p.forBody(name)
	stmt.Name, stmt.Stmts = names[0], body
	return stmt
}

func (p *parser) genericFor(name string) ast.Stmt {
	stmt := &ast.GenericForStmt{Names: []string{name}}
	for p.accept(',') {
		p.checkLocals(3 + len(stmt.Names) + 1)
		stmt.Names = append(stmt.Names, p.name())
	}
	p.expect(tokIn)
	line := p.lx.line
	values := p.expressions()
	if call, ok := values[0].(*ast.FuncCallExpr); ok && len(values) == 1 && !call.AdjustRet {
		stmt.Exprs = values
		stmt.Names, stmt.Stmts = p.forBody(stmt.Names...)
		return stmt
	}
	// Only where a single call gives all three values does the interpreter's compiler set all of them.
	names := p.declare(forHidden[:]...)
	for _, name := range names {
		stmt.Exprs = append(stmt.Exprs, placed(&ast.IdentExpr{Value: name}, line, line))
	}
	stmt.Names, stmt.Stmts = p.forBody(stmt.Names...)
	keep := placed(&ast.LocalAssignStmt{Names: names, Exprs: values}, line, line)
	return &ast.DoBlockStmt{Stmts: []ast.Stmt{keep, placed(stmt, line, line)}}
}

func (p *parser) forBody(names ...string) (unique []string, body []ast.Stmt) {
	p.declareAs(forHidden[:]...)
	p.expect(tokDo)
	p.openBlock(false)
	p.checkLocals(len(names))
	unique = p.declare(names...)
	jumps := p.jumps
	body = p.steady(jumps, p.block())
	p.closeBlock()
	return unique, body
}

// breakStatement leaves a loop. The interpreter's compiler closes the variables of the loop's own block only,
// not those of blocks within it, so that happens before, in an instruction that Compile puts in.
func (p *parser) breakStatement(line int) ast.Stmt {
	p.lx.next()
	base, ok := p.loopBase()
	if !ok {
		p.syntaxError("no loop to break")
	}
	leave := placed(&ast.BreakStmt{}, line, line)
	if !p.capturedFrom(base) {
		return leave
	}
	mark := placed(&ast.LocalAssignStmt{
		Names: []string{uniqueMark},
		Exprs: []ast.Expr{helperExpr(helperClose+strconv.Itoa(base), line)},
	}, line, line)
	return &ast.DoBlockStmt{Stmts: []ast.Stmt{mark, leave}}
}

func (p *parser) functionStatement(line int) ast.Stmt {
	p.lx.next()
	name := p.name()
	target, global := p.variable(name, line)
	method := false
	for links := 0; p.lx.kind == '.' || p.lx.kind == ':'; links++ {
		p.chained(links)
		global, method = false, p.lx.kind == ':'
		p.lx.next()
		target = placed(&ast.AttrGetExpr{Object: target, Key: p.stringExpr(p.name())}, line, line)
		if method {
			break
		}
	}
	fn := p.functionBody(method, line)
	if global {
		target = p.globalTarget(name, line)
	}
	return &ast.AssignStmt{Lhs: []ast.Expr{target}, Rhs: []ast.Expr{fn}}
}

func (p *parser) localFunction(line int) ast.Stmt {
	name := p.name()
	p.checkLocals(1)
	names := p.declare(name)
	fn := p.functionBody(false, line)
	return &ast.LocalAssignStmt{Names: names, Exprs: []ast.Expr{fn}}
}

func (p *parser) localStatement() ast.Stmt {
	stmt := &ast.LocalAssignStmt{}
	for {
		p.checkLocals(len(stmt.Names) + 1)
		stmt.Names = append(stmt.Names, p.name())
		if !p.accept(',') {
			break
		}
	}
	if p.accept('=') {
		stmt.Exprs = p.expressions()
	}
	stmt.Names = p.declare(stmt.Names...)
	return stmt
}

func (p *parser) returnStatement() ast.Stmt {
	p.lx.next()
	stmt := &ast.ReturnStmt{}
	if !p.blockEnds() && p.lx.kind != ';' {
		stmt.Exprs = p.expressions()
	}
	return stmt
}
