/** Jedis against the server, with its pools: plain commands, pipelines, transactions, scripts, pub/sub, streams, LOCK. */
package lockserver.clients.jedis;
