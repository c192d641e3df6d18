package config

import "sync"

// Default returns the configuration of a server without any settings.
func Default() *Config { return defaults().Clone() }

// defaults is the configuration that Default copies. A test may start a server a thousand times, and parsing
// all directives took a third of that time.
var defaults = sync.OnceValue(func() *Config {
	c := &Config{kept: newKept(keptRows())}
	for i := range directives {
		if d := &directives[i]; d.valued() {
			if err := d.assign(c, d.defaultWords(), false); err != nil {
				panic("config: the default of " + d.Name + " is refused by its own type: " + err.Error())
			}
		}
	}
	return c
})
