// Package tidy holds no code. Its tests check the rules of the whole tree that the compiler does not check.
// They are about allowed imports between packages and between parts of a package, and about packages without
// access to the clock, chance or the network. They bound the length of files and functions and the width of
// comments. They look at the language of comments, names and pages. Every package has a comment and a place
// on the map. To add a rule, add a test
// here.
package tidy
