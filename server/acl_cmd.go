package server

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"

	"lockserver/commands"
)

// There is one user, default, who may do everything; requirepass is the user's password. ACL
// tells of that, and changes nothing.

func aclRow() commands.Row {
	row := func(name string, flags commands.Flags, run func(*commands.Ctx) error, summary string, args ...commands.Arg) commands.Row {
		return commands.Row{Name: name, Group: commands.Server, Since: "6.0.0", Flags: whenever | flags, Run: run, Summary: summary,
			Complexity: "O(1)", Args: args}
	}
	return commands.Row{Name: "acl", Group: commands.Server, Since: "6.0.0", Summary: "Commands about users and what they may do.",
		Complexity: "Depends on the subcommand.", Sub: []commands.Row{
			row("cat", 0, aclCat, "Lists the categories of commands, or the commands of one.", commands.Opt(commands.Str("categoryname"))),
			row("genpass", 0, aclGenPass, "Makes a password, of 256 bits or as many as asked for.", commands.Opt(commands.Int("bits"))),
			row("getuser", commands.Admin, aclGetUser, "Tells what a user may do.", commands.Str("username")),
			row("list", commands.Admin, aclList, "Tells of all users in the form of an ACL file."),
			row("users", commands.Admin, aclUsers, "Lists the names of the users."),
			row("whoami", 0, aclWhoAmI, "Tells as which user the connection is logged in."),
		}}
}

// theUser is the name of the only user.
const theUser = "default"

// The rules that the user has.
const (
	allKeys     = "~*"
	allChannels = "&*"
	allCommands = "+@all"
)

// passwordHash is the hash of the user's password as Redis shows it; empty: there is none.
func (ex *executor) passwordHash() string {
	if ex.config.RequirePass == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(ex.config.RequirePass))
	return hex.EncodeToString(sum[:])
}

func aclCat(c *commands.Ctx) error {
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

// aclGenPass answers in hexadecimal digits, of four bits each.
func aclGenPass(c *commands.Ctx) error {
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

func aclGetUser(c *commands.Ctx) error {
	if string(c.Argv[2]) != theUser {
		c.Out.Null()
		return nil
	}
	hash := sessionOf(c).executor.passwordHash()
	flags, passwords := []string{"on"}, []string{hash}
	if hash == "" {
		flags, passwords = append(flags, "nopass"), nil
	}
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

func aclList(c *commands.Ctx) error {
	password := "nopass"
	if hash := sessionOf(c).executor.passwordHash(); hash != "" {
		password = "#" + hash
	}
	c.Out.Array(1)
	c.Out.BulkString("user " + theUser + " on " + password + " " + allKeys + " " + allChannels + " " + allCommands)
	return nil
}

func aclUsers(c *commands.Ctx) error {
	c.Out.Array(1)
	c.Out.BulkString(theUser)
	return nil
}

func aclWhoAmI(c *commands.Ctx) error {
	c.Out.BulkString(theUser)
	return nil
}
