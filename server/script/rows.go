package script

import "lockserver/commands"

// handler is a command of this package.
type handler func(e *Engine, c *commands.Ctx) error

// binding makes a handler into what a row runs.
type binding func(h handler) func(c *commands.Ctx) error

// Rows are the commands about scripts and functions. engineOf finds the engine of the server that runs one.
func Rows(engineOf func(c *commands.Ctx) *Engine) []commands.Row {
	on := func(h handler) func(c *commands.Ctx) error {
		return func(c *commands.Ctx) error { return h(engineOf(c), c) }
	}
	return append(evalRows(on), scriptRow(on), functionRow(on))
}
