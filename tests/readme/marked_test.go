package readme

import (
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/marked"
)

func TestReplace(t *testing.T) {
	const page = "# Page\n\n<!-- x:begin -->\nold\n<!-- x:end -->\n\nMore.\n"
	got, err := marked.Replace(page, "x", "\n\n| a |\n")
	require.NoError(t, err)
	require.Equal(t, "# Page\n\n<!-- x:begin -->\n\n| a |\n\n<!-- x:end -->\n\nMore.\n", got)
	again, err := marked.Replace(got, "x", "| a |")
	require.NoError(t, err)
	require.Equal(t, got, again)
	part, err := marked.Between(got, "x")
	require.NoError(t, err)
	require.Equal(t, "| a |", part)
}

func TestMarksThatAreNotThereOnce(t *testing.T) {
	const begin, end = "<!-- x:begin -->", "<!-- x:end -->"
	for why, text := range map[string]string{
		begin + " is there 0 times": "no marks", begin + " is there 2 times": begin + begin + end,
		end + " is there 0 times": begin, end + " stands before": end + begin,
	} {
		_, err := marked.Replace(text, "x", "new")
		require.ErrorContains(t, err, why)
		_, err = marked.Between(text, "x")
		require.ErrorContains(t, err, why)
	}
}
