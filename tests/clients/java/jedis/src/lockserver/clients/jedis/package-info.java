/** Earlier versions of Jedis: the same tests are compiled with, and run by, each of them. */
package lockserver.clients.jedis;
