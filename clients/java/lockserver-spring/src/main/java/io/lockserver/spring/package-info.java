/**
 * lockserver in Spring: {@link io.lockserver.spring.LockserverLockRegistry} for Spring Integration,
 * {@link io.lockserver.spring.Locked} for methods, {@link io.lockserver.spring.LockMetrics} for Micrometer. None of it uses the
 * application's connection factory. The starter makes the beans.
 */
package io.lockserver.spring;
