// Package console tests the console in a browser. It starts bin/lockserver, or the program in LOCKSERVER, and
// checks every page with Chromium (CHROMIUM names another browser). It is a separate module, so that the
// server does not depend on the library that drives the browser. `make console` runs it. With PICTURE=file it
// takes the picture of docs/CONSOLE.md; with PICTURES=directory it takes pictures of every page in every
// look, for a person to examine.
package console
