/**
 * Three Hazelcast members with the CP Subsystem, and the clients that take their locks. raftbench starts both, and measures
 * the members from outside; what is here must not measure.
 */
package lockserver.comparison;
