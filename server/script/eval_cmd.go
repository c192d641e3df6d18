package script

import (
	"lockserver/internal/lua"

	"lockserver/commands"
	"lockserver/internal/decimal"
	"lockserver/internal/luavm"
)

// scriptChunk is the name of a script in Lua's messages.
const scriptChunk = "user_script"

func evalRows(on binding) []commands.Row {
	const (
		anyUse = commands.RW | commands.Access | commands.Update
		flags  = commands.NoScript | commands.Stale | commands.SkipMonitor | commands.NoMandatoryKeys
	)
	row := func(name, since, what string, code commands.Code, use commands.KeyFlags, f commands.Flags, run handler, summary string) commands.Row {
		return commands.Row{Name: name, Group: commands.Scripting, Since: since, Flags: flags | f, Run: on(run), Code: code,
			Summary: summary, Complexity: "Depends on the script",
			Args: []commands.Arg{commands.Str(what), commands.Int("numkeys"), commands.Opt(commands.Key("key", use).Many()),
				commands.Opt(commands.Str("arg").Many())}}
	}
	reads := commands.RO | commands.Access
	return []commands.Row{
		row("eval", "2.6.0", "script", commands.ScriptText, anyUse, commands.MayReplicate, (*Engine).eval, "Runs a script."),
		row("eval_ro", "7.0.0", "script", commands.ScriptText, reads, commands.ReadOnly, (*Engine).eval, "Runs a script that may only read."),
		row("evalsha", "2.6.0", "sha1", commands.ScriptSHA1, anyUse, commands.MayReplicate, (*Engine).evalSHA,
			"Runs a script that is known, by its SHA-1."),
		row("evalsha_ro", "7.0.0", "sha1", commands.ScriptSHA1, reads, commands.ReadOnly, (*Engine).evalSHA,
			"Runs a script that is known, by its SHA-1, and that may only read."),
		row("fcall", "7.0.0", "function", commands.FunctionName, anyUse, commands.MayReplicate, (*Engine).fcall, "Calls a function of a library."),
		row("fcall_ro", "7.0.0", "function", commands.FunctionName, reads, commands.ReadOnly, (*Engine).fcall,
			"Calls a function of a library that may only read."),
	}
}

// readArguments reads the number of keys, the keys and the arguments behind them.
func readArguments(argv [][]byte, notInteger error) (keys, args [][]byte, err error) {
	n, ok := decimal.ParseInt(argv[2])
	rest := argv[3:]
	switch {
	case !ok:
		return nil, nil, notInteger
	case n > int64(len(rest)):
		return nil, nil, commands.ErrTooManyKeys
	case n < 0:
		return nil, nil, commands.ErrKeysSign
	}
	return rest[:n], rest[n:], nil
}

// show is the first step of each command that runs a script: it shows the command to monitors before the
// commands of the script. It refuses a script that GUARD calls inside a script.
func (e *Engine) show(c *commands.Ctx) error {
	if e.running != nil {
		return commands.ErrNoScript
	}
	e.host.Show(c)
	return nil
}

func (e *Engine) eval(c *commands.Ctx) error {
	if err := e.show(c); err != nil {
		return err
	}
	keys, args, err := readArguments(c.Argv, commands.ErrNotInteger)
	if err != nil {
		return err
	}
	script := e.cache.byBody[string(c.Argv[1])]
	if script == nil {
		if script, err = e.compile(c.Argv[1], true); err != nil {
			return err
		}
	}
	return e.runCached(c, script, keys, args)
}

func (e *Engine) evalSHA(c *commands.Ctx) error {
	if err := e.show(c); err != nil {
		return err
	}
	if len(c.Argv[1]) != shaBytes {
		return commands.ErrNoSuchScript
	}
	keys, args, err := readArguments(c.Argv, commands.ErrNotInteger)
	if err != nil {
		return err
	}
	script := e.cache.find(c.Argv[1])
	if script == nil {
		return commands.ErrNoSuchScript
	}
	return e.runCached(c, script, keys, args)
}

// runCached runs a cached script.
func (e *Engine) runCached(c *commands.Ctx, script *cachedScript, keys, args [][]byte) error {
	e.cache.touch(script)
	if e.scripts == nil {
		e.scripts = e.newVM(evalAPI)
	}
	return e.run(c, invocation{vm: e.scripts, name: script.sha, flags: script.flags, eval: true,
		readOnly: c.Row.Flags.Has(commands.ReadOnly)}, func(vm *luaVM) (lua.Value, error) {
		vm.state.SetArrays(keys, args)
		return vm.state.Run(script.code)
	})
}

func (e *Engine) fcall(c *commands.Ctx) error {
	if err := e.show(c); err != nil {
		return err
	}
	f := e.libraries.find(c.Argv[1])
	if f == nil {
		return commands.ErrNoFunction
	}
	keys, args, err := readArguments(c.Argv, commands.ErrFunctionKeys)
	if err != nil {
		return err
	}
	return e.run(c, invocation{vm: e.functions.luaVM, name: f.name, flags: f.flags,
		readOnly: c.Row.Flags.Has(commands.ReadOnly)}, func(vm *luaVM) (lua.Value, error) {
		return vm.state.Call(f.callback, lua.Table(luavm.NewArray(keys)), lua.Table(luavm.NewArray(args)))
	})
}
