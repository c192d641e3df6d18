/** Jedis, Lettuce and Redisson as clients of a cluster of three shards in one process. */
package lockserver.clients.shards;
