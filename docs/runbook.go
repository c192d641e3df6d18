// Package docs has the text of a page for the programs that show parts of it.
package docs

import _ "embed"

// Runbook is the text of RUNBOOK.md.
//
//go:embed RUNBOOK.md
var Runbook string
