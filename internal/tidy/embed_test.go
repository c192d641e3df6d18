package tidy

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestWhoEmbedsGetsNoAdminPort: what only the program needs is no dependency of package server, nor of
// anything but cmd/. Tests may look at it.
func TestWhoEmbedsGetsNoAdminPort(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", module+"/server").Output()
	require.NoError(t, err)
	deps := strings.Fields(string(out))
	require.Contains(t, deps, module+"/commands")
	for _, dep := range deps {
		require.NotEqual(t, "admin", layer(dep), dep)
		require.False(t, strings.HasPrefix(dep, "github.com/prometheus/"), dep)
		require.False(t, strings.HasPrefix(dep, "github.com/hashicorp/"), dep)
	}
	require.NotContains(t, deps, "net/http")
	for _, s := range sources(t) {
		from := layer(s.pkg)
		if from == "admin" || from == "cmd" || from == "tests" || strings.HasSuffix(s.path, "_test.go") || slices.Contains(generators, s.pkg) {
			continue
		}
		for _, path := range s.imports() {
			require.NotEqual(t, "admin", layer(path), "%s imports %s", s.path, path)
		}
	}
}

// TestOnlyTheProgramExportsSpans: neither package server, nor the client, nor anything but cmd/ and
// client/otellocks imports OpenTelemetry. Tests may.
func TestOnlyTheProgramExportsSpans(t *testing.T) {
	for _, pkg := range []string{module + "/server", module + "/server/raft/engine", module + "/client", module + "/lockservertest", module + "/admin"} {
		out, err := exec.Command("go", "list", "-deps", pkg).Output()
		require.NoError(t, err, pkg)
		for _, dep := range strings.Fields(string(out)) {
			require.False(t, strings.HasPrefix(dep, "go.opentelemetry.io/") || strings.HasPrefix(dep, "google.golang.org/grpc"), "%s needs %s", pkg, dep)
		}
	}
	for _, s := range sources(t) {
		for _, path := range s.imports() {
			ours := layer(s.pkg) == "cmd" || s.pkg == module+"/client/otellocks" || strings.HasSuffix(s.path, "_test.go")
			require.False(t, !ours && strings.HasPrefix(path, "go.opentelemetry.io/"), "%s imports %s", s.path, path)
		}
	}
}
