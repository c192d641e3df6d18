package durability

import "lockserver/commands"

// Rows returns the commands that save, and that rewrite the log. storageOf finds the storage of the server
// that runs a command.
func Rows(storageOf func(c *commands.Ctx) *Storage) []commands.Row {
	with := func(run func(c *commands.Ctx, s *Storage) error) func(*commands.Ctx) error {
		return func(c *commands.Ctx) error { return run(c, storageOf(c)) }
	}
	admin := commands.Admin | commands.NoScript
	return []commands.Row{
		{Name: "save", Group: commands.Server, Since: "1.0.0", Flags: admin | commands.NoAsyncLoading | commands.NoMulti, Run: with(saveCmd),
			Summary: "Writes a snapshot while everything else waits.", Complexity: "O(N) where N is the number of keys"},
		{Name: "bgsave", Group: commands.Server, Since: "1.0.0", Flags: admin | commands.NoAsyncLoading, Run: with(bgsaveCmd),
			Summary: "Writes a snapshot in the background.", Complexity: "O(1)",
			Args: []commands.Arg{commands.Opt(commands.Flag("SCHEDULE").From("3.2.2"))}},
		{Name: "lastsave", Group: commands.Server, Since: "1.0.0", Flags: commands.Loading | commands.Stale | commands.Fast,
			Cats: commands.CatAdmin | commands.CatDangerous, Run: with(lastsaveCmd), Tips: []string{"nondeterministic_output"},
			Summary: "Tells when the last snapshot succeeded.", Complexity: "O(1)"},
		{Name: "bgrewriteaof", Group: commands.Server, Since: "1.0.0", Run: with(bgrewriteaofCmd), Flags: admin | commands.NoAsyncLoading,
			Summary: "Writes the append-only file anew in the background.", Complexity: "O(1)"},
	}
}

func saveCmd(c *commands.Ctx, s *Storage) error {
	if s.Saving() {
		return commands.ErrSaveInProgress
	}
	if s.config.DBFilename == "" {
		return commands.ErrNoSnapshotFile
	}
	if err := s.OwnDir(); err != nil {
		return commands.ErrNotOurDir(err)
	}
	if err := s.Save(); err != nil {
		return commands.ErrSaveFailed
	}
	c.Out.OK()
	return nil
}

func bgsaveCmd(c *commands.Ctx, s *Storage) error {
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
	if s.config.DBFilename != "" {
		if err := s.OwnDir(); err != nil {
			return commands.ErrNotOurDir(err)
		}
	}
	switch {
	case s.config.DBFilename == "":
		return commands.ErrNoSnapshotFile
	case schedule && (s.Saving() || s.Rewriting()):
		s.ScheduleSave()
		c.Out.Simple("Background saving scheduled")
	case s.Saving():
		return commands.ErrSaveInProgress
	case s.Rewriting():
		return commands.ErrSaveInRewrite
	default:
		s.StartSave()
		c.Out.Simple("Background saving started")
	}
	return nil
}

func lastsaveCmd(c *commands.Ctx, s *Storage) error {
	c.Out.Int(s.LastSaveS())
	return nil
}

func bgrewriteaofCmd(c *commands.Ctx, s *Storage) error {
	switch {
	case s.Log() == nil && !s.HasFiles():
		return commands.ErrNoLogFile
	case s.Rewriting():
		return commands.ErrRewriteInProgress
	case s.Saving() || !c.MayBlock: // in a transaction, because its effects are one unit
		s.ScheduleRewrite()
		c.Out.Simple("Background append only file rewriting scheduled")
		return nil
	}
	if err := s.StartRewrite(); err != nil {
		s.opts.Log.Error("the append-only file cannot be rewritten", "cause", err)
		return commands.ErrRewriteFailed
	}
	c.Out.Simple("Background append only file rewriting started")
	return nil
}
