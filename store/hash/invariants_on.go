//go:build invariants

package hash

// invariants turns on the checks that are too costly for production.
const invariants = true
