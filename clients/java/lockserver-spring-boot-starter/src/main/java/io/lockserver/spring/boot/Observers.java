package io.lockserver.spring.boot;

import java.time.Duration;
import java.util.List;

import io.lockserver.client.LockLostException;
import io.lockserver.client.LockObserver;

/** Tells several observers: the meters, and those of the application. */
record Observers(List<LockObserver> all) implements LockObserver {
    @Override
    public void acquired(String key, Duration waited) {
        all.forEach(each -> each.acquired(key, waited));
    }

    @Override
    public void refused(String key, Duration waited, Exception reason) {
        all.forEach(each -> each.refused(key, waited, reason));
    }

    @Override
    public void released(String key, Duration held) {
        all.forEach(each -> each.released(key, held));
    }

    @Override
    public void lost(LockLostException loss, Duration held) {
        all.forEach(each -> each.lost(loss, held));
    }

    @Override
    public void attached() {
        all.forEach(LockObserver::attached);
    }

    @Override
    public void detached(Throwable reason) {
        all.forEach(each -> each.detached(reason));
    }
}
