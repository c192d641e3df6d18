//go:build invariants

package list

// invariants turns on the checks that are too costly for production.
const invariants = true
