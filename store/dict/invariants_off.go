//go:build !invariants

package dict

// invariants turns on the checks that are too costly for production.
const invariants = false
