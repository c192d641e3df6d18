// Package console asks whether the console works in a browser: it starts bin/lockserver, or what LOCKSERVER
// names, and looks at every page with Chromium (CHROMIUM names another). A module of its own, so that what
// drives the browser is no dependency of the server. `make console` runs it; with PICTURE=file it takes the
// picture of docs/CONSOLE.md, with PICTURES=directory one of every page in every look, to be looked at.
package console
