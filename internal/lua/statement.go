package lua

// statement parses a statement. last says that no statement may follow it in the block.
func (p *parser) statement() (last bool) {
	line := p.lx.line
	switch p.lx.kind {
	case tokIf:
		p.ifStatement(line)
	case tokWhile:
		p.whileStatement(line)
	case tokDo:
		p.lx.next()
		p.scopedBlock()
		p.expectMatch(tokEnd, tokDo, line)
	case tokFor:
		p.forStatement(line)
	case tokRepeat:
		p.repeatStatement(line)
	case tokFunction:
		p.functionStatement(line)
	case tokLocal:
		p.lx.next()
		if p.accept(tokFunction) {
			p.localFunction()
		} else {
			p.localStatement()
		}
	case tokReturn:
		p.returnStatement()
		return true
	case tokBreak:
		p.lx.next()
		p.breakStatement()
		return true
	default:
		p.expressionStatement()
	}
	return false
}

// condition parses a condition and returns the jumps that are taken if it is false.
func (p *parser) condition() int {
	e := p.expression()
	if e.kind == expNil {
		e.kind = expFalse
	}
	p.fs.goIfTrue(&e)
	return e.falseList
}

func (p *parser) thenBlock() int {
	p.lx.next()
	exits := p.condition()
	p.expect(tokThen)
	p.scopedBlock()
	return exits
}

func (p *parser) ifStatement(line int) {
	fs := p.fs
	next, ends := p.thenBlock(), noJump
	for p.lx.kind == tokElseif {
		ends = fs.join(fs.jump(), ends)
		fs.patchHere(next)
		next = p.thenBlock()
	}
	if p.lx.kind == tokElse {
		ends = fs.join(fs.jump(), ends)
		fs.patchHere(next)
		p.lx.next()
		p.scopedBlock()
	} else {
		ends = fs.join(next, ends)
	}
	fs.patchHere(ends)
	p.expectMatch(tokEnd, tokIf, line)
}

func (p *parser) whileStatement(line int) {
	fs := p.fs
	p.lx.next()
	begin := fs.label()
	exits := p.condition()
	fs.enterBlock(true)
	p.expect(tokDo)
	p.scopedBlock()
	fs.patchTo(fs.jump(), begin)
	p.expectMatch(tokEnd, tokWhile, line)
	fs.leaveBlock()
	fs.patchHere(exits)
}

// repeatStatement parses a loop with a condition that sees the names of its body.
func (p *parser) repeatStatement(line int) {
	fs := p.fs
	begin := fs.label()
	fs.enterBlock(true)
	body := fs.enterBlock(false)
	p.lx.next()
	p.chunk()
	p.expectMatch(tokUntil, tokRepeat, line)
	exits := p.condition()
	if !body.captured {
		fs.leaveBlock()
		fs.patchTo(exits, begin)
	} else {
		p.breakStatement()
		fs.patchHere(exits)
		fs.leaveBlock()
		fs.patchTo(fs.jump(), begin)
	}
	fs.leaveBlock()
}

func (p *parser) breakStatement() {
	fs := p.fs
	block, captured := fs.block, false
	for block != nil && !block.loop {
		captured = captured || block.captured
		block = block.outer
	}
	if block == nil {
		p.syntaxError("no loop to break")
	}
	if captured {
		fs.emitABC(opClose, block.active, 0, 0)
	}
	block.breaks = fs.join(fs.jump(), block.breaks)
}

func (p *parser) forStatement(line int) {
	p.fs.enterBlock(true)
	p.lx.next()
	name := p.name()
	switch p.lx.kind {
	case '=':
		p.numericFor(name, line)
	case ',', tokIn:
		p.genericFor(name)
	default:
		p.syntaxError("'=' or 'in' expected")
	}
	p.expectMatch(tokEnd, tokFor, line)
	p.fs.leaveBlock()
}

func (p *parser) numericFor(name string, line int) {
	fs := p.fs
	base := fs.free
	fs.declare(0, "(for index)", "(for limit)", "(for step)", name)
	p.expect('=')
	p.oneValue()
	p.expect(',')
	p.oneValue()
	if p.accept(',') {
		p.oneValue()
	} else {
		fs.emitABx(opLoadK, fs.free, fs.constant(Number(1)))
		fs.reserve(1)
	}
	p.forBody(base, line, 1, true)
}

func (p *parser) oneValue() {
	e := p.expression()
	p.fs.toNextRegister(&e)
}

func (p *parser) genericFor(name string) {
	fs := p.fs
	base := fs.free
	fs.declare(0, "(for generator)", "(for state)", "(for control)", name)
	names := 1
	for p.accept(',') {
		fs.declare(3+names, p.name())
		names++
	}
	p.expect(tokIn)
	line := p.lx.line
	count, e := p.expressions()
	fs.adjust(3, count, &e)
	fs.checkStack(3)
	p.forBody(base, line, names, false)
}

// forBody parses the body of a loop. Its hidden variables and its own variables were declared last.
func (p *parser) forBody(base, line, names int, numeric bool) {
	fs := p.fs
	fs.activateFirst(3, names)
	p.expect(tokDo)
	var prepare int
	if numeric {
		prepare = fs.emitABx(opForPrep, base, noJump+maxSBx)
	} else {
		prepare = fs.jump()
	}
	fs.enterBlock(false)
	fs.activate(names)
	fs.reserve(names)
	p.scopedBlock()
	fs.leaveBlock()
	fs.patchHere(prepare)
	var end int
	if numeric {
		end = fs.emitABx(opForLoop, base, noJump+maxSBx)
		fs.fixLine(line)
	} else {
		fs.emitABC(opTForLoop, base, 0, names)
		fs.fixLine(line)
		end = fs.jump()
	}
	fs.patchTo(end, prepare+1)
}

// activateFirst makes count declared variables visible. behind other variables were declared after them.
func (fs *functionState) activateFirst(count, behind int) {
	first := len(fs.proto.locals) - behind - count
	for i := range count {
		fs.active = append(fs.active, first+i)
		fs.proto.locals[first+i].from = fs.pc()
	}
}

func (p *parser) functionStatement(line int) {
	p.lx.next()
	target := p.variable()
	method := false
	for p.lx.kind == '.' {
		p.field(&target)
	}
	if p.lx.kind == ':' {
		method = true
		p.field(&target)
	}
	body := p.functionBody(method, line)
	p.fs.store(&target, &body)
	p.fs.fixLine(line)
}

func (p *parser) localFunction() {
	fs := p.fs
	fs.declare(0, p.name())
	target := newExpression(expLocal, fs.free)
	fs.reserve(1)
	fs.activate(1)
	body := p.functionBody(false, p.lx.line)
	fs.store(&target, &body)
	fs.proto.locals[fs.active[len(fs.active)-1]].from = fs.pc()
}

func (p *parser) localStatement() {
	names := 0
	for {
		p.fs.declare(names, p.name())
		names++
		if !p.accept(',') {
			break
		}
	}
	// Functions in the values declare locals of their own functions only.
	count, e := 0, newExpression(expVoid, 0)
	if p.accept('=') {
		count, e = p.expressions()
	}
	p.fs.adjust(names, count, &e)
	p.fs.activate(names)
}

func (p *parser) returnStatement() {
	fs := p.fs
	p.lx.next()
	if p.blockEnds() || p.lx.kind == ';' {
		fs.emitReturn(0, 0)
		return
	}
	count, e := p.expressions()
	switch {
	case e.hasMany():
		fs.setReturns(&e, multiple)
		if e.kind == expCall && count == 1 {
			*fs.at(&e) = *fs.at(&e)&^0x3f | opTailCall
		}
		fs.emitReturn(len(fs.active), multiple)
	case count == 1:
		fs.emitReturn(fs.toAnyRegister(&e), 1)
	default:
		fs.toNextRegister(&e)
		fs.emitReturn(len(fs.active), count)
	}
}

// assignTarget is a variable on the left side of an assignment.
type assignTarget struct {
	previous *assignTarget
	variable expression
}

// expressionStatement parses a call or an assignment.
func (p *parser) expressionStatement() {
	first := assignTarget{variable: p.primary()}
	if first.variable.kind == expCall {
		setArgC(p.fs.at(&first.variable), 1)
		return
	}
	p.assignment(&first, 1)
}

func (p *parser) assignment(target *assignTarget, count int) {
	fs := p.fs
	if kind := target.variable.kind; kind < expLocal || kind > expIndexed {
		p.syntaxError("syntax error")
	}
	if p.accept(',') {
		next := assignTarget{previous: target, variable: p.primary()}
		if next.variable.kind == expLocal {
			fs.resolveConflict(target, &next.variable)
		}
		fs.limit(count, maxLevels-p.levels, "variables in assignment")
		p.assignment(&next, count+1)
	} else {
		p.expect('=')
		values, e := p.expressions()
		if values == count {
			fs.setOneReturn(&e)
			fs.store(&target.variable, &e)
			return
		}
		fs.adjust(count, values, &e)
		if values > count {
			fs.free -= values - count
		}
	}
	e := newExpression(expFixed, fs.free-1)
	fs.store(&target.variable, &e)
}

// resolveConflict copies a local variable that is assigned to, if an earlier target uses it.
func (fs *functionState) resolveConflict(target *assignTarget, local *expression) {
	conflict := false
	for ; target != nil; target = target.previous {
		if target.variable.kind != expIndexed {
			continue
		}
		if target.variable.info == local.info {
			conflict = true
			target.variable.info = fs.free
		}
		if target.variable.aux == local.info {
			conflict = true
			target.variable.aux = fs.free
		}
	}
	if conflict {
		fs.emitABC(opMove, fs.free, local.info, 0)
		fs.reserve(1)
	}
}

// adjust makes the number of values equal to the number of variables.
func (fs *functionState) adjust(variables, values int, e *expression) {
	extra := variables - values
	if e.hasMany() {
		extra = max(extra+1, 0)
		fs.setReturns(e, extra)
		if extra > 1 {
			fs.reserve(extra - 1)
		}
		return
	}
	if e.kind != expVoid {
		fs.toNextRegister(e)
	}
	if extra > 0 {
		register := fs.free
		fs.reserve(extra)
		fs.emitNil(register, extra)
	}
}
