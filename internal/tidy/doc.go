// Package tidy holds no code. Its tests check the rules of the whole tree that the compiler does not check:
// allowed imports between packages and between parts of a package, packages without access to the clock,
// chance or the network, the length of files and functions, the width and the language of comments, the
// language of pages, and that every package has a comment and a place on the map. To add a rule, add a test
// here.
package tidy
