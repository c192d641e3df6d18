package server

import (
	lua "github.com/yuin/gopher-lua"

	"lockserver/commands"
	"lockserver/internal/luavm"
	"lockserver/internal/resp"
)

// scriptUserName is what Lua calls a script in messages.
const scriptUserName = "user_script"

func scriptRows() []commands.Row {
	const (
		anyUse = commands.RW | commands.Access | commands.Update
		flags  = commands.NoScript | commands.Stale | commands.SkipMonitor | commands.NoMandatoryKeys
	)
	row := func(name, since, what string, use commands.KeyFlags, f commands.Flags, run func(*commands.Ctx) error, summary string) commands.Row {
		return commands.Row{Name: name, Group: commands.Scripting, Since: since, Flags: flags | f, Run: run, Summary: summary,
			Complexity: "Depends on the script",
			Args: []commands.Arg{commands.Str(what), commands.Int("numkeys"), commands.Opt(commands.Key("key", use).Many()),
				commands.Opt(commands.Str("arg").Many())}}
	}
	reads := commands.RO | commands.Access
	return []commands.Row{
		row("eval", "2.6.0", "script", anyUse, commands.MayReplicate, eval, "Runs a script."),
		row("eval_ro", "7.0.0", "script", reads, commands.ReadOnly, eval, "Runs a script that may only read."),
		row("evalsha", "2.6.0", "sha1", anyUse, commands.MayReplicate, evalSHA, "Runs a script that is known, by its SHA-1."),
		row("evalsha_ro", "7.0.0", "sha1", reads, commands.ReadOnly, evalSHA,
			"Runs a script that is known, by its SHA-1, and that may only read."),
		row("fcall", "7.0.0", "function", anyUse, commands.MayReplicate, fcall, "Calls a function of a library."),
		row("fcall_ro", "7.0.0", "function", reads, commands.ReadOnly, fcall, "Calls a function of a library that may only read."),
		scriptRow(), functionRow(),
	}
}

// asyncOrSync is an option that changes nothing here: nothing takes long.
func asyncOrSync(since string) commands.Arg {
	return commands.Opt(commands.OneOf("async", commands.Flag("ASYNC"), commands.Flag("SYNC"))).From(since)
}

func scriptRow() commands.Row {
	row := func(name, since string, flags commands.Flags, run func(*commands.Ctx) error, summary, complexity string, tips []string,
		args ...commands.Arg) commands.Row {
		return commands.Row{Name: name, Group: commands.Scripting, Since: since, Flags: commands.NoScript | flags, Run: run,
			Summary: summary, Complexity: complexity, Tips: tips, Args: args}
	}
	everywhere := []string{"request_policy:all_nodes", "response_policy:all_succeeded"}
	return commands.Row{Name: "script", Group: commands.Scripting, Since: "2.6.0",
		Summary: "Commands about the scripts that are known.", Complexity: "Depends on the subcommand.",
		Sub: []commands.Row{
			row("debug", "3.2.0", 0, scriptDebug, "Would debug scripts, which is not possible here.", "O(1)", nil,
				commands.OneOf("mode", commands.Flag("YES"), commands.Flag("SYNC"), commands.Flag("NO"))),
			row("exists", "2.6.0", 0, scriptExists, "Tells which scripts are known.", "O(N) for N scripts",
				[]string{"request_policy:all_shards", "response_policy:agg_logical_and"}, commands.Str("sha1").Many()),
			row("flush", "2.6.0", 0, scriptFlush, "Forgets all scripts.", "O(N) where N is the number of scripts",
				everywhere, asyncOrSync("6.2.0")),
			row("kill", "2.6.0", commands.AllowBusy, scriptKill, "Ends the script that runs too long, unless it has written.", "O(1)",
				[]string{"request_policy:all_shards", "response_policy:one_succeeded"}),
			row("load", "2.6.0", commands.Stale, scriptLoad, "Makes a script known without running it.",
				"O(N) where N is the length of the script", everywhere, commands.Str("script")),
		}}
}

// scriptArguments reads the number of keys, the keys and the arguments behind them.
func scriptArguments(argv [][]byte, notInteger error) (keys, args [][]byte, err error) {
	n, ok := resp.ParseInt(argv[2])
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

// beginScript is the beginning of each command that runs a script: monitors see it before what it calls.
func beginScript(c *commands.Ctx) (*executor, error) {
	s := sessionOf(c)
	ex := s.executor
	if ex.scripts.run != nil { // GUARD, called by a script
		return nil, commands.ErrNoScript
	}
	if len(ex.monitors) > 0 {
		ex.tellMonitors(s, c.Row, c.DB.ID(), c.Argv)
	}
	return ex, nil
}

func eval(c *commands.Ctx) error {
	ex, err := beginScript(c)
	if err != nil {
		return err
	}
	keys, args, err := scriptArguments(c.Argv, commands.ErrNotInteger)
	if err != nil {
		return err
	}
	script := ex.scripts.cache.byBody[string(c.Argv[1])]
	if script == nil {
		if script, err = ex.scripts.compile(c.Argv[1], true); err != nil {
			return err
		}
	}
	return ex.evalScript(c, script, keys, args)
}

func evalSHA(c *commands.Ctx) error {
	ex, err := beginScript(c)
	if err != nil {
		return err
	}
	if len(c.Argv[1]) != shaBytes {
		return commands.ErrNoSuchScript
	}
	keys, args, err := scriptArguments(c.Argv, commands.ErrNotInteger)
	if err != nil {
		return err
	}
	script := ex.scripts.cache.find(c.Argv[1])
	if script == nil {
		return commands.ErrNoSuchScript
	}
	return ex.evalScript(c, script, keys, args)
}

// evalScript runs a script of the cache.
func (ex *executor) evalScript(c *commands.Ctx, script *cachedScript, keys, args [][]byte) error {
	ex.scripts.cache.used(script)
	if ex.scripts.evals == nil {
		ex.scripts.evals = ex.newScriptVM(evalAPI)
	}
	return ex.runScript(c, scriptCall{vm: ex.scripts.evals, name: script.sha, flags: script.flags, eval: true,
		ro: c.Row.Flags.Has(commands.ReadOnly)}, func(vm *scriptVM) (lua.LValue, error) {
		vm.state.SetArrays(keys, args)
		return vm.state.Run(script.code)
	})
}

// compile makes a script known; loose says that it came with EVAL.
func (s *scripting) compile(body []byte, loose bool) (*cachedScript, error) {
	flags, code, err := readScriptFlags(body)
	if err != nil {
		return nil, err
	}
	proto, err := luavm.Compile(scriptUserName, code)
	if err != nil {
		return nil, commands.ErrScriptCompile(err.Error())
	}
	script := &cachedScript{sha: shaText(body), body: string(body), flags: flags, code: proto, loose: loose}
	s.cache.add(script)
	return script, nil
}

func scriptLoad(c *commands.Ctx) error {
	scripts := &sessionOf(c).executor.scripts
	body := c.Args().Bytes()
	script := scripts.cache.byBody[string(body)]
	if script == nil {
		var err error
		if script, err = scripts.compile(body, false); err != nil {
			return err
		}
	}
	scripts.cache.pin(script)
	c.Out.BulkString(script.sha)
	return nil
}

func scriptExists(c *commands.Ctx) error {
	scripts := &sessionOf(c).executor.scripts
	names := c.Args().Rest()
	c.Out.Array(len(names))
	for _, name := range names {
		c.Out.Int(int64(b2i(scripts.cache.find(name) != nil)))
	}
	return nil
}

func scriptFlush(c *commands.Ctx) error {
	a := c.Args()
	if a.Left() > 1 || a.Left() == 1 && !a.IsNext("SYNC") && !a.IsNext("ASYNC") {
		return commands.ErrScriptFlush
	}
	scripts := &sessionOf(c).executor.scripts
	scripts.cache = newScriptCache()
	scripts.evals = nil
	c.Out.OK()
	return nil
}

// scriptDebug refuses what it cannot do, and agrees to what changes nothing.
func scriptDebug(c *commands.Ctx) error {
	a := c.Args()
	switch {
	case a.IsNext("NO"):
		c.Out.OK()
		return nil
	case a.IsNext("YES"), a.IsNext("SYNC"):
		return commands.ErrNoDebugger
	}
	return commands.ErrScriptDebug
}

func scriptKill(c *commands.Ctx) error { return killScript(c, true) }
