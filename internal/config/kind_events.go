package config

import (
	"errors"

	"lockserver/internal/keyevent"
)

var errEventClass = errors.New("Invalid event class character. Use 'Ag$lshzxeKEtmdn'.")

// eventClasses is notify-keyspace-events.
type eventClasses struct{}

func (eventClasses) set(c *Config, args []string, _ bool) error {
	classes, ok := keyevent.Parse(args[0])
	if !ok {
		return errEventClass
	}
	c.NotifyKeyspaceEvents = classes
	return nil
}
func (eventClasses) get(c *Config) string          { return c.NotifyKeyspaceEvents.String() }
func (k eventClasses) lines(c, _ *Config) []string { return []string{quote(k.get(c))} }
func (eventClasses) shape() shape                  { return oneWord }
