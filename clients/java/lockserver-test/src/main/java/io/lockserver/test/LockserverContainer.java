package io.lockserver.test;

import org.testcontainers.containers.GenericContainer;
import org.testcontainers.containers.wait.strategy.Wait;
import org.testcontainers.utility.DockerImageName;

/** A container of lockserver's image, for Testcontainers: {@code new LockserverContainer("lockserver:0.1.0")}. */
public class LockserverContainer extends GenericContainer<LockserverContainer> {
    /** Where the server listens, inside of the container. */
    public static final int PORT = 6379;
    /** The line of the server's log that says that it is ready. */
    static final String READY = ".*Ready to accept connections.*";

    /** A container of an image. */
    public LockserverContainer(String image) {
        super(DockerImageName.parse(image));
        addExposedPort(PORT);
        waitingFor(Wait.forLogMessage(READY, 1));
    }

    /** Its address for clients, once it runs: {@code redis://host:port}. */
    public String uri() {
        return "redis://" + getHost() + ":" + getMappedPort(PORT);
    }
}
