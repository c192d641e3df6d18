/** Redisson while its server is moved, driven by TestMoving through standard input and output. */
package lockserver.migration;
