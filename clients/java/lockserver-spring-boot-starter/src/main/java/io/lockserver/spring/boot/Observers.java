package io.lockserver.spring.boot;

import java.time.Duration;
import java.util.List;
import java.util.function.Consumer;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;

import io.lockserver.client.LockLostException;
import io.lockserver.client.LockObserver;

/** Tells several observers: the meters, and those of the application. If one throws, that is logged, and the others hear the rest all the same. */
record Observers(List<LockObserver> all) implements LockObserver {
    private static final Log LOG = LogFactory.getLog(Observers.class);

    private void tell(String what, Consumer<LockObserver> observation) {
        for (LockObserver each : all) {
            try {
                observation.accept(each);
            } catch (Throwable e) { // the lock is the caller's, whatever an observer does
                LOG.warn("the observer " + each.getClass().getName() + " has thrown when it was told " + what, e);
            }
        }
    }

    @Override
    public void acquired(String key, Duration waited) {
        tell("that \"" + key + "\" was acquired", each -> each.acquired(key, waited));
    }

    @Override
    public void refused(String key, Duration waited, Exception reason) {
        tell("that \"" + key + "\" was refused", each -> each.refused(key, waited, reason));
    }

    @Override
    public void released(String key, Duration held) {
        tell("that \"" + key + "\" was released", each -> each.released(key, held));
    }

    @Override
    public void lost(LockLostException loss, Duration held) {
        tell("of a loss", each -> each.lost(loss, held));
    }

    @Override
    public void attached() {
        tell("that the client is connected", LockObserver::attached);
    }

    @Override
    public void detached(Throwable reason) {
        tell("that the client is not connected", each -> each.detached(reason));
    }
}
