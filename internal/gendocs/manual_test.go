package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/config"
)

func TestRoff(t *testing.T) {
	r := new(roff)
	r.macro("SH", `a "b" \c`)
	r.paragraph("`-x` of [it](there.md)")
	r.paragraph(".dots and 'quotes' " + strings.Repeat("0123456789 ", 8))
	require.Equal(t, ".SH \"a \\(dqb\\(dq \\ec\"\n\\fB\\-x\\fR of it\n.PP\n\\&.dots and 'quotes' "+
		"0123456789 0123456789 0123456789 0123456789 0123456789\n0123456789 0123456789 0123456789\n", r.String())
}

// TestConfigurationFile: the installed configuration has the defaults of the program, except for the
// directives of packaged. Every line behind a "#" is valid without the "#".
func TestConfigurationFile(t *testing.T) {
	text := configurationFile(config.NewReference())
	c, err := config.Parse("lockserver.conf", []byte(text), config.Files{})
	require.NoError(t, err)
	want := config.Default().Get("*")
	for i := 0; i < len(want); i += 2 {
		if value, ok := packaged()[want[i]]; ok {
			want[i+1] = value
		}
	}
	require.Equal(t, want, c.Get("*"))

	var lines []string
	for line := range strings.Lines(text) {
		if name, ok := strings.CutPrefix(line, "#"); ok && name[0] >= 'a' && name[0] <= 'z' {
			lines = append(lines, name)
		}
	}
	require.Greater(t, len(lines), 90)
	c, err = config.Parse("lockserver.conf", []byte(text+strings.Join(lines, "")), config.Files{})
	require.NoError(t, err)
	require.Equal(t, want, c.Get("*"), "they show the defaults")
}
