package io.lockserver.test;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Starts a server in test mode for the application context of a Spring test, beside {@code @SpringBootTest} or any other
 * annotation that makes a context. The properties {@code lockserver.uris}, {@code spring.data.redis.host} and
 * {@code spring.data.redis.port} name it. The context has the beans {@link TestServer}, {@link TestClock} and
 * {@link TestFaults}. The server ends with the context, which Spring keeps for all classes with the same configuration.
 */
@Target(ElementType.TYPE)
@Retention(RetentionPolicy.RUNTIME)
@Inherited
@Documented
public @interface AutoConfigureLockserver {
}
