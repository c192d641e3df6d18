package luavm

import (
	"strconv"

	"github.com/yuin/gopher-lua/ast"
)

// expressionStatement parses a call or an assignment.
func (p *parser) expressionStatement() ast.Stmt {
	line := p.lx.line
	first := p.primary()
	if call, ok := first.node.(*ast.FuncCallExpr); ok && !first.parens && !first.assignable {
		return &ast.FuncCallStmt{Expr: call}
	}
	var targets []ast.Expr
	for target := first; ; target = p.primary() {
		if !target.assignable {
			p.syntaxError("syntax error")
		}
		node := target.node
		if target.global != "" {
			node = p.globalTarget(target.global, line)
		}
		targets = append(targets, node)
		if !p.accept(',') {
			break
		}
		p.limit(p.scope, len(targets), maxLevels-p.levels, "variables in assignment")
	}
	p.expect('=')
	values := p.expressions()
	if len(targets) == 1 && len(values) == 1 {
		return p.assign(targets[0], values[0], line)
	}
	return p.assignMany(targets, values, line)
}

// assign sets one variable or field.
func (p *parser) assign(target, value ast.Expr, line int) ast.Stmt {
	if field, ok := target.(*ast.AttrGetExpr); ok && !denseKey(field.Key) {
		call := p.call(helperSetIndex, line, field.Object, field.Key, value)
		return placed(&ast.FuncCallStmt{Expr: call}, line, line)
	}
	if call, ok := value.(*ast.FuncCallExpr); ok {
		// One value is wanted anyway; said so, the interpreter's compiler might load the function into the
		// very parameter that is its argument.
		call.AdjustRet = false
	}
	_, variable := target.(*ast.IdentExpr)
	if _, logical := value.(*ast.LogicalOpExpr); logical && variable {
		// If the left side of `and` or `or` decides, the interpreter's compiler leaves the value in a
		// temporary and does not set an existing local; it does set a new one.
		return p.assignMany([]ast.Expr{target}, []ast.Expr{value}, line)
	}
	return placed(&ast.AssignStmt{Lhs: []ast.Expr{target}, Rhs: []ast.Expr{value}}, line, line)
}

// maxDenseKey is the largest constant index that may be written without a look at the table's size.
const maxDenseKey = 256

// denseKey tells whether a key is a name, or an index so small that an array up to it does not matter.
func denseKey(key ast.Expr) bool {
	switch node := key.(type) {
	case *ast.StringExpr, *ast.TrueExpr, *ast.FalseExpr, *ast.NilExpr:
		return true
	case *ast.NumberExpr:
		number, ok := parseNumber(node.Value)
		return ok && number <= maxDenseKey
	default:
		return false
	}
}

// assignMany keeps all values in temporaries before it sets the targets, the last one first, as Lua does. The
// interpreter's compiler sets locals at once, so a, b = b, a would not swap.
func (p *parser) assignMany(targets, values []ast.Expr, line int) ast.Stmt {
	body := &ast.DoBlockStmt{}
	declare := func(exprs []ast.Expr, count int) []ast.Expr {
		names := make([]string, count)
		reads := make([]ast.Expr, count)
		for i := range names {
			p.declared++
			names[i] = uniqueMark + strconv.Itoa(p.declared)
			reads[i] = placed(&ast.IdentExpr{Value: names[i]}, line, line)
		}
		body.Stmts = append(body.Stmts, placed(&ast.LocalAssignStmt{Names: names, Exprs: exprs}, line, line))
		return reads
	}
	for i, target := range targets {
		field, ok := target.(*ast.AttrGetExpr)
		if !ok {
			continue
		}
		if denseKey(field.Key) {
			object := declare([]ast.Expr{single(field.Object)}, 1)[0]
			targets[i] = placed(&ast.AttrGetExpr{Object: object, Key: field.Key}, line, line)
			continue
		}
		parts := declare([]ast.Expr{single(field.Object), single(field.Key)}, 2)
		targets[i] = placed(&ast.AttrGetExpr{Object: parts[0], Key: parts[1]}, line, line)
	}
	reads := declare(values, len(targets))
	for i := len(targets) - 1; i >= 0; i-- {
		body.Stmts = append(body.Stmts, p.assign(targets[i], reads[i], line))
	}
	return body
}
