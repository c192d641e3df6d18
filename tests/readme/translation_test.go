package readme

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTranslations: commands, outputs and code are the same in both languages. The blocks of a translated
// page are blocks of its original, word for word and in the same order; some may be left out. TestTranscripts
// plays the transcripts of both.
func TestTranslations(t *testing.T) {
	translated := 0
	for _, p := range pages {
		if p.original == "" {
			continue
		}
		_, blocks := p.read(t)
		_, rest := page{path: p.original}.read(t)
		for _, b := range blocks {
			at := -1
			for i, o := range rest {
				if o.use() == b.use() && o.text == b.text {
					at = i
					break
				}
			}
			require.GreaterOrEqual(t, at, 0, "%s: %s has no such block from here on:\n%s", b.where(), p.original, b.text)
			rest = rest[at+1:]
			translated++
		}
	}
	require.Greater(t, translated, 20)
}

// TestSameCommandsSameOutput: terminals with the same commands on pages in different languages show the same
// output.
func TestSameCommandsSameOutput(t *testing.T) {
	commands := func(b block) string {
		var list []string
		for _, s := range steps(b) {
			list = append(list, s.command)
		}
		return strings.Join(list, "\n")
	}
	chinese := func(p page) bool { return strings.Contains(p.path, "zh-CN") }
	shown := make(map[string]block)
	of := func(p page, each func(b block)) {
		_, blocks := p.read(t)
		for _, b := range blocks {
			if b.language == "console" && strings.Count(b.text, prompt) > 1 {
				each(b)
			}
		}
	}
	for _, p := range pages {
		if !chinese(p) {
			of(p, func(b block) { shown[commands(b)] = b })
		}
	}
	compared := 0
	for _, p := range pages {
		if chinese(p) {
			of(p, func(b block) {
				if o, is := shown[commands(b)]; is {
					require.Empty(t, (&chances{actual: map[string]string{}}).compare(o.text, b.text), "%s and %s", o.where(), b.where())
					compared++
				}
			})
		}
	}
	require.Greater(t, compared, 5)
}
