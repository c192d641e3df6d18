/**
 * Clients under Sentinel, while the master is killed, paused and replaced: tests/clients/README.md says what must be so. A
 * client is a {@link lockserver.clients.sentinel.Library}; to add one, write another and name it in
 * {@link lockserver.clients.sentinel.SentinelTest}.
 */
package lockserver.clients.sentinel;
