package io.lockserver.test;

import java.util.List;
import java.util.Map;

import org.springframework.beans.factory.support.DefaultListableBeanFactory;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.core.env.MapPropertySource;
import org.springframework.test.context.ContextConfigurationAttributes;
import org.springframework.test.context.ContextCustomizer;
import org.springframework.test.context.ContextCustomizerFactory;
import org.springframework.test.context.MergedContextConfiguration;
import org.springframework.test.context.TestContextAnnotationUtils;

/** What {@link AutoConfigureLockserver} does. Spring finds it by {@code META-INF/spring.factories}. */
final class LockserverContextCustomizerFactory implements ContextCustomizerFactory {
    @Override
    public ContextCustomizer createContextCustomizer(Class<?> testClass, List<ContextConfigurationAttributes> attributes) {
        return TestContextAnnotationUtils.hasAnnotation(testClass, AutoConfigureLockserver.class) ? new Customizer() : null;
    }

    /** All are equal, so that classes with the same configuration share a context. */
    private record Customizer() implements ContextCustomizer {
        @Override
        public void customizeContext(ConfigurableApplicationContext context, MergedContextConfiguration merged) {
            Lockserver server = Lockserver.startInTestMode();
            DefaultListableBeanFactory beans = (DefaultListableBeanFactory) context.getBeanFactory();
            beans.registerDisposableBean("testLockserver", server::close); // the first: it ends after the client
            beans.registerSingleton("testLockserver", server);
            beans.registerSingleton("testLockserverClock", new TestClock(server));
            beans.registerSingleton("testLockserverFaults", new TestFaults(server));
            context.getEnvironment().getPropertySources().addFirst(new MapPropertySource("lockserver in test mode", Map.of(
                    "lockserver.uris", server.uri(), "spring.data.redis.host", server.host(), "spring.data.redis.port",
                    Integer.toString(server.port()))));
        }
    }
}
