package luavm

import (
	"strconv"

	"github.com/yuin/gopher-lua/ast"
)

// operand is a primary expression with what an assignment needs to know of it.
type operand struct {
	node       ast.Expr
	assignable bool
	parens     bool
	global     string // its name, when it is a global variable
}

// unaryPriority binds tighter than every binary operator but ^.
const unaryPriority = 8

// binaryPriority are the left and right priorities of an operator; 0 for what is none.
func binaryPriority(t token) (left, right int) {
	switch t {
	case '+', '-':
		return 6, 6
	case '*', '/', '%':
		return 7, 7
	case '^':
		return 10, 9
	case tokConcat:
		return 5, 4
	case tokEq, tokNe, '<', '>', tokLe, tokGe:
		return 3, 3
	case tokAnd:
		return 2, 2
	case tokOr:
		return 1, 1
	default:
		return 0, 0
	}
}

func (p *parser) expressions() []ast.Expr {
	list := []ast.Expr{p.expression()}
	for p.accept(',') {
		list = append(list, p.expression())
	}
	return list
}

func (p *parser) expression() ast.Expr { return p.operation(0) }

// operation parses operators that bind tighter than limit.
func (p *parser) operation(limit int) ast.Expr {
	p.enter()
	left := p.unary()
	for links := 0; ; links++ {
		op := p.lx.kind
		leftPriority, rightPriority := binaryPriority(op)
		if leftPriority <= limit {
			break
		}
		p.chained(links)
		p.lx.next()
		right := p.operation(rightPriority)
		left = p.binary(op, left, right)
	}
	p.leave()
	return left
}

func (p *parser) unary() ast.Expr {
	op, line := p.lx.kind, p.lx.line
	switch op {
	case tokNot, '-', '#':
		p.lx.next()
	default:
		return p.simple()
	}
	value := p.operation(unaryPriority)
	switch op {
	case tokNot:
		return placed(&ast.UnaryNotOpExpr{Expr: value}, line, p.lx.lastLine)
	case '#':
		return p.call(helperLen, line, value)
	default:
		if number, ok := constant(value); ok {
			return numberExpr(-number, line)
		}
		return placed(&ast.UnaryMinusOpExpr{Expr: value}, line, p.lx.lastLine)
	}
}

// binary joins two operands.
func (p *parser) binary(op token, left, right ast.Expr) ast.Expr {
	line := p.lx.lastLine
	switch op {
	case tokConcat:
		return p.concat(left, right)
	case tokAnd, tokOr:
		p.countJump(left)
		return placed(&ast.LogicalOpExpr{Operator: op.String(), Lhs: left, Rhs: right}, line, line)
	case tokEq, tokNe, '<', '>', tokLe, tokGe:
		return placed(&ast.RelationalOpExpr{Operator: op.String(), Lhs: left, Rhs: right}, line, line)
	}
	a, leftConst := constant(left)
	b, rightConst := constant(right)
	if leftConst && rightConst {
		if result, ok := fold(op, a, b); ok {
			return numberExpr(result, line)
		}
	}
	switch op {
	case '%':
		return p.call(helperMod, line, left, right)
	case '^':
		return p.call(helperPow, line, left, right)
	}
	return placed(&ast.ArithmeticOpExpr{Operator: op.String(), Lhs: left, Rhs: right}, line, line)
}

// concatWidth is how many operands one call of the helper joins: each needs a register.
const concatWidth = 40

// concat joins with the call that right already is, so that a chain is one call.
func (p *parser) concat(left, right ast.Expr) ast.Expr {
	call, ok := right.(*ast.FuncCallExpr)
	if ok && isHelper(call.Func, helperConcat) && len(call.Args) < concatWidth {
		call.Args = append(call.Args, nil)
		copy(call.Args[1:], call.Args)
		call.Args[0] = single(left)
		return call
	}
	return p.call(helperConcat, p.lx.lastLine, left, right)
}

// single makes a call or `...` stand for one value.
func single(e ast.Expr) ast.Expr {
	switch node := e.(type) {
	case *ast.FuncCallExpr:
		node.AdjustRet = true
	case *ast.Comma3Expr:
		node.AdjustRet = true
	}
	return e
}

// call is a call of a helper that yields one value.
func (p *parser) call(helper string, line int, args ...ast.Expr) ast.Expr {
	for i := range args {
		args[i] = single(args[i])
	}
	return placed(&ast.FuncCallExpr{Func: helperExpr(helper, line), Args: args, AdjustRet: true}, line, line)
}

func helperExpr(helper string, line int) ast.Expr {
	return placed(&ast.IdentExpr{Value: helper}, line, line)
}

func isHelper(e ast.Expr, helper string) bool {
	ident, ok := e.(*ast.IdentExpr)
	return ok && ident.Value == helper
}

// constant is the number that e always is.
func constant(e ast.Expr) (float64, bool) {
	node, ok := e.(*ast.NumberExpr)
	if !ok {
		return 0, false
	}
	return parseNumber(node.Value)
}

// fold computes an operation on constants, unless Lua leaves it to run time.
func fold(op token, a, b float64) (float64, bool) {
	switch op {
	case '+':
		a += b
	case '-':
		a -= b
	case '*':
		a *= b
	case '/':
		if b == 0 {
			return 0, false
		}
		a /= b
	case '%':
		if b == 0 {
			return 0, false
		}
		a = modulo(a, b)
	case '^':
		a = power(a, b)
	}
	return a, a == a
}

// numberExpr is a constant, written so that the interpreter's own reading of it (which
// takes 010 for octal) is right.
func numberExpr(number float64, line int) ast.Expr {
	return placed(&ast.NumberExpr{Value: strconv.FormatFloat(number, 'e', -1, 64)}, line, line)
}

func (p *parser) stringExpr(text string) ast.Expr {
	p.constant("s" + text)
	return placed(&ast.StringExpr{Value: text}, p.lx.lastLine, p.lx.lastLine)
}

// forBound makes a bound of a loop a number: the interpreter's loop does not convert strings, its subtraction
// does, and leaves every number as it is. arithmeticFailed knows these subtractions by the loop that follows.
func forBound(e ast.Expr) ast.Expr {
	switch e.(type) {
	case *ast.NumberExpr:
		return e
	default:
		if call, ok := e.(*ast.FuncCallExpr); ok && isHelper(call.Func, helperLen) {
			return e
		}
		line := e.Line()
		return placed(&ast.ArithmeticOpExpr{Operator: "-", Lhs: single(e), Rhs: numberExpr(0, line)}, line, line)
	}
}

func (p *parser) simple() ast.Expr {
	line := p.lx.line
	var node ast.Expr
	switch p.lx.kind {
	case tokNumber:
		p.constant(strconv.FormatFloat(p.lx.number, 'g', -1, 64))
		node = numberExpr(p.lx.number, line)
	case tokString:
		p.constant("s" + p.lx.text)
		node = &ast.StringExpr{Value: p.lx.text}
	case tokNil:
		node = &ast.NilExpr{}
	case tokTrue:
		node = &ast.TrueExpr{}
	case tokFalse:
		node = &ast.FalseExpr{}
	case tokDots:
		if !p.scope.vararg {
			p.syntaxError("cannot use '...' outside a vararg function")
		}
		node = &ast.Comma3Expr{}
	case '{':
		return p.table()
	case tokFunction:
		p.lx.next()
		return p.functionBody(false, line)
	default:
		return p.primary().node
	}
	p.lx.next()
	return placed(node, line, line)
}

// prefix parses a name or an expression in parentheses.
func (p *parser) prefix() operand {
	line := p.lx.line
	switch p.lx.kind {
	case '(':
		p.lx.next()
		node := single(p.expression())
		p.expectMatch(')', '(', line)
		return operand{node: node, parens: true}
	case tokName:
		name := p.name()
		node, global := p.variable(name, line)
		result := operand{node: node, assignable: true}
		if global {
			result.global = name
		}
		return result
	default:
		p.syntaxError("unexpected symbol")
		return operand{}
	}
}

// variable reads what name stands for, and tells whether that is a global.
func (p *parser) variable(name string, line int) (node ast.Expr, global bool) {
	v, found := p.resolve(p.scope, name)
	if found {
		name = v.owner.locals[v.index].unique
	} else {
		p.constant("s" + name)
	}
	return placed(&ast.IdentExpr{Value: name}, line, line), !found
}

// globalTarget is what an assignment to a global writes to. Globals cannot be written at all, and the
// interpreter's instruction for it would overwrite the ones that exist.
func (p *parser) globalTarget(name string, line int) ast.Expr {
	return placed(&ast.AttrGetExpr{Object: helperExpr(helperGlobals, line), Key: p.stringExpr(name)}, line, line)
}

// primary parses a prefix with its fields, indices and calls.
func (p *parser) primary() operand {
	result := p.prefix()
	for links := 0; ; links++ {
		p.chained(links)
		line := p.lx.line
		switch p.lx.kind {
		case '.':
			p.lx.next()
			key := p.stringExpr(p.name())
			result = operand{node: placed(&ast.AttrGetExpr{Object: result.node, Key: key}, line, line), assignable: true}
		case '[':
			key := p.index()
			result = operand{node: placed(&ast.AttrGetExpr{Object: result.node, Key: key}, line, line), assignable: true}
		case ':':
			p.lx.next()
			method := p.name()
			result = operand{node: p.arguments(&ast.FuncCallExpr{Receiver: result.node, Method: method})}
		case '(', tokString, '{':
			result = operand{node: p.arguments(&ast.FuncCallExpr{Func: result.node})}
		default:
			return result
		}
	}
}

func (p *parser) index() ast.Expr {
	p.lx.next()
	key := single(p.expression())
	p.expect(']')
	return key
}

func (p *parser) arguments(call *ast.FuncCallExpr) ast.Expr {
	line := p.lx.line
	switch p.lx.kind {
	case '(':
		if line != p.lx.lastLine {
			p.syntaxError("ambiguous syntax (function call x new statement)")
		}
		p.lx.next()
		if p.lx.kind != ')' {
			call.Args = p.expressions()
		}
		p.expectMatch(')', '(', line)
	case '{':
		call.Args = []ast.Expr{p.table()}
	case tokString:
		call.Args = []ast.Expr{p.stringExpr(p.lx.text)}
		p.lx.next()
	default:
		p.syntaxError("function arguments expected")
	}
	return placed(call, line, line)
}

// fieldsAtOnce is how many items one constructor of the interpreter holds: its instruction counts
// them in nine bits of blocks of fifty.
const fieldsAtOnce = 25_000

func (p *parser) table() ast.Expr {
	line := p.lx.line
	node := placed(&ast.TableExpr{}, line, line)
	parts := []ast.Expr{node}
	items, placesKeys := 0, false
	p.expect('{')
	for p.lx.kind != '}' {
		if items == fieldsAtOnce {
			items = 0
			node = placed(&ast.TableExpr{}, line, line)
			parts = append(parts, node)
			if len(parts) > concatWidth {
				p.lx.fail("table constructor too long", noToken)
			}
		}
		field, later := p.field()
		placesKeys = placesKeys || later
		if field.Key == nil {
			items++
		}
		node.Fields = append(node.Fields, field)
		if !p.accept(',') && !p.accept(';') {
			break
		}
	}
	p.expectMatch('}', '{', line)
	var whole ast.Expr = node
	if len(parts) > 1 {
		whole = p.call(helperJoin, line, parts...)
	}
	if placesKeys {
		whole = p.call(helperPlaceKeys, line, whole)
	}
	return whole
}

// field is one of a constructor; later tells that its key may be a large one, which is only put aside yet.
func (p *parser) field() (field *ast.Field, later bool) {
	var key ast.Expr
	switch {
	case p.lx.kind == tokName && p.peekedAssign():
		key = p.stringExpr(p.name())
	case p.lx.kind == '[':
		key = p.index()
		if !denseKey(key) {
			key, later = p.call(helperKey, p.lx.lastLine, key), true
		}
	default:
		return &ast.Field{Value: p.expression()}, false
	}
	p.expect('=')
	return &ast.Field{Key: key, Value: single(p.expression())}, later
}

// peekedAssign tells whether `=` follows the current token.
func (p *parser) peekedAssign() bool { return p.lx.peek() == '=' }

// functionBody parses parameters and statements up to `end`.
func (p *parser) functionBody(method bool, line int) *ast.FunctionExpr {
	p.scope = &scope{parent: p.scope, line: line}
	node := &ast.FunctionExpr{ParList: &ast.ParList{Names: []string{}}}
	p.expect('(')
	if method {
		node.ParList.Names = append(node.ParList.Names, "self")
	}
	p.parameters(node.ParList)
	node.ParList.Names = p.declare(node.ParList.Names...)
	p.expect(')')
	if p.scope.vararg {
		p.declareAs("arg")
	}
	node.Stmts = p.block()
	last := p.lx.line
	p.expectMatch(tokEnd, tokFunction, line)
	p.scope = p.scope.parent
	return placed(node, line, last)
}

func (p *parser) parameters(list *ast.ParList) {
	if p.lx.kind == ')' {
		return
	}
	for {
		switch p.lx.kind {
		case tokName:
			p.checkLocals(len(list.Names) + 1)
			list.Names = append(list.Names, p.name())
		case tokDots:
			p.lx.next()
			p.scope.vararg, list.HasVargs = true, true
			return
		default:
			p.syntaxError("<name> or '...' expected")
		}
		if !p.accept(',') {
			return
		}
	}
}
