package info

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

func sections() []Section {
	return []Section{
		{Name: "One", Write: func(t *Text) { t.Line("a", 1) }},
		{Name: "Two", Also: "other", Write: func(t *Text) { t.Line("b", 0.5) }},
		{Name: "Three", Extra: true, Write: func(t *Text) {}},
	}
}

func TestWhichSectionsAreShown(t *testing.T) {
	const one, two, three = "# One\r\na:1\r\n", "# Two\r\nb:0.50\r\n", "# Three\r\n"
	for words, want := range map[[2]string]string{
		{}:                  one + "\r\n" + two,
		{"default"}:         one + "\r\n" + two,
		{"ALL"}:             one + "\r\n" + two + "\r\n" + three,
		{"everything"}:      one + "\r\n" + two + "\r\n" + three,
		{"three", "one"}:    one + "\r\n" + three,
		{"Other"}:           two,
		{"default", "thre"}: one + "\r\n" + two,
		{"nothing"}:         "",
	} {
		var asked [][]byte
		for _, word := range words {
			if word != "" {
				asked = append(asked, []byte(word))
			}
		}
		require.Equal(t, want, write(sections(), asked), words)
	}
}

func TestFields(t *testing.T) {
	var text Text
	text.Flag("on", true)
	text.Flag("off", false)
	text.Status("good", nil)
	text.Status("bad", errors.New("x"))
	text.Zeros("x", "y")
	require.Equal(t, "on:1\r\noff:0\r\ngood:ok\r\nbad:err\r\nx:0\r\ny:0\r\n", text.String())
	for n, want := range map[uint64]string{0: "0B", 1023: "1023B", 1536: "1.50K", 3 << 20: "3.00M", 5 << 29: "2.50G", 5 << 39: "2.50T", 4 << 60: "4096.00P"} {
		require.Equal(t, want, Human(n))
	}
}
