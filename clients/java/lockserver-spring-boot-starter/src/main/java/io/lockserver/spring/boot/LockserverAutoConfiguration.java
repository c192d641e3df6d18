package io.lockserver.spring.boot;

import java.util.List;

import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.boot.ssl.SslBundle;
import org.springframework.boot.ssl.SslBundles;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Role;
import org.springframework.core.env.Environment;
import org.springframework.integration.support.locks.LockRegistry;

import io.lettuce.core.ClientOptions;
import io.lettuce.core.RedisURI;
import io.lettuce.core.SslOptions;
import io.lockserver.client.LockClient;
import io.lockserver.client.LockObserver;
import io.lockserver.shedlock.LockserverLockProvider;
import io.lockserver.spring.LockMetrics;
import io.lockserver.spring.LockedPostProcessor;
import io.lockserver.spring.LockserverLockRegistry;
import io.lockserver.spring.ReactiveLocks;
import io.micrometer.core.instrument.MeterRegistry;
import net.javacrumbs.shedlock.core.LockProvider;

/** Makes a {@link LockClient} and what uses it: locks of Reactor, Spring Integration and ShedLock, {@code @Locked}, meters, the health indicator. */
@AutoConfiguration
@ConditionalOnProperty(name = "lockserver.enabled", matchIfMissing = true)
@EnableConfigurationProperties(LockserverProperties.class)
public class LockserverAutoConfiguration {
    /** The client. It hears nothing of the application's connection factory, whichever that is. */
    @Bean(destroyMethod = "close")
    @ConditionalOnMissingBean
    public LockClient lockClient(LockserverProperties properties, Environment environment, ObjectProvider<SslBundles> bundles,
            ObjectProvider<LockObserver> observers) {
        RedisProperties redis = new RedisProperties(environment);
        List<RedisURI> uris = properties.getUris().isEmpty() ? redis.uris() : properties.servers();
        String name = properties.getName().isEmpty() ? environment.getProperty("spring.application.name", "lock") : properties.getName();
        LockClient.Builder builder = LockClient.builder(uris).name(name.replaceAll("[^!-~]", "-")).timeout(properties.getTimeout())
                .connectTimeout(properties.getConnectTimeout()).lazy(properties.isLazy())
                .cluster(properties.getUris().isEmpty() ? redis.isCluster() : properties.isCluster());
        String bundle = properties.getSslBundle().isEmpty() ? redis.sslBundle() : properties.getSslBundle();
        if (!bundle.isEmpty()) {
            builder.clientOptions(ClientOptions.builder().sslOptions(ssl(bundles.getObject().getBundle(bundle))).build());
        }
        List<LockObserver> all = observers.orderedStream().toList();
        if (!all.isEmpty()) {
            builder.observer(all.size() == 1 ? all.get(0) : new Observers(all));
        }
        LockClient client = builder.build();
        all.forEach(observer -> bindGauges(observer, client));
        return client;
    }

    private static void bindGauges(LockObserver observer, LockClient client) {
        if (observer.getClass().getSimpleName().equals("LockMetrics")) { // its class may be missing
            ((LockMetrics) observer).bindTo(client);
        }
    }

    private static SslOptions ssl(SslBundle bundle) {
        return SslOptions.builder().jdkSslProvider().keyManager(bundle.getManagers().getKeyManagerFactory())
                .trustManager(bundle.getManagers().getTrustManagerFactory()).build();
    }

    /** Takes the locks of {@code @Locked} methods. */
    @Bean
    @Role(BeanDefinition.ROLE_INFRASTRUCTURE)
    @ConditionalOnMissingBean
    public static LockedPostProcessor lockedPostProcessor(ObjectProvider<LockClient> client) {
        return new LockedPostProcessor(client::getObject);
    }

    /** Locks for Reactor. */
    @Bean
    @ConditionalOnMissingBean
    public ReactiveLocks reactiveLocks(LockClient client) {
        return new ReactiveLocks(client);
    }

    /** Spring Integration's locks. */
    @Configuration(proxyBeanMethods = false)
    @ConditionalOnClass(LockRegistry.class)
    static class Integration {
        @Bean
        @ConditionalOnMissingBean(LockRegistry.class)
        LockserverLockRegistry lockserverLockRegistry(LockClient client, LockserverProperties properties) {
            return new LockserverLockRegistry(client, properties.getRegistryKey());
        }
    }

    /** ShedLock's locks. */
    @Configuration(proxyBeanMethods = false)
    @ConditionalOnClass({LockProvider.class, LockserverLockProvider.class})
    static class ShedLock {
        @Bean
        @ConditionalOnMissingBean(LockProvider.class)
        LockserverLockProvider lockserverLockProvider(LockClient client) {
            return new LockserverLockProvider(client);
        }
    }

    /** The meters. */
    @Configuration(proxyBeanMethods = false)
    @ConditionalOnClass(MeterRegistry.class)
    static class Metrics {
        @Bean
        @ConditionalOnMissingBean(name = "lockserverMetrics")
        LockObserver lockserverMetrics(ObjectProvider<MeterRegistry> registry) {
            MeterRegistry meters = registry.getIfAvailable();
            return meters == null ? new LockObserver() {
            } : new LockMetrics(meters);
        }
    }

    /** The health indicator of Boot 3. */
    @Configuration(proxyBeanMethods = false)
    @ConditionalOnClass(name = "org.springframework.boot.actuate.health.AbstractHealthIndicator")
    static class HealthOfBoot3 {
        @Bean
        @ConditionalOnMissingBean(name = "lockserverHealthIndicator")
        Boot3HealthIndicator lockserverHealthIndicator(LockClient client) {
            return new Boot3HealthIndicator(client);
        }
    }

    /** The health indicator of Boot 4. */
    @Configuration(proxyBeanMethods = false)
    @ConditionalOnClass(name = "org.springframework.boot.health.contributor.AbstractHealthIndicator")
    static class HealthOfBoot4 {
        @Bean
        @ConditionalOnMissingBean(name = "lockserverHealthIndicator")
        Boot4HealthIndicator lockserverHealthIndicator(LockClient client) {
            return new Boot4HealthIndicator(client);
        }
    }
}
