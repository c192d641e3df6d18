package script

import (
	"lockserver/internal/lua"

	"lockserver/commands"
	"lockserver/internal/luavm"
	"lockserver/internal/resp"
)

// What redis.call and redis.pcall do. A call passes the checks that Redis has for it, which are not
// those that a client's command passes: a script that has written goes on writing, whatever happens,
// so that it is never left half done.

// maxSpareReplyBytes is how large a buffer of replies may be to be kept from call to call.
const maxSpareReplyBytes = 64 << 10

// caller is what a running script calls commands with. Its buffers are used again by every call.
type caller struct {
	ctx     commands.Ctx
	out     resp.Writer // the reply of a call; its version is the script's choice
	argv    [][]byte
	numbers []byte
	reply   replyReader
}

// call is redis.call, and redis.pcall unless an error is to be raised.
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

// tryCall runs the command that stands on the stack, and pushes its reply unless that is an error, which it
// returns.
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

// callErrorText is an error of a command as a script sees it: one that is a single word has the code ERR.
func callErrorText(text string) string {
	for i := range len(text) {
		if text[i] == ' ' {
			return text
		}
	}
	return "ERR " + text
}

// call runs a command for a script. Its reply is in e.caller.out.
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

// admitCall says why a script may not call a command now: Admit, and what its words and its client's rights
// say.
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
	return e.host.Redirect(c, row, argv)
}

// rowOf returns the row of a command, nil if there is no such command.
func rowOf(table *commands.Table, argv [][]byte) *commands.Row {
	row := table.Lookup(argv[0])
	if row != nil && len(argv) > 1 && len(row.Subcommands()) > 0 {
		row = row.Subcommand(argv[1])
	}
	return row
}
