// Package debug is DEBUG, as Redis' own tools and suites use it: digests of the data, the internal form of a
// value, replies of every type, many keys at once. It changes the behaviour of the server only through
// Target.
//
// It knows commands, the store and the formats of its files, not sessions or the executor. A subcommand is a
// line in the list of rows.go and a function; it uses the server through methods of Target.
package debug
