package main

import (
	"context"
	"fmt"
	"strings"

	"lockserver/internal/benchkit"
)

// machine says where and with what the figures were made.
func (b *bench) machine(ctx context.Context, args []string) string {
	lines := []string{
		benchkit.Machine(),
		fmt.Sprintf("- Redis: %s; %s", benchkit.VersionOf(ctx, b.tools.server), benchkit.VersionOf(ctx, b.tools.benchmark)),
		fmt.Sprintf("- lockserver: %s", benchkit.VersionOf(ctx, b.pair[1].Path)),
		benchkit.CommandLine("go run ./tests/bench", args),
	}
	if b.Quick {
		lines = append(lines, "- **Quick: one round of little work. It shows that everything runs; the figures mean little.**")
	}
	return strings.Join(lines, "\n") + "\n"
}
