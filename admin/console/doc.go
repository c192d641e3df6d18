// Package console is the web console of the admin port: locks and who waits for whom, sales, and the server
// itself, for the person who asks at night why nothing moves.
//
// It owns its pages, the sessions of those who look at them, and what is embedded for that: templates, a
// style sheet, a script, htmx and uPlot (static/ has their licences). It must not know the server: all it
// learns and does goes through ordinary commands over connections of a Backend, one for each session, which
// is logged in as a user of the ACL. So nobody sees or does more here than with redis-cli. What a user may
// not run is not offered.
//
// Pages are made here and not in the browser. Each is a view, a function that asks the server and returns
// what its template shows; the same template is sent as a whole page, and again by server-sent events
// whenever it has changed. No view asks for more than a piece of what there may be a million of.
//
// To add a page: a view in a file of its subject, a template in templates/, and a line in Console.views.
// Scripts and styles stand in files, because the content security policy allows no others.
package console
