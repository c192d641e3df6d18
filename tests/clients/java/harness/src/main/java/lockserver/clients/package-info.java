/**
 * What every client's tests share: the server under test, waiting for a condition, a crowd of threads, a bare RESP
 * connection, and the listing of what ran. It knows no client library; a client's tests lie in a package of their own,
 * named after it.
 */
package lockserver.clients;
