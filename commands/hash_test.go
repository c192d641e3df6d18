package commands

import "testing"

func TestHashScript(t *testing.T) { playScript(t, "testdata/hash.script", HashRows, StringRows) }
