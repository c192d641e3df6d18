// Package tidy holds no code: its test keeps the rules of the whole tree that a compiler does not. Who may import whom,
// which packages see neither the clock nor chance nor the network, how long a file may be, and that every package
// says what it owns. To add a rule, add a test here.
package tidy
