//go:build oracle

package commands

// withOracle says that tests can compare with a real Redis.
const withOracle = true
