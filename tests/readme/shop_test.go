package readme

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// shops are the sources of each version in examples/shop, from src/main, in the order of the table.
var shops = [][]string{
	{"java/shop/SetnxShop.java"},
	{"java/shop/LuaShop.java", "resources/buy.lua", "resources/unlock.lua"},
	{"java/shop/RedissonShop.java"},
	{"java/shop/LockserverShop.java"},
}

// avoided are the things that version 4 does without: Lua, a watchdog, a loop that tries again.
var avoided = regexp.MustCompile(`(?i)\b(lua|eval\w*|redisscript|thread|timer|schedule\w*|executor\w*|watchdog|renew\w*|while|for|sleep|retry\w*)\b`)

// codeLines returns the lines of a source that are neither blank, nor comment, package or import.
func codeLines(source string) (lines []string) {
	for line := range strings.Lines(source) {
		line = strings.TrimSpace(line)
		other := line == ""
		for _, prefix := range []string{"//", "/*", "*", "--", "import ", "package "} {
			other = other || strings.HasPrefix(line, prefix)
		}
		if !other {
			lines = append(lines, line)
		}
	}
	return lines
}

// TestShop: the tables of examples/shop say how long each version is, in both languages.
// The pages also have the same figures and the same commands. Version 4 does without what it says.
func TestShop(t *testing.T) {
	folder := filepath.Join(root, "examples", "shop")
	read := func(path ...string) string {
		data, err := os.ReadFile(filepath.Join(append([]string{folder}, path...)...))
		require.NoError(t, err)
		return string(data)
	}
	english, chinese := read("README.md"), read("README.zh-CN.md")
	numbers := regexp.MustCompile(`[0-9][0-9.,]*`)
	for i, files := range shops {
		var lines []string
		for _, file := range files {
			lines = append(lines, codeLines(read("src", "main", filepath.FromSlash(file)))...)
		}
		row := regexp.MustCompile(fmt.Sprintf(`(?m)^\| %d \| .* \| (\d+) \| [0-9,]+ \| [0-9,]+ \|$`, i+1))
		for _, text := range []string{english, chinese} {
			m := row.FindStringSubmatch(text)
			require.NotNil(t, m, "a page has no row of version %d", i+1)
			require.Equal(t, fmt.Sprint(len(lines)), m[1], "the lines of version %d: %s", i+1, m[0])
		}
		require.Equal(t, numbers.FindAllString(row.FindString(english), -1), numbers.FindAllString(row.FindString(chinese), -1))
		words := avoided.FindAllString(strings.Join(lines, "\n"), -1)
		if i == len(shops)-1 {
			require.Empty(t, words)
		} else if i < 2 {
			require.NotEmpty(t, words, "version %d", i+1)
		}
	}
	fences := regexp.MustCompile("(?ms)^```.*?^```$")
	require.NotEmpty(t, fences.FindAllString(english, -1))
	require.Equal(t, fences.FindAllString(english, -1), fences.FindAllString(chinese, -1))
}
