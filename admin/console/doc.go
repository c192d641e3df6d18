// Package console is the web console of the admin port: locks with their waiters and holders, sales, and the
// server itself. It helps an operator to find out why nothing moves.
//
// It owns its pages, their sessions, and the embedded files: templates, a style sheet, a script, htmx and
// uPlot (static/ has their licences). It must not know the server: it uses only ordinary commands over
// connections of a Backend. Each session has one connection, logged in as a user of the ACL. So a user sees
// and does no more here than with redis-cli, and commands that a user may not run are not offered.
//
// Pages are made here and not in the browser. Each is a view: a function that asks the server and returns
// what its template shows. The same template is sent as a whole page, and again by server-sent events
// whenever it has changed. A view reads only a part of any list that may have a million entries.
//
// To add a page: a view in a file of its subject, a template in templates/, and a line in Console.views.
// Scripts and styles stand in files, because the content security policy allows no others.
package console
