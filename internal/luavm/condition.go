package luavm

import "github.com/yuin/gopher-lua/ast"

// The interpreter's compiler makes a bare jump of a constant in a condition, or on the left of `and` and
// `or`. When it patches the jump back to the beginning of a loop it follows chains of jumps, and mistakes a
// patched jump for an unpatched one. If the body of a loop begins with such a jump, the loop may continue
// anywhere. So no body may begin with one.

// countJump records an operator `and` or `or` that may begin with a jump.
func (p *parser) countJump(left ast.Expr) {
	for {
		switch e := left.(type) {
		case *ast.LogicalOpExpr:
			left = e.Lhs
			continue
		case *ast.UnaryNotOpExpr:
			left = e.Expr
			continue
		case *ast.FalseExpr, *ast.NilExpr, *ast.TrueExpr, *ast.NumberExpr, *ast.StringExpr:
			p.jumps++
		}
		return
	}
}

// steady returns the body of a loop. If it may hold such a jump, an instruction that does nothing precedes
// it. before is the value of p.jumps before the body was parsed.
func (p *parser) steady(before int, body []ast.Stmt) []ast.Stmt {
	if p.jumps == before {
		return body
	}
	line := p.lx.line
	nothing := placed(&ast.LocalAssignStmt{Names: []string{"(loop)"}}, line, line)
	return append([]ast.Stmt{placed(&ast.DoBlockStmt{Stmts: []ast.Stmt{nothing}}, line, line)}, body...)
}

// condition parses the condition of an if, a while or an until: a comparison of constants is no jump.
func (p *parser) condition() ast.Expr {
	e := p.expression()
	switch e.(type) {
	case *ast.TrueExpr, *ast.NumberExpr, *ast.StringExpr:
		return e // no instruction at all
	}
	return compared(e)
}

// compared puts comparisons in the place of the constants in a condition.
func compared(e ast.Expr) ast.Expr {
	switch e := e.(type) {
	case *ast.FalseExpr, *ast.NilExpr:
		return comparison(e, "2")
	case *ast.TrueExpr, *ast.NumberExpr, *ast.StringExpr:
		return comparison(e, "1")
	case *ast.UnaryNotOpExpr:
		e.Expr = compared(e.Expr)
	case *ast.LogicalOpExpr:
		e.Lhs, e.Rhs = compared(e.Lhs), compared(e.Rhs)
	}
	return e
}

// comparison is 1 == other, in the line of a constant.
func comparison(constant ast.Expr, other string) ast.Expr {
	line, last := constant.Line(), constant.LastLine()
	return placed(&ast.RelationalOpExpr{Operator: "==", Lhs: placed(&ast.NumberExpr{Value: "1"}, line, last),
		Rhs: placed(&ast.NumberExpr{Value: other}, line, last)}, line, last)
}
