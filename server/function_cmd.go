package server

import (
	"errors"
	"maps"
	"slices"
	"time"

	lua "github.com/yuin/gopher-lua"

	"lockserver/commands"
	"lockserver/internal/glob"
	"lockserver/internal/luavm"
	"lockserver/persistence/rdb"
)

func functionRow() commands.Row {
	row := func(name string, flags commands.Flags, run func(*commands.Ctx) error, summary, complexity string, tips []string,
		args ...commands.Arg) commands.Row {
		return commands.Row{Name: name, Group: commands.Scripting, Since: "7.0.0", Flags: commands.NoScript | flags, Run: run,
			Summary: summary, Complexity: complexity, Tips: tips, Args: args}
	}
	everywhere := []string{"request_policy:all_shards", "response_policy:all_succeeded"}
	grows := commands.Write | commands.DenyOOM
	return commands.Row{Name: "function", Group: commands.Scripting, Since: "7.0.0",
		Summary: "Commands about functions and their libraries.", Complexity: "Depends on the subcommand.",
		Sub: []commands.Row{
			row("delete", commands.Write, functionDelete, "Removes a library with its functions.", "O(1)", everywhere,
				commands.Str("library-name")),
			row("dump", 0, functionDump, "Returns all libraries as a payload for FUNCTION RESTORE.", "O(N) where N is the number of libraries", nil),
			row("flush", commands.Write, functionFlush, "Removes all libraries.", "O(N) where N is the number of libraries", everywhere,
				commands.Opt(commands.OneOf("async", commands.Flag("ASYNC"), commands.Flag("SYNC")))),
			row("kill", commands.AllowBusy, functionKill, "Ends the function that runs too long, unless it has written.", "O(1)",
				[]string{"request_policy:all_shards", "response_policy:one_succeeded"}),
			row("list", 0, functionList, "Describes the libraries.", "O(N) where N is the number of functions",
				[]string{"nondeterministic_output_order"},
				commands.Opt(commands.Str("library-name-pattern").After("LIBRARYNAME")), commands.Opt(commands.Flag("WITHCODE"))),
			row("load", grows, functionLoad, "Loads a library.", "O(1) beside what its code does", everywhere,
				commands.Opt(commands.Flag("REPLACE")), commands.Str("function-code")),
			row("restore", grows, functionRestore, "Loads the libraries of a payload of FUNCTION DUMP.",
				"O(N) where N is the number of libraries", everywhere, commands.Str("serialized-value"),
				commands.Opt(commands.OneOf("policy", commands.Flag("FLUSH"), commands.Flag("APPEND"), commands.Flag("REPLACE")))),
			row("stats", commands.AllowBusy, functionStats, "Tells about the function that runs, and counts libraries and functions.", "O(1)",
				[]string{"nondeterministic_output", "request_policy:all_shards", "response_policy:special"}),
		}}
}

func fcall(c *commands.Ctx) error {
	ex, err := beginScript(c)
	if err != nil {
		return err
	}
	f := ex.scripts.libraries.find(c.Argv[1])
	if f == nil {
		return commands.ErrNoFunction
	}
	keys, args, err := scriptArguments(c.Argv, commands.ErrFunctionKeys)
	if err != nil {
		return err
	}
	return ex.runScript(c, scriptCall{vm: ex.scripts.functions.scriptVM, name: f.name, flags: f.flags, ro: c.Row.Flags.Has(commands.ReadOnly)},
		func(vm *scriptVM) (lua.LValue, error) {
			return vm.state.Call(f.callback, luavm.NewArray(keys), luavm.NewArray(args))
		})
}

// librariesChanged notes that the libraries are no longer what they were: it counts as a change of the data,
// and the log is told what a Redis would do to come to the same.
func (ex *executor) librariesChanged(args ...[]byte) { ex.store.RecordFunctions(args...) }

func functionLoad(c *commands.Ctx) error {
	ex := sessionOf(c).executor
	a := c.Args()
	replace := false
	for a.Left() > 1 {
		if !a.IsNext("REPLACE") {
			return commands.ErrFunctionOption(a.Peek())
		}
		replace = true
	}
	source := a.Bytes()
	l, err := ex.loadLibrary(&ex.scripts.libraries, source, replace, ex.loading == nil)
	if err != nil {
		return err
	}
	ex.librariesChanged([]byte("LOAD"), []byte("REPLACE"), source)
	c.Out.BulkString(l.name)
	return nil
}

func functionDelete(c *commands.Ctx) error {
	ex := sessionOf(c).executor
	name := c.Args().Bytes()
	l := ex.scripts.libraries.byName[string(name)]
	if l == nil {
		return commands.ErrNoLibrary
	}
	ex.scripts.libraries.unlink(l)
	ex.librariesChanged([]byte("DELETE"), name)
	c.Out.OK()
	return nil
}

func functionFlush(c *commands.Ctx) error {
	a := c.Args()
	switch {
	case a.Left() > 1:
		return commands.ErrSubcommandSyntax("function", c.Argv[1])
	case a.Left() == 1 && !a.IsNext("SYNC") && !a.IsNext("ASYNC"):
		return commands.ErrFunctionFlush
	}
	ex := sessionOf(c).executor
	ex.scripts.libraries, ex.scripts.functions = newLibraries(), nil
	ex.librariesChanged([]byte("FLUSH"))
	c.Out.OK()
	return nil
}

func functionDump(c *commands.Ctx) error {
	ex := sessionOf(c).executor
	c.Out.Bulk(rdb.DumpFunctions(nil, ex.scripts.libraries.codes(), ex.config.RDBCompression))
	return nil
}

// functionRestore loads all libraries of the payload or none.
func functionRestore(c *commands.Ctx) error {
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
	ex := sessionOf(c).executor
	sources, err := rdb.ParseFunctions(payload)
	if err != nil {
		return restoreError(err)
	}
	fresh := newLibraries()
	for _, source := range sources {
		if _, err := ex.loadLibrary(&fresh, source, false, ex.loading == nil); err != nil {
			return err
		}
	}
	joined := newLibraries()
	if policy != "FLUSH" {
		joined = ex.scripts.libraries.clone()
	}
	if err := joined.join(&fresh, policy == "REPLACE"); err != nil {
		return err
	}
	ex.scripts.libraries = joined
	ex.librariesChanged([]byte("RESTORE"), payload, []byte(policy))
	c.Out.OK()
	return nil
}

// restoreError is what a client is told of a payload that is none.
func restoreError(err error) error {
	switch {
	case errors.Is(err, rdb.ErrPayloadFooter):
		return commands.ErrDumpPayload
	case errors.Is(err, rdb.ErrFunctionPreGA):
		return commands.ErrFunctionPreGA
	case errors.Is(err, rdb.ErrNotFunction):
		return commands.ErrFunctionPayload
	}
	return commands.ErrFunctionBroken
}

func functionList(c *commands.Ctx) error {
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
	for _, l := range sessionOf(c).executor.scripts.libraries.sorted() {
		if pattern != nil && !glob.Match(pattern, []byte(l.name), true) {
			continue
		}
		l.describe(c, withCode)
		n++
	}
	c.Out.SetArray(d, n)
	return nil
}

// describe writes what FUNCTION LIST says of a library.
func (l *library) describe(c *commands.Ctx, withCode bool) {
	out := c.Out
	out.Map(3 + b2i(withCode))
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

func functionStats(c *commands.Ctx) error {
	ex := sessionOf(c).executor
	run := ex.scripts.run
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
		c.Out.Array(len(run.argv))
		for _, word := range run.argv {
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
	c.Out.Int(int64(len(ex.scripts.libraries.byName)))
	c.Out.BulkString("functions_count")
	c.Out.Int(int64(len(ex.scripts.libraries.functions)))
	return nil
}

func functionKill(c *commands.Ctx) error { return killScript(c, false) }
