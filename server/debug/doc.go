// Package debug is DEBUG, as Redis' own tools and suites use it: digests of the data, what a value looks like
// inside, replies of every type, keys in quantity. It changes how the server behaves only through Target.
//
// It knows commands, the store and the formats of its files, not sessions or the executor. A subcommand is a
// line in the list of rows.go and a function; what it needs of the server is a method of Target.
package debug
