package luavm_test

import (
	"bufio"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/luavm"
)

// corpusRunner compiles ARGV[1], runs it protected, and returns all its values, or the error, as one string.
// It runs both here and in a real Redis.
const corpusRunner = `
local function show(v, depth)
  local kind = type(v)
  if kind == 'string' then return string.format('%q', v) end
  if kind == 'number' then return string.format('%.17g', v) end
  if kind ~= 'table' then return kind == 'boolean' and tostring(v) or kind end
  if depth > 6 then return '{...}' end
  local parts, keys = {}, {}
  for k in pairs(v) do keys[#keys + 1] = k end
  table.sort(keys, function(a, b)
    if type(a) ~= type(b) then return type(a) < type(b) end
    if type(a) == 'number' or type(a) == 'string' then return a < b end
    return tostring(a) < tostring(b)
  end)
  for _, k in ipairs(keys) do
    parts[#parts + 1] = '[' .. show(k, depth + 1) .. ']=' .. show(v[k], depth + 1)
  end
  return '{' .. table.concat(parts, ',') .. '}'
end
local chunk, wrong = loadstring(ARGV[1], '@user_script')
if not chunk then return 'compile: ' .. wrong end
local function all(...)
  local parts = {}
  for i = 1, select('#', ...) do parts[i] = show((select(i, ...)), 0) end
  return table.concat(parts, ' ')
end
return all(pcall(chunk))
`

// corpusCase is a script and its result in a real Redis 7.4.
type corpusCase struct{ script, want string }

const resultMark = "=> "

// readCorpus reads a file of cases: a script of any number of lines, then a line with the mark and the quoted
// result.
func readCorpus(t *testing.T, path string) []corpusCase {
	t.Helper()
	file, err := os.Open(path)
	require.NoError(t, err)
	defer file.Close()
	var list []corpusCase
	var script []string
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		line := lines.Text()
		if result, ok := strings.CutPrefix(line, resultMark); ok {
			want, err := strconv.Unquote(result)
			require.NoError(t, err, path+": "+line)
			list = append(list, corpusCase{script: strings.Join(script, "\n"), want: want})
			script = nil
			continue
		}
		if line != "" || len(script) > 0 {
			script = append(script, line)
		}
	}
	require.NoError(t, lines.Err())
	require.Empty(t, script, path+": a script without a result")
	return list
}

func corpusFiles(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", "*.lua"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	return files
}

func TestCorpus(t *testing.T) {
	runner, err := luavm.Compile("user_script", []byte(corpusRunner))
	require.NoError(t, err)
	for _, path := range corpusFiles(t) {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".lua"), func(t *testing.T) {
			state := luavm.NewState(luavm.Options{})
			defer state.Close()
			for _, c := range readCorpus(t, path) {
				state.Seed(0)
				state.SetArrays(nil, [][]byte{[]byte(c.script)})
				value, err := state.Run(runner)
				if err != nil {
					t.Errorf("%s\nerror %v\nwant %s", c.script, err, c.want)
					continue
				}
				if value.String() != c.want {
					t.Errorf("%s\ngot  %s\nwant %s", c.script, value.String(), c.want)
				}
			}
		})
	}
}
