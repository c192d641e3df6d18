package io.lockserver.spring.boot;

import org.springframework.boot.actuate.health.AbstractHealthIndicator;
import org.springframework.boot.actuate.health.Health;

import io.lockserver.client.LockClient;

/** Up while the attached connection is there, for Boot 3. */
final class Boot3HealthIndicator extends AbstractHealthIndicator {
    private final LockClient client;

    Boot3HealthIndicator(LockClient client) {
        super("the lockserver cannot be asked");
        this.client = client;
    }

    @Override
    protected void doHealthCheck(Health.Builder builder) {
        builder.withDetail("held", client.heldCount()).withDetail("waiting", client.waitingCount());
        if (client.isAttached()) {
            client.command("PING");
            builder.up();
        } else {
            builder.down();
        }
    }
}
