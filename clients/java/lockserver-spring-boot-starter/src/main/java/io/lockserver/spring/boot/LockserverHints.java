package io.lockserver.spring.boot;

import org.springframework.aot.hint.RuntimeHints;
import org.springframework.aot.hint.RuntimeHintsRegistrar;
import org.springframework.aot.hint.TypeReference;

/** The classes that the client looks for by their names, which a native image would not find. Lettuce and Netty bring hints of their own. */
final class LockserverHints implements RuntimeHintsRegistrar {
    @Override
    public void registerHints(RuntimeHints hints, ClassLoader loader) {
        for (String name : new String[] {"org.slf4j.LoggerFactory", "io.opentelemetry.api.trace.Span",
                "org.springframework.transaction.support.TransactionSynchronizationManager"}) {
            hints.reflection().registerTypeIfPresent(loader, name, type -> type.onReachableType(TypeReference.of("io.lockserver.client.LockClient")));
        }
    }
}
