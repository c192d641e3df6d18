package shop;

import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

import org.testcontainers.containers.GenericContainer;
import org.testcontainers.containers.output.OutputFrame.OutputType;
import org.testcontainers.containers.wait.strategy.Wait;
import org.testcontainers.utility.DockerImageName;

/**
 * A container of lockserver's image: {@code new LockserverContainer("lockserver:0.1.0")}.
 *
 * <p>To be copied. {@link #inTestMode} makes its time and its faults the test's.
 */
public class LockserverContainer extends GenericContainer<LockserverContainer> {
    /** Where the server listens, inside of the container. */
    public static final int PORT = 6379;

    /** What the server says on standard output in test mode. */
    static final Pattern READY = Pattern.compile("^ready (127\\.0\\.0\\.1):(\\d+)$", Pattern.MULTILINE);

    private boolean testMode;

    public LockserverContainer(String image) {
        this(DockerImageName.parse(image));
    }

    public LockserverContainer(DockerImageName image) {
        super(image);
        addExposedPort(PORT);
        waitingFor(Wait.forLogMessage(".*Ready to accept connections.*", 1));
    }

    /**
     * Starts it in test mode, which only the machine itself may connect to: who can connect owns the clock. A port that is
     * published comes from outside, so the container shares the network of its host, which has to be the one that the tests
     * run on, on Linux.
     */
    public LockserverContainer inTestMode() {
        testMode = true;
        setExposedPorts(List.of());
        withNetworkMode("host");
        withCommand("--bind", "127.0.0.1", "--port", "0", "--test-mode", "yes");
        waitingFor(Wait.forLogMessage(".*ready 127\\.0\\.0\\.1:\\d+\\s.*", 1));
        return this;
    }

    /** Where clients connect, as host:port. */
    public String address() {
        if (!testMode) {
            return getHost() + ":" + getMappedPort(PORT);
        }
        Matcher line = READY.matcher(getLogs(OutputType.STDOUT));
        if (!line.find()) {
            throw new IllegalStateException("lockserver is not ready");
        }
        return line.group(1) + ":" + line.group(2);
    }
}
