package main

import (
	"cmp"
	"fmt"
	"strings"

	"lockserver/internal/config"
)

// packaged are the directives that the configuration file of a package states, because there it is not what
// the program does by itself.
func packaged() map[string]string {
	return map[string]string{
		"bind": "127.0.0.1 -::1",
		"dir":  "/var/lib/lockserver",
	}
}

// examples are lines of directives that have no default to show.
func examples() map[string]string {
	return map[string]string{
		"user":           "alice on >secret ~jobs:* &* +@all",
		"rename-command": `FLUSHALL ""`,
	}
}

// configurationFile is the file that a package installs: every directive, with what it does and its default
// behind a "#", but for those that a package states.
func configurationFile(ref config.Reference) string {
	var b strings.Builder
	b.WriteString(`# Configuration of lockserver, in the format of redis.conf: see lockserver.conf(5).
#
# Behind "#" without a blank stands a directive with its default, which counts unless it is stated here.
# After a change: systemctl restart lockserver.
# The service adds --supervised systemd and --daemonize no; its log goes to the journal.
`)
	stated, shown := packaged(), examples()
	for _, s := range ref.Sections {
		heading := false
		for _, e := range s.Entries {
			if e.Hidden {
				continue
			}
			if !heading {
				fmt.Fprintf(&b, "\n#### %s ####\n", s.Title)
				heading = true
			}
			b.WriteString("\n")
			comment(&b, sentence(plain(e.Doc)))
			name := e.Names[0]
			if value, ok := stated[name]; ok {
				fmt.Fprintf(&b, "%s %s\n", name, value)
			} else {
				fmt.Fprintf(&b, "#%s %s\n", name, cmp.Or(shown[name], e.Default, `""`))
			}
		}
	}
	return b.String()
}

// comment writes text in lines that begin with a "#" and a blank.
func comment(b *strings.Builder, text string) {
	line := "#"
	for _, w := range strings.Fields(text) {
		if len(line)+1+len(w) > columns {
			b.WriteString(line + "\n")
			line = "#"
		}
		line += " " + w
	}
	b.WriteString(line + "\n")
}
