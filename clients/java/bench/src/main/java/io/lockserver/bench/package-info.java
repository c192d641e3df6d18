/** Measures the client beside Redisson's RLock: how often a contended lock changes hands, and what an uncontended one costs. */
package io.lockserver.bench;
