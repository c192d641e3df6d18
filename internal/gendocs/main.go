// Command gendocs prints docs/commands.md from the command table.
//
// It owns the page's layout and nothing else: what a command is called, takes and promises stands in its row, in
// package commands or server. To change what the page says about a command, change the row, then run make docs.
package main

import (
	"fmt"
	"os"

	"lockserver/server"
)

func main() {
	if _, err := os.Stdout.Write(page(server.Table().Rows())); err != nil {
		fmt.Fprintln(os.Stderr, "gendocs:", err)
		os.Exit(1)
	}
}
