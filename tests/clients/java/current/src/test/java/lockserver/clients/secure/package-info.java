/**
 * What matters before the first command: TLS, and users with names. It is the same story with each library, which is a
 * {@link lockserver.clients.secure.Library}; what else they do stands in packages of their own.
 */
package lockserver.clients.secure;
