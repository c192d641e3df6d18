package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/config"
)

const (
	serverText = "Usage: lockserver [file]\n\nServes\nwell.\n\n  lockserver              does it\n" +
		"  lockserver tell [NAME]  tells; at length\n  lockserver -v | --version  prints\n\n  --port 1  which\n"
	tellText = "Usage: lockserver tell [NAME]\n       lockserver tell --all\n\nTells 'it'.\n\n  --addr host:port   of [it], or\n" +
		"                     another\n  --all              a.b\n"
)

// source writes a program with these help texts.
func source(t *testing.T, texts ...string) string {
	dir := t.TempDir()
	code := "package x\n"
	for i, text := range texts {
		code += "const c" + string(rune('a'+i)) + " = `" + text + "`\n"
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "x.go"), []byte(code), 0o600))
	return dir
}

func TestReadProgram(t *testing.T) {
	p, err := readProgram(source(t, tellText, serverText))
	require.NoError(t, err)
	require.Equal(t, []block{{paragraph: "Serves well."},
		{items: []item{{"lockserver", "does it"}, {"lockserver tell [NAME]", "tells; at length"}, {"lockserver -v | --version", "prints"}}},
		{items: []item{{"--port 1", "which"}}}}, p.server.blocks)
	require.Equal(t, []option{{"-v", false, "prints"}, {"--version", false, "prints"}, {"--port", true, "which"}}, p.server.options())
	require.Equal(t, []string{"tell"}, p.commandNames())
	require.Equal(t, []option{{"--addr", true, "of [it], or another"}, {"--all", false, "a.b"}}, p.commands[0].options())
	require.Equal(t, []string{"lockserver [file]", "lockserver tell [NAME]", "lockserver tell --all"}, p.synopsis())

	const unnamed = "the text of lockserver --help does not name every command"
	for _, c := range []struct {
		want  string
		texts []string
	}{
		{"no text explains lockserver tell", []string{serverText}},
		{"two texts explain lockserver tell", []string{serverText, tellText, tellText}},
		{unnamed, []string{serverText, tellText, "Usage: lockserver ask\n\nAsks.\n"}},
		{unnamed, nil},
	} {
		_, err := readProgram(source(t, c.texts...))
		require.EqualError(t, err, c.want)
	}
}

func TestCompletions(t *testing.T) {
	p, err := readProgram(source(t, tellText, serverText))
	require.NoError(t, err)
	ref := config.Reference{Sections: []config.Section{{Entries: []config.Entry{
		{Names: []string{"port"}, Doc: "which; 0: none"}, {Names: []string{"fast", "quick"}, Doc: "don't `wait`", Words: []string{"yes", "no"}},
		{Names: []string{"dir"}, Doc: "where: [there](x.md)"}, {Names: []string{"test"}, Doc: "x", Hidden: true}}}}}

	bash := bashCompletion(p, ref)
	require.Contains(t, bash, "\ttell) options='--addr --all --help' ;;\n")
	require.Contains(t, bash, "\t\toptions='--port --fast --quick --dir'\n")
	require.Contains(t, bash, "\t\t--fast | --quick) values='yes no' ;;\n")
	require.Contains(t, bash, "options+=' -v --version'")

	zsh := zshCompletion(p, ref)
	require.Contains(t, zsh, "\n\t'tell:tells'\n")
	require.Contains(t, zsh, "\n\t\t\t'--addr[of \\[it\\], or another]:value:' \\\n")
	require.Contains(t, zsh, "\n\t'*--fast[don'\\''t wait]:value:(yes no)' \\\n")
	require.Contains(t, zsh, "\n\t'*--dir[where]:value:_files' \\\n")
	require.NotContains(t, zsh, "--test")

	fish := fishCompletion(p, ref)
	require.Contains(t, fish, "-n '__fish_seen_subcommand_from tell' -l all -d 'a.b'\n")
	require.Contains(t, fish, "-n 'not __fish_seen_subcommand_from tell' -l quick -x -a 'yes no' -d 'don\\'t wait'\n")
	require.Contains(t, fish, "-l dir -r -d 'where'\n")
}
