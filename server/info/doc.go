// Package info is the command INFO: which sections it has, in which order, which of them are shown when none
// is named, and how a field is written.
//
// It owns the text, and must not know what the figures are of. The owner of figures writes the fields of its
// sections itself, into a Text; the server puts the sections in order (server/info_cmd.go).
//
// To add a field: a line where its owner writes its section, in Redis' order. To add a section: a Section in
// the server's list.
package info
