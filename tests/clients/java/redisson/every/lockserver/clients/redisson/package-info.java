/** Earlier versions of Redisson: the same tests are compiled with, and run by, each of them. */
package lockserver.clients.redisson;
