//go:build helm

package chart

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// kubeVersion is the version of Kubernetes that Helm assumes. A Helm that was built without its Makefile
// would assume an old version.
const kubeVersion = "1.34.0"

// helm runs the program in HELM, which make chart builds, with values in a file.
func helm(t *testing.T, changes map[string]any, words ...string) (string, error) {
	t.Helper()
	program := os.Getenv("HELM")
	require.NotEmpty(t, program, "run 'make chart'")
	values := make(map[string]any)
	for path, value := range changes {
		set(values, path, value)
	}
	text, err := yaml.Marshal(values)
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "values.yaml")
	require.NoError(t, os.WriteFile(file, text, 0o600))
	out, err := exec.Command(program, append(words, "--values", file, "--kube-version", kubeVersion)...).CombinedOutput()
	return string(out), err
}

// TestHelm: Helm's lint finds no fault, and Helm renders the same manifests as the renderer of these tests.
func TestHelm(t *testing.T) {
	for name, values := range settings {
		t.Run(name, func(t *testing.T) {
			out, err := helm(t, values, "lint", "--strict", dir)
			require.NoError(t, err, out)
			out, err = helm(t, values, "template", "locks", dir, "--namespace", "shop")
			require.NoError(t, err, out)
			objects := make(map[string]object)
			parse(t, []byte(out), objects)
			ours := made(t, values)
			require.ElementsMatch(t, keys(ours), keys(objects))
			for name, o := range objects {
				require.Equal(t, ours[name], o, name)
				require.NoError(t, decodes(o), name)
			}
		})
	}
}

// TestHelmRefuses: Helm refuses the values that the renderer of these tests refuses, and prints the reason.
func TestHelmRefuses(t *testing.T) {
	for why, values := range refused {
		out, err := helm(t, values, "template", "locks", dir)
		require.Error(t, err, why)
		require.Contains(t, out, why)
	}
}

// keys returns the names of the manifests.
func keys(objects map[string]object) (all []string) {
	for name := range maps.Keys(objects) {
		all = append(all, name)
	}
	return all
}
