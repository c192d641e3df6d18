package plant

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The fault breaks the package that plants it.
func TestFaultIsSwitchedOn(t *testing.T) {
	faults := []Fault{{"the list is lost", []Patch{Before("internal/plant/plant.go", "\treturn files\n}\n",
		"\tif planted(\"the list is lost\") {\n\t\tclear(files)\n\t}\n")}}}
	program := Build(t, "../..", faults)
	out, err := Command(program, None, "-test.run", "^TestApply$").CombinedOutput()
	require.NoError(t, err, "%s", out)
	out, err = Command(program, "the list is lost", "-test.run", "^TestApply$").CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "--- FAIL: TestApply")
}

func TestApply(t *testing.T) {
	const file, place = "internal/plant/plant.go", "// None is the fault"
	one := Fault{"one", []Patch{Before(file, place, `planted("one") `), After(file, place, ` planted("one")`)}}
	files := Apply(t, "../..", []Fault{one, {"two", []Patch{{file, "of a patched program in", `planted("two")`}}}})
	require.Len(t, files, 1)
	require.Contains(t, files[file], `planted("one") // None is the fault planted("one") planted("two") which none`)
}
