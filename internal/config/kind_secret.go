package config

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// Passwords can be in files of their own, so that neither a command line nor the configuration contains them.
// Each directive with a password has a second directive for the path of such a file. Only one of the two may
// be given. CONFIG REWRITE writes the path, and never the password that was read from there.

var (
	errSecretTwice    = errors.New("the password itself and a file that has it are both given: take one of them out")
	errSecretInFile   = errors.New("the password is in a file: change it there, and set the path of the file again, or set that to \"\" first")
	errSecretRelative = errors.New("argument must be an absolute path")
)

// secretKind is a password. path is the field with the path of its file, if it has a file.
type secretKind struct{ value, path func(*Config) *string }

func (k secretKind) set(c *Config, args []string, _ bool) error {
	if *k.path(c) != "" && args[0] != *k.value(c) {
		return errSecretInFile
	}
	*k.value(c) = args[0]
	return nil
}

func (k secretKind) get(c *Config) string { return *k.value(c) }

func (k secretKind) lines(c, _ *Config) []string {
	if *k.path(c) != "" {
		return nil
	}
	return []string{quote(k.get(c))}
}

func (k secretKind) shape() shape { return oneWord }

// secretFileKind is the path of a file with a password, which is read when the path is set.
type secretFileKind struct{ value, path func(*Config) *string }

func (k secretFileKind) set(c *Config, args []string, _ bool) error {
	path, value := args[0], k.value(c)
	switch {
	case path == "":
		*k.path(c) = ""
		return nil
	case *value != "" && *k.path(c) == "":
		return errSecretTwice
	case !filepath.IsAbs(path):
		return errSecretRelative
	}
	text, err := ReadRegular(path, mostSecretBytes)
	if err != nil {
		return err
	}
	secret, err := secretIn(path, text)
	if err != nil {
		return err
	}
	*k.path(c), *value = path, secret
	return nil
}

// opensNothingNew reports whether a path is empty or the configured path. The file may contain a new
// password.
func (k secretFileKind) opensNothingNew(c *Config, path string) bool {
	return path == "" || path == *k.path(c)
}

func (k secretFileKind) get(c *Config) string        { return *k.path(c) }
func (k secretFileKind) lines(c, _ *Config) []string { return []string{quote(k.get(c))} }
func (k secretFileKind) shape() shape                { return oneWord }

// ReadSecret reads a password from a file, without the line end after it. It is for programs that get the
// path from their user. The file may be a pipe.
func ReadSecret(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, mostSecretBytes+1))
	if err != nil {
		return "", err
	}
	return secretIn(path, text)
}

// secretIn returns the password in the text of a file.
func secretIn(path string, text []byte) (string, error) {
	secret := strings.TrimRight(string(text), "\r\n")
	switch {
	case secret == "":
		return "", fmt.Errorf("%s: there is no password in it", path)
	case len(text) > mostSecretBytes:
		return "", fmt.Errorf("%s: a password has up to %d bytes", path, mostSecretBytes)
	case strings.ContainsAny(secret, "\r\n\x00"):
		return "", fmt.Errorf("%s: a password has one line", path)
	}
	return secret, nil
}
