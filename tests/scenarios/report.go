package scenarios

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Clients are the packages that take part, in the order of the columns.
var Clients = []string{"go", "java", "node", "python"}

// titles are the names of the columns.
var titles = map[string]string{"go": "Go", "java": "Java", "node": "Node", "python": "Python"}

// Names lists the scenarios in the order of the rows. clients/SCENARIOS.md describes them.
var Names = []string{
	"broken_connections", "kill_and_restart", "kill_without_data", "server_gone", "server_stopped", "client_stopped",
	"failover_in_a_group", "failover_under_sentinels", "reasons", "five_errors", "close_releases",
}

// Report is the result of a run.
type Report struct {
	Date string `json:"date"` // the date of the run
	Long bool   `json:"long"` // real pauses of 40 s, 1,000 broken connections for each client
	// Results describes in a few words what each client did, by scenario and client.
	Results map[string]map[string]string `json:"results"`
}

// Marks of the table in docs/CLIENTS.md.
const (
	tableBegin = "<!-- scenarios:begin -->\n"
	tableEnd   = "<!-- scenarios:end -->\n"
)

// ReadReport parses the result of Report.JSON.
func ReadReport(text []byte) (Report, error) {
	var r Report
	err := json.Unmarshal(text, &r)
	return r, err
}

// JSON returns the report as the content of a file.
func (r Report) JSON() ([]byte, error) {
	text, err := json.MarshalIndent(r, "", "  ")
	return append(text, '\n'), err
}

// Table returns the report as a table for a page.
func (r Report) Table() string {
	var b strings.Builder
	form := "in the short form"
	if r.Long {
		form = "in the long form"
	}
	fmt.Fprintf(&b, "Measured on %s, %s. All clients took part in each scenario at the same time.\n\n", r.Date, form)
	b.WriteString("| scenario |")
	for _, client := range Clients {
		b.WriteString(" " + titles[client] + " |")
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(Clients)) + "\n")
	for _, name := range Names {
		b.WriteString("| `" + name + "` |")
		for _, client := range Clients {
			result := r.Results[name][client]
			if result == "" {
				result = "not run"
			}
			b.WriteString(" " + result + " |")
		}
		b.WriteString("\n")
	}
	return b.String()
}

// Into returns a page in which the table of the report replaces the old one. It fails if the page has no
// place for the table.
func (r Report) Into(page string) (string, error) {
	before, rest, ok := strings.Cut(page, tableBegin)
	if !ok {
		return "", fmt.Errorf("the page has no line %q", strings.TrimSpace(tableBegin))
	}
	_, after, ok := strings.Cut(rest, tableEnd)
	if !ok {
		return "", fmt.Errorf("the page has no line %q", strings.TrimSpace(tableEnd))
	}
	return before + tableBegin + "\n" + r.Table() + "\n" + tableEnd + after, nil
}
