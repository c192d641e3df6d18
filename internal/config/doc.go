// Package config is the server's configuration as one validated value.
//
// It owns the table of directives (name, type, default, when it may change) and every reason to refuse a
// value. It also owns redis.conf's syntax, the command line in redis-server's form, and CONFIG GET / SET /
// REWRITE. It must not know the server: nothing here listens, logs or changes directory. Files are read
// through the functions of a Files value (OSFiles for the real ones). There are no globals that change: the
// owner of a *Config (the executor) guards it, and hands out Clones.
//
// To add a directive, add a field to Config with the unit in its name, and one row to the table in
// directives.go. Default, parsing, CONFIG GET, CONFIG SET and CONFIG REWRITE follow from the row. A row that
// contradicts itself (a default that its own type refuses, a name used twice) panics when the package loads.
// A new type of value is a new kind, in kind.go when it is one word and in kind_list.go when it is several.
package config
