package server

import (
	"lockserver/commands"
)

func saveRows() []commands.Row {
	admin := commands.Admin | commands.NoScript
	return []commands.Row{
		{Name: "save", Group: commands.Server, Since: "1.0.0", Flags: admin | commands.NoAsyncLoading | commands.NoMulti, Run: saveCmd,
			Summary: "Writes a snapshot while everything else waits.", Complexity: "O(N) where N is the number of keys"},
		{Name: "bgsave", Group: commands.Server, Since: "1.0.0", Flags: admin | commands.NoAsyncLoading, Run: bgsaveCmd,
			Summary: "Writes a snapshot in the background.", Complexity: "O(1)",
			Args: []commands.Arg{commands.Opt(commands.Flag("SCHEDULE").From("3.2.2"))}},
		{Name: "lastsave", Group: commands.Server, Since: "1.0.0", Flags: commands.Loading | commands.Stale | commands.Fast,
			Cats: commands.CatAdmin | commands.CatDangerous, Run: lastsaveCmd, Tips: []string{"nondeterministic_output"},
			Summary: "Tells when the last snapshot succeeded.", Complexity: "O(1)"},
		{Name: "shutdown", Group: commands.Server, Since: "1.0.0", Flags: admin | whenever | commands.NoMulti | commands.AllowBusy, Run: shutdownCmd,
			Summary: "Saves, if save points are set, and ends the server.", Complexity: "O(N) where N is the number of keys when saving, otherwise O(1)",
			Args: []commands.Arg{
				commands.Opt(commands.OneOf("nosave_save", commands.Flag("NOSAVE"), commands.Flag("SAVE"))),
				commands.Opt(commands.Flag("NOW").From("7.0.0")), commands.Opt(commands.Flag("FORCE").From("7.0.0")),
				commands.Opt(commands.Flag("ABORT").From("7.0.0"))}},
	}
}

func saveCmd(c *commands.Ctx) error {
	ex := sessionOf(c).executor
	if ex.snapshots.running {
		return commands.ErrSaveInProgress
	}
	if ex.config.DBFilename == "" {
		return commands.ErrNoSnapshotFile
	}
	if err := ex.ownDir(); err != nil {
		return commands.ErrNotOurDir(err)
	}
	if err := ex.saveNow(); err != nil {
		return commands.ErrSaveFailed
	}
	c.Out.OK()
	return nil
}

func bgsaveCmd(c *commands.Ctx) error {
	a := c.Args()
	schedule := false
	if a.More() {
		schedule = a.Option() == "SCHEDULE"
		if a.More() {
			a.Syntax()
		}
	}
	if err := a.Err(); err != nil {
		return err
	}
	ex := sessionOf(c).executor
	if ex.config.DBFilename != "" {
		if err := ex.ownDir(); err != nil {
			return commands.ErrNotOurDir(err)
		}
	}
	switch {
	case ex.config.DBFilename == "":
		return commands.ErrNoSnapshotFile
	case ex.snapshots.running && schedule, ex.rewrites.running && schedule:
		ex.snapshots.scheduled = true
		c.Out.Simple("Background saving scheduled")
	case ex.snapshots.running:
		return commands.ErrSaveInProgress
	case ex.rewrites.running:
		return commands.ErrSaveInRewrite
	default:
		ex.startSave()
		c.Out.Simple("Background saving started")
	}
	return nil
}

func lastsaveCmd(c *commands.Ctx) error {
	c.Out.Int(sessionOf(c).executor.snapshots.lastSaveS)
	return nil
}

func shutdownCmd(c *commands.Ctx) error {
	a := c.Args()
	var o ShutdownOptions
	abort, words := false, 0
	for ; a.More(); words++ {
		switch a.Option() {
		case "SAVE":
			o.Save = true
		case "NOSAVE":
			o.NoSave = true
		case "NOW":
			o.Now = true
		case "FORCE":
			o.Force = true
		case "ABORT":
			abort = true
		}
	}
	if o.Save && o.NoSave || abort && words > 1 {
		a.Syntax()
	}
	if err := a.Err(); err != nil {
		return err
	}
	if abort {
		return commands.ErrNoShutdown
	}
	s := sessionOf(c)
	if s.executor.busy.on && !o.NoSave {
		return s.executor.scripts.BusyError()
	}
	if err := s.executor.saveForShutdown(o); err != nil {
		return commands.ErrShutdown
	}
	s.executor.log.Info("ending by SHUTDOWN")
	s.closing = true
	s.executor.host.requestStop(0)
	return nil
}

// aofRows are the commands about the append-only log.
func aofRows() []commands.Row {
	return []commands.Row{
		{Name: "bgrewriteaof", Group: commands.Server, Since: "1.0.0", Run: bgrewriteaofCmd,
			Flags:   commands.Admin | commands.NoScript | commands.NoAsyncLoading,
			Summary: "Writes the append-only file anew in the background.", Complexity: "O(1)"},
	}
}

func bgrewriteaofCmd(c *commands.Ctx) error {
	ex := sessionOf(c).executor
	switch {
	case ex.aof == nil && !ex.hasFiles():
		return commands.ErrNoLogFile
	case ex.rewrites.running:
		return commands.ErrRewriteInProgress
	case ex.snapshots.running || !c.MayBlock: // in a transaction: its effects are one unit
		ex.rewrites.scheduled = true
		c.Out.Simple("Background append only file rewriting scheduled")
		return nil
	}
	if err := ex.startRewrite(); err != nil {
		ex.log.Error("the append-only file cannot be rewritten", "cause", err)
		return commands.ErrRewriteFailed
	}
	c.Out.Simple("Background append only file rewriting started")
	return nil
}
