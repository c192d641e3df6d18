//go:build !invariants

package piece

const invariants = false
