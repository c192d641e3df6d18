package server

import (
	lua "github.com/yuin/gopher-lua"

	"lockserver/commands"
	"lockserver/internal/luavm"
)

// What redis.call and redis.pcall do. A call passes the checks that Redis has for it, which are not
// those that a client's command passes: a script that has written goes on writing, whatever happens,
// so that it is never left half done.

// mostSpareReply is the room for replies that is kept from call to call.
const mostSpareReply = 64 << 10

// scriptCaller is what a running script calls commands with. The room is used again by every call.
type scriptCaller struct {
	run     scriptRun
	ctx     commands.Ctx
	argv    [][]byte
	numbers []byte
	reply   replyReader
}

// call is redis.call, and redis.pcall unless an error is to be raised.
func (vm *scriptVM) call(l *lua.LState, raise bool) int {
	text := vm.tryCall(l)
	if text == "" {
		return 1
	}
	failure := errorTable(l, text)
	if raise {
		luavm.Raise(l, failure)
	}
	l.Push(failure)
	return 1
}

// tryCall runs the command that stands on the stack, and pushes its reply unless there is
// an error, whose text it returns.
func (vm *scriptVM) tryCall(l *lua.LState) (failure string) {
	ex := vm.executor
	run := ex.scripts.run
	if run == nil || run.vm != vm {
		return "ERR redis.call/pcall can only be called inside a script invocation"
	}
	caller := &ex.scripts.caller
	argv, err := caller.arguments(l)
	if err == nil {
		err = ex.callFromScript(run, argv)
	}
	if run.fatal != nil {
		luavm.Kill(l, run.fatal)
	}
	if err != nil {
		return callErrorText(err.Error())
	}
	buf := run.out.Buf
	caller.reply = replyReader{state: l, buf: buf}
	if buf[0] == '-' {
		return callErrorText(string(caller.reply.line()[1:]))
	}
	l.Push(caller.reply.value())
	if cap(buf) > mostSpareReply {
		run.out.Buf = nil
	}
	return ""
}

// arguments takes the arguments of a call off the stack; they are valid until the next call.
func (c *scriptCaller) arguments(l *lua.LState) ([][]byte, error) {
	n := l.GetTop()
	if n == 0 {
		return nil, commands.ErrCallArguments
	}
	c.argv, c.numbers = c.argv[:0], c.numbers[:0]
	for i := 1; i <= n; i++ {
		switch v := l.Get(i).(type) {
		case lua.LString:
			c.argv = append(c.argv, viewText(string(v)))
		case lua.LNumber:
			from := len(c.numbers)
			c.numbers = appendNumber(c.numbers, float64(v))
			c.argv = append(c.argv, c.numbers[from:len(c.numbers):len(c.numbers)])
		default:
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

// callFromScript runs a command for a script. Its reply is in run.out.
func (ex *executor) callFromScript(run *scriptRun, argv [][]byte) error {
	row := ex.table.Lookup(argv[0])
	if row != nil && len(argv) > 1 && len(row.Subcommands()) > 0 {
		row = row.Subcommand(argv[1])
	}
	switch {
	case row == nil:
		return commands.ErrCallUnknown
	case !row.Accepts(len(argv)):
		return commands.ErrCallArity
	}
	if err := run.admit(row); err != nil {
		return err
	}
	ex.total++
	ex.calls[row.Index()]++
	s := run.session
	c := &ex.scripts.caller.ctx
	c.Argv, c.Row, c.DB = argv, row, s.db
	run.out.Buf = run.out.Buf[:0]
	err := ex.callContained(c, s)
	if len(ex.monitors) > 0 {
		ex.show(nil, row, s.db.ID(), argv)
	}
	if ex.failed != nil {
		run.fatal = commands.ErrInternal
	}
	return err
}

// callContained runs a handler and contains its panic.
func (ex *executor) callContained(c *commands.Ctx, s *session) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = ex.panicked(c.Row, p)
		}
	}()
	if len(ex.tracking.trackers) > 0 {
		return ex.runTracked(c, s)
	}
	return c.Row.Run(c)
}

// admit says whether the script may call a command, and notes that it is going to write.
func (run *scriptRun) admit(row *commands.Row) error {
	f := row.Flags
	switch {
	case f&commands.NoScript != 0:
		return commands.ErrNoScript
	case run.readOnly && f&(commands.Write|commands.MayReplicate) != 0:
		return commands.ErrCallReadOnly
	case run.wrote:
		return nil
	}
	if f&commands.Write != 0 {
		if err := run.session.executor.refusesWrites(); err != nil {
			return err
		}
	}
	if f&commands.DenyOOM != 0 && run.full && !run.allowOOM {
		return commands.ErrOutOfMemory
	}
	run.wrote = f&commands.Write != 0
	return nil
}
