package lockserver.clients.boot;

import org.junit.jupiter.api.extension.AfterAllCallback;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.springframework.boot.Banner;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.session.data.redis.config.annotation.web.http.EnableRedisHttpSession;

import lockserver.clients.Server;

/** The application, which runs for as long as a test class does: what Boot makes of two properties, and sessions. */
final class App implements BeforeAllCallback, AfterAllCallback {
    private final Server server;
    private ConfigurableApplicationContext context;

    App(Server server) {
        this.server = server;
    }

    /** What Boot makes beans of; sessions end with a message, for which the server is told to send events. */
    @SpringBootApplication
    @EnableRedisHttpSession(maxInactiveIntervalInSeconds = 1800)
    static class Configuration {
    }

    /** A bean of the application. */
    <T> T bean(Class<T> type) {
        return context.getBean(type);
    }

    @Override
    public void beforeAll(ExtensionContext test) {
        context = new SpringApplicationBuilder(Configuration.class).web(WebApplicationType.NONE).bannerMode(Banner.Mode.OFF)
                .logStartupInfo(false).registerShutdownHook(false)
                .run("--spring.redis.host=" + server.host(), "--spring.redis.port=" + server.port());
    }

    @Override
    public void afterAll(ExtensionContext test) {
        context.close();
    }
}
