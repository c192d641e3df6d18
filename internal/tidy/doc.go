// Package tidy holds no code: its tests keep the rules of the whole tree that a compiler does not. Who may
// import whom, which rooms of a package know which, which packages see neither the clock nor chance nor the
// network, how long a file and a function and how wide a comment may be, and that every package says what it
// owns and stands on the map.
// To add a rule, add a test here.
package tidy
