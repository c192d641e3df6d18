package acl

import (
	"lockserver/commands"
	"lockserver/internal/ascii"
)

// Refuse records that a user may not run a command.
func (us *Users) Refuse(u *User, d *Denial, in Context, nowMS int64, client func() string) {
	us.Log.add(logEntry{reason: d.Reason, context: in, object: d.subject(), user: u.name}, nowMS, client)
}

// RefuseLogin records a failed login with a name. command is the command that tried it.
func (us *Users) RefuseLogin(name, command []byte, in Context, nowMS int64, client func() string) {
	us.Log.add(logEntry{reason: DeniedAuth, context: in, object: string(command), user: string(name)}, nowMS, client)
}

// shownEntries is the number of entries that ACL LOG shows by default.
const shownEntries = 10

func showLog(c *commands.Ctx, h Directory) error {
	log := &h.Users().Log
	count := int64(shownEntries)
	if len(c.Argv) > 3 {
		return commands.ErrSubcommandSyntax("acl", c.Argv[1])
	}
	if len(c.Argv) == 3 {
		if ascii.EqualFold(c.Argv[2], "reset") {
			log.entries = nil
			c.Out.OK()
			return nil
		}
		a := c.Args()
		count = max(0, a.Int())
		if err := a.Err(); err != nil {
			return err
		}
	}
	count = min(count, int64(len(log.entries)))
	c.Out.Array(int(count))
	for i := range int(count) {
		writeEntry(c, &log.entries[len(log.entries)-1-i])
	}
	return nil
}

func writeEntry(c *commands.Ctx, e *logEntry) {
	out := c.Out
	out.Map(10)
	out.BulkString("count")
	out.Int(e.count)
	for _, text := range []string{"reason", reasonNames[e.reason], "context", contextNames[e.context], "object", e.object, "username", e.user,
		"age-seconds"} {
		out.BulkString(text)
	}
	out.Double(float64(c.NowMS()-e.lastMS) / 1000)
	out.BulkString("client-info")
	out.BulkString(e.client)
	for _, field := range []struct {
		name string
		n    int64
	}{{"entry-id", e.id}, {"timestamp-created", e.madeMS}, {"timestamp-last-updated", e.lastMS}} {
		out.BulkString(field.name)
		out.Int(field.n)
	}
}
