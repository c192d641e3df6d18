package io.lockserver.test;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

import org.junit.jupiter.api.extension.ExtendWith;

/**
 * Gives each test of a class a server of its own, in test mode. A test method, or a method that runs before each, may have as parameters a
 * {@link TestServer}, its {@link TestClock}, its {@link TestFaults}, and a {@code LockClient} that is closed after the test.
 * All tests of a run share one process. A fault that was added and has never struck fails the test.
 */
@Target(ElementType.TYPE)
@Retention(RetentionPolicy.RUNTIME)
@Inherited
@Documented
@ExtendWith(LockserverExtension.class)
public @interface LockserverTest {
}
