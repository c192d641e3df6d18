package acl

import "lockserver/commands"

// Rows returns the commands of this package. hostOf returns the Directory for the session that runs a
// command.
func Rows(hostOf func(c *commands.Ctx) Directory) []commands.Row {
	const anyone = commands.NoScript | commands.Loading | commands.Stale
	const admin = anyone | commands.Admin
	row := func(name string, flags commands.Flags, run func(*commands.Ctx, Directory) error, summary string, args ...commands.Arg) commands.Row {
		return commands.Row{Name: name, Group: commands.Server, Since: "6.0.0", Flags: flags, Summary: summary, Complexity: "O(1)", Args: args,
			Run: func(c *commands.Ctx) error { return run(c, hostOf(c)) }}
	}
	set := row("setuser", admin, setUser, "Makes a user, or changes what it may do.", commands.Str("username"), commands.Opt(commands.Str("rule").Many()))
	remove := row("deluser", admin, delUser, "Deletes users, and ends their connections.", commands.Str("username").Many())
	get := row("getuser", admin, getUser, "Tells what a user may do.", commands.Str("username"))
	for _, r := range []*commands.Row{&set, &remove, &get} {
		r.Complexity, r.Secrets = "O(N) where N is the number of rules or users", wordsFromTwo
	}
	saved := row("save", admin, save, "Writes the users into the ACL file.")
	for _, r := range []*commands.Row{&set, &remove, &saved} {
		r.Tips = []string{"request_policy:all_nodes", "response_policy:all_succeeded"}
	}
	dry := row("dryrun", admin, dryRun, "Tells whether a user may run a command, without running it.",
		commands.Str("username"), commands.Str("command"), commands.Opt(commands.Str("arg").Many()))
	dry.Since = "7.0.0"
	log := row("log", admin, showLog, "Lists what was refused to users, the last first, or forgets it.",
		commands.Opt(commands.OneOf("operation", commands.Int("count"), commands.Flag("RESET"))))
	log.Complexity = "O(N) where N is the number of entries"
	return []commands.Row{{Name: "acl", Group: commands.Server, Since: "6.0.0", Summary: "Commands about users and what they may do.",
		Complexity: "Depends on the subcommand.", Sub: []commands.Row{
			row("cat", anyone, cat, "Lists the categories of commands, or the commands of one.", commands.Opt(commands.Str("category"))),
			remove, dry,
			row("genpass", anyone, genPass, "Makes a password, of 256 bits or as many as asked for.", commands.Opt(commands.Int("bits"))),
			get,
			row("list", admin, list, "Tells of all users in the form of an ACL file."),
			row("load", admin, load, "Makes the users be those of the ACL file."),
			log, saved, set,
			row("users", admin, users, "Lists the names of the users."),
			row("whoami", anyone, whoAmI, "Tells as which user the connection is logged in."),
		}}}
}

// wordsFromTwo returns the words after the subcommand: names of users, and rules that may contain passwords.
func wordsFromTwo(args [][]byte, dst []int) []int {
	for i := 2; i < len(args); i++ {
		dst = append(dst, i)
	}
	return dst
}
