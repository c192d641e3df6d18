/** Limiters of other people, whose scripts and transactions count here as on Redis. */
package lockserver.clients.limiters;
