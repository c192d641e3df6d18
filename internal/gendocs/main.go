// Command gendocs writes the parts of the documentation that follow from tables in the code: docs/commands.md
// from the command table; from that of the directives the tables of docs/CONFIGURATION.md, between their
// marks, and in packaging/ the configuration file; from the directives and what --help says the manual pages
// and what shells complete.
//
// It owns the layout of these and nothing else: what a command is called, takes and promises stands in its
// row, in package commands or server; what a directive does stands in its row, in package config; the
// command line is what cmd/lockserver prints. To change what a page says, change the row or the text, then
// run make docs. To add a generated part, add it to parts.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"lockserver/internal/config"
	"lockserver/internal/marked"
	"lockserver/server"
)

func main() {
	const root = "."
	files, err := parts(root)
	for path, text := range files {
		if path = filepath.Join(root, path); err == nil {
			err = os.MkdirAll(filepath.Dir(path), 0o755)
		}
		if err == nil {
			err = os.WriteFile(path, []byte(text), 0o644)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "gendocs:", err)
		os.Exit(1)
	}
}

// directivesMark is the name of the marks around the tables of directives.
const directivesMark = "directives"

// parts makes the files that are generated, or generated in part, by their path from the root of the tree,
// which has their other parts.
func parts(root string) (map[string]string, error) {
	const configuration = "docs/CONFIGURATION.md"
	old, err := os.ReadFile(filepath.Join(root, configuration))
	if err != nil {
		return nil, err
	}
	ref := config.NewReference()
	text := strings.ReplaceAll(string(old), "\r\n", "\n") // as Windows may check it out
	if text, err = marked.Replace(text, directivesMark, directives(ref)); err != nil {
		return nil, fmt.Errorf("%s: %w", configuration, err)
	}
	program, err := readProgram(filepath.Join(root, "cmd"))
	if err != nil {
		return nil, err
	}
	return map[string]string{
		"docs/commands.md":                      string(page(server.Table().Rows())),
		configuration:                           text,
		"packaging/lockserver.conf":             configurationFile(ref),
		"packaging/man/lockserver.1":            programManual(program),
		"packaging/man/lockserver.conf.5":       directivesManual(ref),
		"packaging/completions/lockserver.bash": bashCompletion(program, ref),
		"packaging/completions/_lockserver":     zshCompletion(program, ref),
		"packaging/completions/lockserver.fish": fishCompletion(program, ref),
	}, nil
}
