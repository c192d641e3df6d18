// Command gendocs writes the parts of the documentation that follow from tables in the code. The command
// table gives docs/commands.md. The directives give the tables of docs/CONFIGURATION.md, between their marks,
// and the configuration file in packaging/. The directives and the text of --help give the manual pages and
// the shell completions. The metrics give the table of docs/METRICS.md.
//
// It owns only their layout. The facts of a command are in its row, in package commands or server. Those of a
// directive are in its row, in package config. The command line is what cmd/lockserver prints. To change a
// page, change the row or the text, then run make docs. To add a generated part, add it to parts.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"lockserver/admin"
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

// The names of the marks around the tables of directives and of metrics.
const (
	directivesMark = "directives"
	metricsMark    = "metrics"
)

// withPart returns the text of a page with the part between its marks replaced.
func withPart(path, mark, part string) (string, error) {
	old, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	text := strings.ReplaceAll(string(old), "\r\n", "\n") // a checkout on Windows may have such line ends
	if text, err = marked.Replace(text, mark, part); err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	return text, nil
}

// parts returns the generated files by their path from root. A file that is only generated in part is read
// from the tree first.
func parts(root string) (map[string]string, error) {
	const configuration, figures = "docs/CONFIGURATION.md", "docs/METRICS.md"
	ref := config.NewReference()
	text, err := withPart(filepath.Join(root, configuration), directivesMark, directives(ref))
	if err != nil {
		return nil, err
	}
	withMetrics, err := withPart(filepath.Join(root, figures), metricsMark, metrics(admin.Metrics()))
	if err != nil {
		return nil, err
	}
	program, err := readProgram(filepath.Join(root, "cmd"))
	if err != nil {
		return nil, err
	}
	made := map[string]string{
		"docs/commands.md":                      string(page(server.FullTable().Rows())),
		configuration:                           text,
		figures:                                 withMetrics,
		"packaging/lockserver.conf":             configurationFile(ref),
		"packaging/man/lockserver.1":            programManual(program),
		"packaging/man/lockserver.conf.5":       directivesManual(ref),
		"packaging/completions/lockserver.bash": bashCompletion(program, ref),
		"packaging/completions/_lockserver":     zshCompletion(program, ref),
		"packaging/completions/lockserver.fish": fishCompletion(program, ref),
	}
	for to, from := range ofChart {
		text, err := os.ReadFile(filepath.Join(root, from))
		if err != nil {
			return nil, err
		}
		made[to] = string(text)
	}
	return made, nil
}

// ofChart are files of the Helm chart, which can only read what is in its directory, by what they are copies
// of.
var ofChart = map[string]string{
	"packaging/chart/lockserver/files/alerts.yml":     "docs/grafana/alerts.yml",
	"packaging/chart/lockserver/files/dashboard.json": "docs/grafana/lockserver.json",
	"packaging/chart/lockserver/files/RUNBOOK.md":     "docs/RUNBOOK.md",
}
