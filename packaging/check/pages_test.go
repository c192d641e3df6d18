package check

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// file writes a file of the archive for this machine into its own directory.
func file(t *testing.T, name string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), filepath.Base(name))
	require.NoError(t, os.WriteFile(path, host(t)[name], 0o644))
	return path
}

func TestManuals(t *testing.T) {
	for _, name := range []string{"man/man1/lockserver.1", "man/man5/lockserver.conf.5"} {
		path := file(t, name)
		require.Empty(t, command(t, "mandoc", "-Tlint", "-Wwarning", path))
		require.Contains(t, command(t, "man", "--warnings=w", "-P", "cat", "-l", path), "SEE ALSO")
	}
}

func TestBashCompletion(t *testing.T) {
	path := file(t, "completions/lockserver.bash")
	const script = `source "$0"; shift 0; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); compopt() { :; }; _lockserver; printf '%s\n' "${COMPREPLY[@]}"`
	complete := func(words ...string) string {
		return command(t, "bash", append([]string{"-c", script, path, "lockserver"}, words...)...)
	}
	require.Equal(t, "--appendonly", complete("--appendo"))
	require.Equal(t, "yes\nno", complete("--port", "7000", "--appendonly", ""))
	require.Equal(t, "--stock", complete("demo", "--st"))
	require.Contains(t, complete("che"), "check")
	require.Contains(t, complete("check", "/etc/host"), "/etc/hostname")
}

func TestFishCompletion(t *testing.T) {
	path := file(t, "completions/lockserver.fish")
	complete := func(line string) string {
		return command(t, "fish", "--no-config", "-c", "source $argv[1]; complete -C $argv[2]", path, line)
	}
	require.Contains(t, complete("lockserver --appendo"), "--appendonly\tlog every change")
	require.Contains(t, complete("lockserver --appendonly "), "yes")
	require.Contains(t, complete("lockserver demo --st"), "--stock\thow many pieces there are")
	require.Contains(t, complete("lockserver che"), "check\tverify snapshots")
}

// TestZshCompletion types into a zsh in its own terminal, and checks how Tab completes each line.
func TestZshCompletion(t *testing.T) {
	path := file(t, "completions/_lockserver")
	const script = `zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell "PS1=; stty -echo; fpath=(${1:h} \$fpath); autoload -U compinit; compinit -u -D"
zpty -w shell "answer() { print -r -- \"answer:\$BUFFER:\"; BUFFER=; zle .accept-line }; zle -N answer; bindkey '^X' answer; print ready:"
zpty -r shell text '*ready:*'
for line in "${@[2,-1]}"; do
	zpty -n -w shell "$line"$'\t\x18'
	zpty -r shell text '*answer:*:*'
	print -r -- "$text"
done
zpty -d shell`
	text := command(t, "timeout", "-s", "KILL", "60", "zsh", "-f", "-c", script, "zsh", path,
		"lockserver --appendo", "lockserver --daemonize y", "lockserver demo --st", "lockserver snap")
	for _, line := range []string{"--appendonly", "--daemonize yes", "demo --stock", "snapshot"} {
		require.Contains(t, text, "answer:lockserver "+line+" :")
	}
}
