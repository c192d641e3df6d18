package server

import (
	"lockserver/commands"
	"lockserver/server/debug"
)

// debugHost is the server as DEBUG of a session sees it.
type debugHost struct{ session *session }

var _ debug.Host = debugHost{}

// debugHostOf is the host of the session that runs a DEBUG.
func debugHostOf(c *commands.Ctx) debug.Host { return debugHost{sessionOf(c)} }

// Allowed implements debug.Host.
func (h debugHost) Allowed() bool { return h.session.mayDebug() }

// SetActiveExpiry implements debug.Host.
func (h debugHost) SetActiveExpiry(on bool) { h.session.executor.expiryPaused = !on }

// Log implements debug.Host.
func (h debugHost) Log(text string) { h.session.executor.log.Warn(text) }

// Compresses implements debug.Host.
func (h debugHost) Compresses() bool { return h.session.executor.config.RDBCompression }
