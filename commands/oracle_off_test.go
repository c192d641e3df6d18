//go:build !oracle

package commands

const withOracle = false
