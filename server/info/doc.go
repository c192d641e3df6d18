// Package info is the command INFO: its sections, their order, the sections that are shown when the call
// names none, and the form of a field.
//
// It owns the text, and must not know what the figures mean. The owner of figures writes the fields of its
// sections itself, into a Text; the server orders the sections (server/info_cmd.go).
//
// To add a field, add a line where its owner writes its section, in Redis' order. To add a section, add a
// Section to the server's list.
package info
