// Command gendocs writes the parts of the documentation that follow from tables in the code:
// docs/commands.md from the command table, and the tables of docs/CONFIGURATION.md, between their
// marks, from that of the directives.
//
// It owns the layout of both and nothing else: what a command is called, takes and promises stands in its
// row, in package commands or server; what a directive does stands in its row, in package config. To change
// what a page says about one, change the row, then run make docs. To add a generated part, add it to parts.
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
	const docs = "docs"
	files, err := parts(docs)
	for path, text := range files {
		if err == nil {
			err = os.WriteFile(filepath.Join(docs, path), []byte(text), 0o644)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "gendocs:", err)
		os.Exit(1)
	}
}

// directivesMark is the name of the marks around the tables of directives.
const directivesMark = "directives"

// parts makes the pages that are generated, or generated in part, by their name in the directory
// docs, which has their other parts.
func parts(docs string) (map[string]string, error) {
	const configuration = "CONFIGURATION.md"
	old, err := os.ReadFile(filepath.Join(docs, configuration))
	if err != nil {
		return nil, err
	}
	text := strings.ReplaceAll(string(old), "\r\n", "\n") // as Windows may check it out
	if text, err = marked.Replace(text, directivesMark, directives(config.NewReference())); err != nil {
		return nil, fmt.Errorf("%s: %w", configuration, err)
	}
	return map[string]string{"commands.md": string(page(server.Table().Rows())), configuration: text}, nil
}
