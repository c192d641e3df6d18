package script

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"log/slog"
	"strings"

	"lockserver/internal/lua"

	"lockserver/commands"
	"lockserver/internal/luavm"
)

// The table redis of scripts, functions and the code that registers functions. redis.call and redis.pcall are
// in call.go, redis.register_function in function_register.go.

// The levels of redis.log.
const (
	logDebug = iota
	logVerbose
	logNotice
	logWarning
)

// The flags of redis.set_repl.
const (
	replNone    = 0
	replAOF     = 1
	replReplica = 2
)

// evalAPI sets the globals of scripts.
func evalAPI(vm *luaVM, l *lua.LState) {
	t := vm.callingAPI(l)
	set := func(name string, f lua.LGFunction) { t.RawSetString(name, l.NewFunction(f)) }
	set("breakpoint", func(l *lua.LState) int { // there is no debugger
		l.Push(lua.LFalse)
		return 1
	})
	set("debug", func(*lua.LState) int { return 0 })
	set("replicate_commands", func(l *lua.LState) int {
		l.Push(lua.LTrue)
		return 1
	})
	l.SetGlobal("redis", t)
}

// callingAPI returns the table redis for code that may call commands.
func (vm *luaVM) callingAPI(l *lua.LState) *lua.LTable {
	t := l.NewTable()
	vm.commonAPI(l, t)
	for name, f := range map[string]lua.LGFunction{
		"call":          func(l *lua.LState) int { return vm.call(l, true) },
		"pcall":         func(l *lua.LState) int { return vm.call(l, false) },
		"setresp":       vm.setRESP,
		"sha1hex":       sha1Hex,
		"error_reply":   errorReply,
		"status_reply":  statusReply,
		"set_repl":      vm.setRepl,
		"acl_check_cmd": vm.aclCheckCmd,
	} {
		t.RawSetString(name, l.NewFunction(f))
	}
	for name, n := range map[string]int{"REPL_NONE": replNone, "REPL_AOF": replAOF, "REPL_SLAVE": replReplica,
		"REPL_REPLICA": replReplica, "REPL_ALL": replAOF | replReplica} {
		t.RawSetString(name, lua.LNumber(n))
	}
	return t
}

// commonAPI sets the functions that the code of a library may also use while it registers its functions.
func (vm *luaVM) commonAPI(l *lua.LState, t *lua.LTable) {
	t.RawSetString("log", l.NewFunction(vm.log))
	for name, n := range map[string]int{"LOG_DEBUG": logDebug, "LOG_VERBOSE": logVerbose, "LOG_NOTICE": logNotice,
		"LOG_WARNING": logWarning} {
		t.RawSetString(name, lua.LNumber(n))
	}
	t.RawSetString("REDIS_VERSION", lua.LString(vm.engine.version))
	t.RawSetString("REDIS_VERSION_NUM", lua.LNumber(vm.engine.versionNumber))
}

// raise ends a function of the table with an error, without a position in the script: the code that catches
// the error adds the position.
func raise(l *lua.LState, text string) { luavm.Raise(l, plainErrorTable(l, "ERR "+text)) }

// plainErrorTable returns an error that does not come from a command.
func plainErrorTable(l *lua.LState, text string) *lua.LTable {
	t := l.CreateTable(0, 1)
	t.RawSetString("err", lua.LString(text))
	return t
}

// mustRun raises an error unless a script is running, which is not so while a library is loaded. name is the
// called function.
func (vm *luaVM) mustRun(l *lua.LState, name string) {
	if run := vm.engine.running; run == nil || run.vm != vm {
		raise(l, name+" can only be called inside a script invocation")
	}
}

func (vm *luaVM) setRESP(l *lua.LState) int {
	vm.mustRun(l, "redis.setresp")
	if l.GetTop() != 1 {
		raise(l, "redis.setresp() requires one argument.")
	}
	proto, _ := luaNumber(l.Get(1))
	if v := int(proto); v != 2 && v != 3 {
		raise(l, "RESP version must be 2 or 3.")
	}
	vm.engine.caller.out.Proto = int(proto)
	return 0
}

// setRepl checks its argument and has no effect: a script's changes are always recorded.
func (vm *luaVM) setRepl(l *lua.LState) int {
	vm.mustRun(l, "redis.set_repl")
	if l.GetTop() != 1 {
		raise(l, "redis.set_repl() requires one argument.")
	}
	flags, _ := luaNumber(l.Get(1))
	if int(flags)&^(replAOF|replReplica) != 0 {
		raise(l, "Invalid replication flags. Use REPL_AOF, REPL_REPLICA, REPL_ALL or REPL_NONE.")
	}
	return 0
}

// aclCheckCmd reports whether the user may run a command.
func (vm *luaVM) aclCheckCmd(l *lua.LState) int {
	vm.mustRun(l, "redis.acl_check_cmd")
	caller := &vm.engine.caller
	argv, err := caller.arguments(l)
	if err != nil {
		luavm.Raise(l, plainErrorTable(l, err.Error()))
	}
	row := rowOf(caller.ctx.Table, argv)
	if row == nil {
		raise(l, "Invalid command passed to redis.acl_check_cmd()")
	}
	l.Push(lua.LBool(vm.engine.host.Permitted(&caller.ctx, row, argv)))
	return 1
}

func (vm *luaVM) log(l *lua.LState) int {
	n := l.GetTop()
	if n < 2 {
		raise(l, "redis.log() requires two arguments or more.")
	}
	number, ok := luaNumber(l.Get(1))
	if !ok {
		raise(l, "First argument must be a number (log level).")
	}
	level := int(number)
	if level < logDebug || level > logWarning {
		raise(l, "Invalid log level.")
	}
	logger := vm.engine.log
	to := [...]slog.Level{logDebug: slog.LevelDebug, logVerbose: slog.LevelDebug, logNotice: slog.LevelInfo,
		logWarning: slog.LevelWarn}[level]
	if !logger.Enabled(context.Background(), to) {
		return 0
	}
	var parts []string
	for i := 2; i <= n; i++ {
		if text, ok := luaText(l.Get(i)); ok {
			parts = append(parts, text)
		}
	}
	logger.Log(context.Background(), to, "a script says", "text", strings.Join(parts, " "))
	return 0
}

func sha1Hex(l *lua.LState) int {
	if l.GetTop() != 1 {
		raise(l, "wrong number of arguments")
	}
	text, _ := luaText(l.Get(1))
	sum := sha1.Sum([]byte(text))
	l.Push(lua.LString(hex.EncodeToString(sum[:])))
	return 1
}

// errorReply returns an error; a text of one word gets the code ERR.
func errorReply(l *lua.LState) int {
	text, ok := l.Get(1).(lua.LString)
	if !ok || l.GetTop() != 1 {
		l.Push(plainErrorTable(l, "ERR wrong number or type of arguments"))
		return 1
	}
	whole := strings.TrimPrefix(untilZero(string(text)), "-")
	code, message, found := strings.Cut(whole, " ")
	if !found {
		code, message = "ERR", whole
	}
	l.Push(plainErrorTable(l, code+" "+strings.Trim(message, "\r\n")))
	return 1
}

func statusReply(l *lua.LState) int {
	text, ok := l.Get(1).(lua.LString)
	if !ok || l.GetTop() != 1 {
		l.Push(plainErrorTable(l, string(commands.ErrReplyArguments)))
		return 1
	}
	t := l.CreateTable(0, 1)
	t.RawSetString("ok", text)
	l.Push(t)
	return 1
}
