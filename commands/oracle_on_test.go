//go:build oracle

package commands

// withOracle says that a real Redis is there to compare with.
const withOracle = true
