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
				commands.Opt(commands.OneOf("save-selector", commands.Flag("NOSAVE"), commands.Flag("SAVE"))),
				commands.Opt(commands.Flag("NOW").From("7.0.0")), commands.Opt(commands.Flag("FORCE").From("7.0.0")),
				commands.Opt(commands.Flag("ABORT").From("7.0.0"))}},
	}
}

func saveCmd(c *commands.Ctx) error {
	ex := sessionOf(c).executor
	if ex.durable.Saving() {
		return commands.ErrSaveInProgress
	}
	if ex.config.DBFilename == "" {
		return commands.ErrNoSnapshotFile
	}
	if err := ex.durable.OwnDir(); err != nil {
		return commands.ErrNotOurDir(err)
	}
	if err := ex.durable.Save(); err != nil {
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
		if err := ex.durable.OwnDir(); err != nil {
			return commands.ErrNotOurDir(err)
		}
	}
	switch {
	case ex.config.DBFilename == "":
		return commands.ErrNoSnapshotFile
	case schedule && (ex.durable.Saving() || ex.durable.Rewriting()):
		ex.durable.ScheduleSave()
		c.Out.Simple("Background saving scheduled")
	case ex.durable.Saving():
		return commands.ErrSaveInProgress
	case ex.durable.Rewriting():
		return commands.ErrSaveInRewrite
	default:
		ex.durable.StartSave()
		c.Out.Simple("Background saving started")
	}
	return nil
}

func lastsaveCmd(c *commands.Ctx) error {
	c.Out.Int(sessionOf(c).executor.durable.LastSaveS())
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
	case ex.durable.Log() == nil && !ex.durable.HasFiles():
		return commands.ErrNoLogFile
	case ex.durable.Rewriting():
		return commands.ErrRewriteInProgress
	case ex.durable.Saving() || !c.MayBlock: // in a transaction: its effects are one unit
		ex.durable.ScheduleRewrite()
		c.Out.Simple("Background append only file rewriting scheduled")
		return nil
	}
	if err := ex.durable.StartRewrite(); err != nil {
		ex.log.Error("the append-only file cannot be rewritten", "cause", err)
		return commands.ErrRewriteFailed
	}
	c.Out.Simple("Background append only file rewriting started")
	return nil
}
