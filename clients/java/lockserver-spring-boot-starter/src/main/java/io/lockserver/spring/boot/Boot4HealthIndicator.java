package io.lockserver.spring.boot;

import org.springframework.boot.health.contributor.AbstractHealthIndicator;
import org.springframework.boot.health.contributor.Health;

import io.lockserver.client.LockClient;

/** Up while the attached connection is there, for Boot 4. */
final class Boot4HealthIndicator extends AbstractHealthIndicator {
    private final LockClient client;

    Boot4HealthIndicator(LockClient client) {
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
