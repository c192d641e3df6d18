package script

import "lockserver/commands"

// handler is the handler of a command of this package.
type handler func(e *Engine, c *commands.Ctx) error

// binding converts a handler to the function of a row.
type binding func(h handler) func(c *commands.Ctx) error

// Rows returns the commands about scripts and functions. engineOf finds the engine of the server that runs a
// command.
func Rows(engineOf func(c *commands.Ctx) *Engine) []commands.Row {
	on := func(h handler) func(c *commands.Ctx) error {
		return func(c *commands.Ctx) error { return h(engineOf(c), c) }
	}
	return append(evalRows(on), scriptRow(on), functionRow(on))
}
