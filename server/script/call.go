package script

import (
	"lockserver/internal/lua"

	"lockserver/commands"
	"lockserver/internal/luavm"
	"lockserver/internal/resp"
)

// The functions redis.call and redis.pcall. A call passes the checks that Redis has for it, which differ from
// those of a client's command: a script that has written may continue to write in any case, so that it never
// stays half done.

// maxSpareReplyBytes is the largest reply buffer that is kept for the next call.
const maxSpareReplyBytes = 64 << 10

// caller holds the buffers with which a running script calls commands. Each call reuses them.
type caller struct {
	ctx     commands.Ctx
	out     resp.Writer // the reply of a call; the script chooses its protocol version
	argv    [][]byte
	numbers []byte
	reply   replyReader
}

// call implements redis.call, and without raise redis.pcall.
func (vm *luaVM) call(l *lua.LState, raise bool) int {
	failure := vm.tryCall(l)
	if failure == nil {
		return 1
	}
	if raise {
		luavm.Raise(l, failure)
	}
	l.Push(failure)
	return 1
}

// tryCall runs the command on the stack, and pushes its reply. It returns an error reply instead of pushing
// it.
func (vm *luaVM) tryCall(l *lua.LState) (failure *lua.LTable) {
	e := vm.engine
	run := e.running
	if run == nil || run.vm != vm {
		return plainErrorTable(l, "ERR redis.call/pcall can only be called inside a script invocation")
	}
	caller := &e.caller
	argv, err := caller.arguments(l)
	if err != nil {
		return plainErrorTable(l, err.Error())
	}
	err = e.call(run, argv)
	if run.fatal != nil {
		luavm.Kill(l, run.fatal)
	}
	if err != nil {
		e.host.CountError(err.Error())
		return errorTable(l, callErrorText(err.Error()))
	}
	buf := caller.out.Buf
	caller.reply = replyReader{state: l, buf: buf}
	if buf[0] == '-' {
		return errorTable(l, callErrorText(string(caller.reply.line()[1:])))
	}
	l.PushValue(caller.reply.value())
	if cap(buf) > maxSpareReplyBytes {
		caller.out.Buf = nil
	}
	return nil
}

// arguments takes the arguments of a call off the stack; they are valid until the next call.
func (c *caller) arguments(l *lua.LState) ([][]byte, error) {
	n := l.GetTop()
	if n == 0 {
		return nil, commands.ErrCallArguments
	}
	c.argv, c.numbers = c.argv[:0], c.numbers[:0]
	for i := 1; i <= n; i++ {
		v := l.At(i)
		if text, ok := v.AsString(); ok {
			c.argv = append(c.argv, viewText(text))
		} else if number, ok := v.AsNumber(); ok {
			from := len(c.numbers)
			c.numbers = appendNumber(c.numbers, number)
			c.argv = append(c.argv, c.numbers[from:len(c.numbers):len(c.numbers)])
		} else {
			return nil, commands.ErrCallTypes
		}
	}
	return c.argv, nil
}

// callErrorText returns an error of a command in the form for scripts: a text of one word gets the code ERR.
func callErrorText(text string) string {
	for i := range len(text) {
		if text[i] == ' ' {
			return text
		}
	}
	return "ERR " + text
}

// call runs a command for a script. The reply is in e.caller.out.
func (e *Engine) call(run *execution, argv [][]byte) error {
	c := &e.caller.ctx
	row := rowOf(c.Table, argv)
	if row == nil {
		return commands.ErrCallUnknown
	}
	if err := e.admitCall(c, row, argv); err != nil {
		e.host.CountRejected(row)
		return err
	}
	c.Argv, c.Row = argv, row
	c.Out.Buf = c.Out.Buf[:0]
	failed, err := e.host.Call(c)
	if failed {
		run.fatal = commands.ErrInternal
	}
	return err
}

// admitCall returns the reason why a script may not call a command now, or nil. It checks Admit, the words,
// and the client's rights.
func (e *Engine) admitCall(c *commands.Ctx, row *commands.Row, argv [][]byte) error {
	switch {
	case !row.Accepts(len(argv)):
		return commands.ErrCallArity
	case row.Flags&commands.NoScript != 0 && !e.host.Lifts(row, argv):
		return commands.ErrNoScript
	}
	if err := e.admitStale(row); err != nil {
		return err
	}
	if err := e.host.Permit(c, row, argv); err != nil {
		return err
	}
	if err := e.admitEffect(row); err != nil {
		return err
	}
	if err := e.host.Redirect(c, row, argv); err != nil {
		return err
	}
	if run := e.running; run.oneSlot {
		before := run.keys
		if run.touches(row, c.Table, argv); run.keys.Cross() {
			run.keys = before
			return commands.ErrScriptCrossSlot
		}
	}
	return nil
}

// rowOf returns the row of a command, or nil.
func rowOf(table *commands.Table, argv [][]byte) *commands.Row {
	row := table.Lookup(argv[0])
	if row != nil && len(argv) > 1 && len(row.Subcommands()) > 0 {
		row = row.Subcommand(argv[1])
	}
	return row
}
