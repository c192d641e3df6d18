package script

import (
	"maps"
	"slices"
	"time"

	"lockserver/commands"
	"lockserver/internal/glob"
)

func functionRow(on binding) commands.Row {
	row := func(name string, flags commands.Flags, run handler, summary, complexity string, tips []string,
		args ...commands.Arg) commands.Row {
		return commands.Row{Name: name, Group: commands.Scripting, Since: "7.0.0", Flags: commands.NoScript | flags,
			Run: on(run), Summary: summary, Complexity: complexity, Tips: tips, Args: args}
	}
	everywhere := []string{"request_policy:all_shards", "response_policy:all_succeeded"}
	grows := commands.Write | commands.DenyOOM
	return commands.Row{Name: "function", Group: commands.Scripting, Since: "7.0.0",
		Summary: "Commands about functions and their libraries.", Complexity: "Depends on the subcommand.",
		Sub: []commands.Row{
			row("delete", commands.Write, (*Engine).functionDelete, "Removes a library with its functions.", "O(1)",
				everywhere, commands.Str("library-name")),
			row("dump", 0, (*Engine).functionDump, "Returns all libraries as a payload for FUNCTION RESTORE.",
				"O(N) where N is the number of libraries", nil),
			row("flush", commands.Write, (*Engine).functionFlush, "Removes all libraries.",
				"O(N) where N is the number of libraries", everywhere, commands.Opt(commands.OneOf("flush-type", commands.Flag("ASYNC"), commands.Flag("SYNC")))),
			row("kill", commands.AllowBusy, (*Engine).functionKill, "Ends the function that runs too long, unless it has written.",
				"O(1)", []string{"request_policy:all_shards", "response_policy:one_succeeded"}),
			row("list", 0, (*Engine).functionList, "Describes the libraries.",
				"O(N) where N is the number of functions", []string{"nondeterministic_output_order"},
				commands.Opt(commands.Str("library-name-pattern").After("LIBRARYNAME")), commands.Opt(commands.Flag("WITHCODE"))),
			row("load", grows, (*Engine).functionLoad, "Loads a library.", "O(1) beside what its code does", everywhere,
				commands.Opt(commands.Flag("REPLACE")), commands.Str("function-code")),
			row("restore", grows, (*Engine).functionRestore, "Loads the libraries of a payload of FUNCTION DUMP.",
				"O(N) where N is the number of libraries", everywhere, commands.Str("serialized-value"),
				commands.Opt(commands.OneOf("policy", commands.Flag("FLUSH"), commands.Flag("APPEND"), commands.Flag("REPLACE")))),
			row("stats", commands.AllowBusy, (*Engine).functionStats,
				"Tells about the function that runs, and counts libraries and functions.", "O(1)",
				[]string{"nondeterministic_output", "request_policy:all_shards", "response_policy:special"}),
		}}
}

// librariesChanged records a change of the libraries. It counts as a change of the data, and the log gets the
// command that has the same result in Redis. back puts them back as they were.
func librariesChanged(c *commands.Ctx, back func(), args ...[]byte) {
	c.DB.Store().RecordFunctions(back, args...)
}

// asTheyAre returns a function that puts the libraries back as they are now.
func (e *Engine) asTheyAre() (back func()) {
	are, machine := e.libraries.clone(), e.functions
	return func() { e.libraries, e.functions = are, machine }
}

func (e *Engine) functionLoad(c *commands.Ctx) error {
	a := c.Args()
	replace := false
	for a.Left() > 1 {
		if !a.IsNext("REPLACE") {
			return commands.ErrFunctionOption(a.Peek())
		}
		replace = true
	}
	source, back := a.Bytes(), e.asTheyAre()
	l, err := e.loadLibrary(&e.libraries, source, replace, !e.host.Loading())
	if err != nil {
		return err
	}
	librariesChanged(c, back, []byte("LOAD"), []byte("REPLACE"), source)
	c.Out.BulkString(l.name)
	return nil
}

func (e *Engine) functionDelete(c *commands.Ctx) error {
	name := c.Args().Bytes()
	l := e.libraries.byName[string(name)]
	if l == nil {
		return commands.ErrNoLibrary
	}
	back := e.asTheyAre()
	e.libraries.unlink(l)
	librariesChanged(c, back, []byte("DELETE"), name)
	c.Out.OK()
	return nil
}

func (e *Engine) functionFlush(c *commands.Ctx) error {
	async, ok := flushMode(c)
	switch {
	case c.Args().Left() > 1:
		return commands.ErrSubcommandSyntax("function", c.Argv[1])
	case !ok:
		return commands.ErrFunctionFlush
	}
	if async {
		c.DB.Store().CountFreedTable(len(e.libraries.functions), 1) // the engine, too
	}
	back := e.asTheyAre()
	e.DropLibraries()
	librariesChanged(c, back, []byte("FLUSH"))
	c.Out.OK()
	return nil
}

func (e *Engine) functionDump(c *commands.Ctx) error {
	c.Out.Bulk(e.host.DumpLibraries(e.libraries.codes()))
	return nil
}

// functionRestore loads all libraries of the payload, or none.
func (e *Engine) functionRestore(c *commands.Ctx) error {
	a := c.Args()
	if a.Left() > 2 {
		return commands.ErrSubcommandSyntax("function", c.Argv[1])
	}
	payload, policy := a.Bytes(), "APPEND"
	if a.More() {
		if policy = a.MaybeOption(); policy == "" {
			return commands.ErrFunctionPolicy
		}
	}
	sources, err := e.host.ParseLibraries(payload)
	if err != nil {
		return err
	}
	fresh := newLibraries()
	for _, source := range sources {
		if _, err := e.loadLibrary(&fresh, source, false, !e.host.Loading()); err != nil {
			return err
		}
	}
	joined := newLibraries()
	if policy != "FLUSH" {
		joined = e.libraries.clone()
	}
	if err := joined.join(&fresh, policy == "REPLACE"); err != nil {
		return err
	}
	back := e.asTheyAre()
	e.libraries = joined
	librariesChanged(c, back, []byte("RESTORE"), payload, []byte(policy))
	c.Out.OK()
	return nil
}

func (e *Engine) functionList(c *commands.Ctx) error {
	a := c.Args()
	var pattern []byte
	withCode := false
	for a.More() {
		switch {
		case !withCode && a.IsNext("WITHCODE"):
			withCode = true
		case pattern == nil && a.IsNext("LIBRARYNAME"):
			if !a.More() {
				return commands.ErrLibraryArgument
			}
			pattern = a.Bytes()
		default:
			return commands.ErrFunctionArgument(a.Peek())
		}
	}
	d, n := c.Out.DeferArray(), 0
	for _, l := range e.libraries.sorted() {
		if pattern != nil && !glob.Match(pattern, []byte(l.name), true) {
			continue
		}
		l.describe(c, withCode)
		n++
	}
	c.Out.SetArray(d, n)
	return nil
}

// describe writes a library's entry in FUNCTION LIST.
func (l *library) describe(c *commands.Ctx, withCode bool) {
	out := c.Out
	fields := 3
	if withCode {
		fields++
	}
	out.Map(fields)
	out.BulkString("library_name")
	out.BulkString(l.name)
	out.BulkString("engine")
	out.BulkString(engineName)
	out.BulkString("functions")
	out.Array(len(l.functions))
	for _, name := range slices.Sorted(maps.Keys(l.functions)) {
		f := l.functions[name]
		out.Map(3)
		out.BulkString("name")
		out.BulkString(f.name)
		out.BulkString("description")
		if f.description != nil {
			out.BulkString(*f.description)
		} else {
			out.Null()
		}
		out.BulkString("flags")
		names := f.flags.names()
		out.Set(len(names))
		for _, flag := range names {
			out.Simple(flag)
		}
	}
	if withCode {
		out.BulkString("library_code")
		out.BulkString(l.code)
	}
}

func (e *Engine) functionStats(c *commands.Ctx) error {
	run := e.running
	if run != nil && run.eval {
		return commands.ErrBusyScript
	}
	c.Out.Map(2)
	c.Out.BulkString("running_script")
	if run == nil {
		c.Out.Null()
	} else {
		c.Out.Map(3)
		c.Out.BulkString("name")
		c.Out.BulkString(run.name)
		c.Out.BulkString("command")
		c.Out.Array(len(run.ctx.Argv))
		for _, word := range run.ctx.Argv {
			c.Out.Bulk(word)
		}
		c.Out.BulkString("duration_ms")
		c.Out.Int(time.Since(run.started).Milliseconds())
	}
	c.Out.BulkString("engines")
	c.Out.Map(1)
	c.Out.BulkString(engineName)
	c.Out.Map(2)
	c.Out.BulkString("libraries_count")
	c.Out.Int(int64(len(e.libraries.byName)))
	c.Out.BulkString("functions_count")
	c.Out.Int(int64(len(e.libraries.functions)))
	return nil
}

func (e *Engine) functionKill(c *commands.Ctx) error { return e.kill(c, false) }
