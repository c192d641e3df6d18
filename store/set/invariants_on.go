//go:build invariants

package set

// invariants turns on the checks that are too costly for production.
const invariants = true
