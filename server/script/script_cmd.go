package script

import (
	"lockserver/commands"
	"lockserver/internal/luavm"
)

// asyncOrSync is an option that has no effect, because nothing takes long.
func asyncOrSync(since string) commands.Arg {
	return commands.Opt(commands.OneOf("flush-type", commands.Flag("ASYNC"), commands.Flag("SYNC"))).From(since)
}

func scriptRow(on binding) commands.Row {
	row := func(name, since string, flags commands.Flags, run handler, summary, complexity string, tips []string,
		args ...commands.Arg) commands.Row {
		return commands.Row{Name: name, Group: commands.Scripting, Since: since, Flags: commands.NoScript | flags, Run: on(run),
			Summary: summary, Complexity: complexity, Tips: tips, Args: args}
	}
	everywhere := []string{"request_policy:all_nodes", "response_policy:all_succeeded"}
	return commands.Row{Name: "script", Group: commands.Scripting, Since: "2.6.0", HelpSince: "5.0.0",
		Summary: "Commands about the scripts that are known.", Complexity: "Depends on the subcommand.",
		Sub: []commands.Row{
			row("debug", "3.2.0", 0, (*Engine).scriptDebug, "Would debug scripts, which is not possible here.", "O(1)", nil,
				commands.OneOf("mode", commands.Flag("YES"), commands.Flag("SYNC"), commands.Flag("NO"))),
			row("exists", "2.6.0", 0, (*Engine).scriptExists, "Tells which scripts are known.", "O(N) for N scripts",
				[]string{"request_policy:all_shards", "response_policy:agg_logical_and"}, commands.Str("sha1").Many()),
			row("flush", "2.6.0", 0, (*Engine).scriptFlush, "Forgets all scripts.", "O(N) where N is the number of scripts",
				everywhere, asyncOrSync("6.2.0")),
			row("kill", "2.6.0", commands.AllowBusy, (*Engine).scriptKill, "Ends the script that runs too long, unless it has written.",
				"O(1)", []string{"request_policy:all_shards", "response_policy:one_succeeded"}),
			row("load", "2.6.0", commands.Stale, (*Engine).scriptLoad, "Makes a script known without running it.",
				"O(N) where N is the length of the script", everywhere, commands.Str("script")),
		}}
}

// compile compiles and caches a script; evictable says that it came with EVAL.
func (e *Engine) compile(body []byte, evictable bool) (*cachedScript, error) {
	flags, code, err := readFlags(body)
	if err != nil {
		return nil, err
	}
	proto, err := luavm.Compile(scriptChunk, code)
	if err != nil {
		return nil, commands.ErrScriptCompile(err.Error())
	}
	script := &cachedScript{sha: shaText(body), body: string(body), flags: flags, code: proto, evictable: evictable}
	e.cache.add(script)
	return script, nil
}

func (e *Engine) scriptLoad(c *commands.Ctx) error {
	body := c.Args().Bytes()
	script := e.cache.byBody[string(body)]
	if script == nil {
		var err error
		if script, err = e.compile(body, false); err != nil {
			return err
		}
	}
	e.cache.pin(script)
	c.Out.BulkString(script.sha)
	return nil
}

func (e *Engine) scriptExists(c *commands.Ctx) error {
	names := c.Args().Rest()
	c.Out.Array(len(names))
	for _, name := range names {
		if e.cache.find(name) != nil {
			c.Out.Int(1)
		} else {
			c.Out.Int(0)
		}
	}
	return nil
}

func (e *Engine) scriptFlush(c *commands.Ctx) error {
	async, ok := flushMode(c)
	if !ok {
		return commands.ErrScriptFlush
	}
	if async {
		c.DB.Store().CountFreedTable(len(e.cache.bySHA), 0)
	}
	evicted := e.cache.evicted
	e.cache = newCache()
	e.cache.evicted = evicted
	e.scripts = nil
	c.Out.OK()
	return nil
}

// flushMode reads the mode of a flush; ok is false if it is neither SYNC nor ASYNC. The garbage collector
// frees the memory in both modes, so the mode only affects counts.
func flushMode(c *commands.Ctx) (async, ok bool) {
	a := c.Args()
	switch {
	case !a.More():
		return c.DB.Store().Lazy().UserFlush, true
	case a.Left() > 1:
		return false, false
	case a.IsNext("ASYNC"):
		return true, true
	}
	return false, a.IsNext("SYNC")
}

// scriptDebug refuses modes that it does not have, and accepts modes that change nothing.
func (*Engine) scriptDebug(c *commands.Ctx) error {
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

func (e *Engine) scriptKill(c *commands.Ctx) error { return e.kill(c, true) }
