package lua

// unaryPriority binds tighter than every binary operator but ^.
const unaryPriority = 8

// binaryPriority returns the left and right priorities of a binary operator; 0 for other tokens.
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

// expressions parses a list, and returns its length and the last expression. The others are in registers.
func (p *parser) expressions() (count int, last expression) {
	count, last = 1, p.expression()
	for p.accept(',') {
		p.fs.toNextRegister(&last)
		last = p.expression()
		count++
	}
	return count, last
}

func (p *parser) expression() expression { return p.operation(0) }

// operation parses operators that bind tighter than limit.
func (p *parser) operation(limit int) expression {
	p.enter()
	var left expression
	switch op := p.lx.kind; op {
	case tokNot, '-', '#':
		p.lx.next()
		left = p.operation(unaryPriority)
		p.fs.prefix(op, &left)
	default:
		left = p.simple()
	}
	for {
		op := p.lx.kind
		leftPriority, rightPriority := binaryPriority(op)
		if leftPriority <= limit {
			break
		}
		p.lx.next()
		p.fs.infix(op, &left)
		right := p.operation(rightPriority)
		p.fs.postfix(op, &left, &right)
	}
	p.leave()
	return left
}

func (p *parser) simple() expression {
	var e expression
	switch p.lx.kind {
	case tokNumber:
		e = newExpression(expNumber, 0)
		e.number = p.lx.number
	case tokString:
		e = p.stringConstant(p.lx.text)
	case tokNil:
		e = newExpression(expNil, 0)
	case tokTrue:
		e = newExpression(expTrue, 0)
	case tokFalse:
		e = newExpression(expFalse, 0)
	case tokDots:
		if !p.fs.vararg {
			p.syntaxError("cannot use '...' outside a vararg function")
		}
		p.fs.proto.needsArg = false
		e = newExpression(expVararg, p.fs.emitABC(opVararg, 0, 1, 0))
	case '{':
		return p.constructor()
	case tokFunction:
		p.lx.next()
		return p.functionBody(false, p.lx.line)
	default:
		return p.primary()
	}
	p.lx.next()
	return e
}

// prefixExpression parses a name or an expression in parentheses.
func (p *parser) prefixExpression() expression {
	switch p.lx.kind {
	case '(':
		line := p.lx.line
		p.lx.next()
		e := p.expression()
		p.expectMatch(')', '(', line)
		p.fs.dischargeVariables(&e)
		return e
	case tokName:
		return p.variable()
	default:
		p.syntaxError("unexpected symbol")
		return expression{}
	}
}

// primary parses a prefix with its fields, indices and calls.
func (p *parser) primary() expression {
	e := p.prefixExpression()
	for {
		switch p.lx.kind {
		case '.':
			p.field(&e)
		case '[':
			p.fs.toAnyRegister(&e)
			key := p.indexKey()
			p.fs.index(&e, &key)
		case ':':
			p.lx.next()
			key := p.nameConstant()
			p.fs.method(&e, &key)
			p.arguments(&e)
		case '(', tokString, '{':
			p.fs.toNextRegister(&e)
			p.arguments(&e)
		default:
			return e
		}
	}
}

func (p *parser) field(e *expression) {
	p.fs.toAnyRegister(e)
	p.lx.next()
	key := p.nameConstant()
	p.fs.index(e, &key)
}

func (p *parser) indexKey() expression {
	p.lx.next()
	key := p.expression()
	p.fs.toValue(&key)
	p.expect(']')
	return key
}

// arguments parses the arguments of a call of e, and makes e the call.
func (p *parser) arguments(e *expression) {
	fs := p.fs
	line := p.lx.line
	arguments := newExpression(expVoid, 0)
	switch p.lx.kind {
	case '(':
		if line != p.lx.lastLine {
			p.syntaxError("ambiguous syntax (function call x new statement)")
		}
		p.lx.next()
		if p.lx.kind != ')' {
			_, arguments = p.expressions()
			fs.setReturns(&arguments, multiple)
		}
		p.expectMatch(')', '(', line)
	case '{':
		arguments = p.constructor()
	case tokString:
		arguments = p.stringConstant(p.lx.text)
		p.lx.next()
	default:
		p.syntaxError("function arguments expected")
	}
	base, count := e.info, multiple
	if !arguments.hasMany() {
		if arguments.kind != expVoid {
			fs.toNextRegister(&arguments)
		}
		count = fs.free - (base + 1)
	}
	*e = newExpression(expCall, fs.emitABC(opCall, base, count+1, 2))
	fs.fixLine(line)
	fs.free = base + 1
}

// constructorState is a table constructor under compilation.
type constructorState struct {
	table   int        // its register
	last    expression // the last item, not stored yet
	items   int
	fields  int
	pending int // items in registers
}

func (p *parser) constructor() expression {
	fs := p.fs
	line := p.lx.line
	pc := fs.emitABC(opNewTable, 0, 0, 0)
	table := newExpression(expRelocate, pc)
	fs.toNextRegister(&table)
	c := constructorState{table: table.info, last: newExpression(expVoid, 0)}
	p.expect('{')
	for p.lx.kind != '}' {
		p.closeItem(&c)
		switch {
		case p.lx.kind == tokName && p.lx.peek() == '=', p.lx.kind == '[':
			p.keyedField(&c)
		default:
			c.last = p.expression()
			c.items++
			c.pending++
		}
		if !p.accept(',') && !p.accept(';') {
			break
		}
	}
	p.expectMatch('}', '{', line)
	p.lastItems(&c)
	setArgB(&fs.proto.code[pc], floatingByte(c.items))
	setArgC(&fs.proto.code[pc], floatingByte(c.fields))
	return table
}

// closeItem puts the last item into its register, and stores the registers when enough items are there.
func (p *parser) closeItem(c *constructorState) {
	if c.last.kind == expVoid {
		return
	}
	p.fs.toNextRegister(&c.last)
	c.last.kind = expVoid
	if c.pending == fieldsPerFlush {
		p.fs.setList(c.table, c.items, c.pending)
		c.pending = 0
	}
}

func (p *parser) lastItems(c *constructorState) {
	if c.pending == 0 {
		return
	}
	if c.last.hasMany() {
		p.fs.setReturns(&c.last, multiple)
		p.fs.setList(c.table, c.items, multiple)
		c.items--
		return
	}
	if c.last.kind != expVoid {
		p.fs.toNextRegister(&c.last)
	}
	p.fs.setList(c.table, c.items, c.pending)
}

func (p *parser) keyedField(c *constructorState) {
	fs := p.fs
	register := fs.free
	var key expression
	if p.lx.kind == tokName {
		key = p.nameConstant()
	} else {
		key = p.indexKey()
	}
	c.fields++
	p.expect('=')
	operand := fs.toOperand(&key)
	value := p.expression()
	fs.emitABC(opSetTable, c.table, operand, fs.toOperand(&value))
	fs.free = register
}

// functionBody parses parameters and statements up to `end`.
func (p *parser) functionBody(method bool, line int) expression {
	p.open(p.fs.proto.Source, line)
	p.expect('(')
	if method {
		p.fs.declare(0, "self")
		p.fs.activate(1)
	}
	p.parameters()
	p.expect(')')
	p.chunk()
	p.expectMatch(tokEnd, tokFunction, line)
	proto := p.close()
	outer := p.fs
	if len(outer.proto.inner) > maxBx {
		p.lx.fail("constant table overflow", noToken)
	}
	outer.proto.inner = append(outer.proto.inner, proto)
	return newExpression(expRelocate, outer.emitABx(opClosure, 0, len(outer.proto.inner)-1))
}

func (p *parser) parameters() {
	fs := p.fs
	count := 0
	if p.lx.kind != ')' {
		for {
			switch p.lx.kind {
			case tokName:
				fs.declare(count, p.name())
				count++
			case tokDots:
				p.lx.next()
				fs.declare(count, "arg")
				count++
				fs.vararg, fs.proto.vararg, fs.proto.needsArg = true, true, true
			default:
				p.syntaxError("<name> or '...' expected")
			}
			if fs.vararg || !p.accept(',') {
				break
			}
		}
	}
	fs.activate(count)
	parameters := len(fs.active)
	if fs.vararg {
		parameters-- // arg does not count as a parameter
	}
	fs.proto.numParams = uint8(parameters)
	fs.reserve(len(fs.active))
}
