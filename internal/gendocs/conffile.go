package main

import (
	"cmp"
	"fmt"
	"strings"

	"lockserver/internal/config"
)

// packaged returns the directives that the configuration file of a package sets to a value other than the
// default.
func packaged() map[string]string {
	return map[string]string{
		"bind": "127.0.0.1 -::1",
		"dir":  "/var/lib/lockserver",
	}
}

// examples returns example lines for directives without a default to show.
func examples() map[string]string {
	return map[string]string{
		"user":           "alice on >secret ~jobs:* &* +@all",
		"rename-command": `FLUSHALL ""`,
	}
}

// configurationFile returns the file that a package installs: every directive with its description and its
// default behind a "#". The directives of packaged have no "#".
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

// comment writes text as lines that begin with "# ".
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
