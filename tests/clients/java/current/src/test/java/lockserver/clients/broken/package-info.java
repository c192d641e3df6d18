/**
 * Locks through pools and shared connections that break at random moments: tests/clients/README.md says what must be
 * so. A library is a {@link lockserver.clients.broken.Library}; to add one, write another and a test in
 * {@link lockserver.clients.broken.BrokenTest}.
 */
package lockserver.clients.broken;
