//go:build !linux

package floor

import (
	"context"
	"fmt"
	"io"
)

// Role is the first argument of a process that runs this server.
const Role = "serve-floor"

// Serve fails here.
func Serve(_ context.Context, _ []string, stderr io.Writer) int {
	fmt.Fprintln(stderr, "floor: it needs Linux")
	return 1
}
