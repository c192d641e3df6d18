// Package acl tells of users and of what they may do: the command ACL.
//
// There is one user, default, who may do everything; requirepass is the user's password. ACL tells of that,
// and changes nothing. The package must not know sessions, or who is logged in; the password is handed in,
// and leaves only as a hash.
//
// To add a subcommand: its row and its handler.
package acl

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"

	"lockserver/commands"
)

// Rows are the commands of this package. passwordOf returns the password of the server that runs one; empty:
// there is none.
func Rows(passwordOf func(c *commands.Ctx) string) []commands.Row {
	hashed := func(run func(c *commands.Ctx, hash string) error) func(*commands.Ctx) error {
		return func(c *commands.Ctx) error { return run(c, hashOf(passwordOf(c))) }
	}
	row := func(name string, flags commands.Flags, run func(*commands.Ctx) error, summary string, args ...commands.Arg) commands.Row {
		return commands.Row{Name: name, Group: commands.Server, Since: "6.0.0", Flags: commands.NoScript | commands.Loading | commands.Stale | flags, Run: run, Summary: summary,
			Complexity: "O(1)", Args: args}
	}
	return []commands.Row{{Name: "acl", Group: commands.Server, Since: "6.0.0", Summary: "Commands about users and what they may do.",
		Complexity: "Depends on the subcommand.", Sub: []commands.Row{
			row("cat", 0, cat, "Lists the categories of commands, or the commands of one.", commands.Opt(commands.Str("category"))),
			row("genpass", 0, genPass, "Makes a password, of 256 bits or as many as asked for.", commands.Opt(commands.Int("bits"))),
			row("getuser", commands.Admin, hashed(getUser), "Tells what a user may do.", commands.Str("username")),
			row("list", commands.Admin, hashed(list), "Tells of all users in the form of an ACL file."),
			row("users", commands.Admin, users, "Lists the names of the users."),
			row("whoami", 0, whoAmI, "Tells as which user the connection is logged in."),
		}}}
}

// User is the name of the only user.
const User = "default"

// The rules that the user has.
const (
	allKeys     = "~*"
	allChannels = "&*"
	allCommands = "+@all"
	sanitized   = "sanitize-payload" // RESTORE always checks the whole value
)

// hashOf is the hash of a password as Redis shows it; empty: there is none.
func hashOf(password string) string {
	if password == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(password))
	return hex.EncodeToString(sum[:])
}

func cat(c *commands.Ctx) error {
	var names []string
	switch len(c.Argv) {
	case 2:
		names = commands.AllCategories()
	case 3:
		category, ok := commands.CategoryByName(c.Argv[2])
		if !ok {
			return commands.ErrCategory(c.Argv[2])
		}
		names = c.Table.Names(func(r *commands.Row) bool { return r.Categories()&category != 0 })
	default:
		return commands.ErrSubcommandSyntax("acl", c.Argv[1])
	}
	c.Out.Array(len(names))
	for _, name := range names {
		c.Out.BulkString(name)
	}
	return nil
}

const (
	passwordBits     = 256
	mostPasswordBits = 4096
)

// genPass answers in hexadecimal digits, of four bits each.
func genPass(c *commands.Ctx) error {
	if len(c.Argv) > 3 {
		return commands.ErrSubcommandSyntax("acl", c.Argv[1])
	}
	bits := int64(passwordBits)
	if a := c.Args(); a.More() {
		bits = a.Int()
		if err := a.Err(); err != nil {
			return err
		}
		if bits < 1 || bits > mostPasswordBits {
			return commands.ErrPasswordBits
		}
	}
	digits := (bits + 3) / 4
	secret := make([]byte, (digits+1)/2)
	_, _ = rand.Read(secret) // never fails
	c.Out.BulkString(hex.EncodeToString(secret)[:digits])
	return nil
}

func getUser(c *commands.Ctx, hash string) error {
	if string(c.Argv[2]) != User {
		c.Out.Null()
		return nil
	}
	flags, passwords := []string{"on"}, []string{hash}
	if hash == "" {
		flags, passwords = append(flags, "nopass"), nil
	}
	flags = append(flags, sanitized)
	out := c.Out
	out.Map(6)
	out.BulkString("flags")
	out.Set(len(flags))
	for _, f := range flags {
		out.BulkString(f)
	}
	out.BulkString("passwords")
	out.Array(len(passwords))
	for _, p := range passwords {
		out.BulkString(p)
	}
	for _, s := range []string{"commands", allCommands, "keys", allKeys, "channels", allChannels, "selectors"} {
		out.BulkString(s)
	}
	out.Array(0)
	return nil
}

func list(c *commands.Ctx, hash string) error {
	passwords := "nopass " + sanitized
	if hash != "" {
		passwords = sanitized + " #" + hash
	}
	c.Out.Array(1)
	c.Out.BulkString("user " + User + " on " + passwords + " " + allKeys + " " + allChannels + " " + allCommands)
	return nil
}

func users(c *commands.Ctx) error {
	c.Out.Array(1)
	c.Out.BulkString(User)
	return nil
}

func whoAmI(c *commands.Ctx) error {
	c.Out.BulkString(User)
	return nil
}
