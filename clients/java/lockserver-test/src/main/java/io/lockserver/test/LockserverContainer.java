package io.lockserver.test;

import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

import org.testcontainers.containers.GenericContainer;
import org.testcontainers.containers.output.OutputFrame.OutputType;
import org.testcontainers.containers.wait.strategy.Wait;
import org.testcontainers.utility.DockerImageName;

/**
 * A container of lockserver's image, for Testcontainers: {@code new LockserverContainer("lockserver:0.1.0")}. After
 * {@link #inTestMode()} its clock and its faults are the test's.
 */
public class LockserverContainer extends GenericContainer<LockserverContainer> implements TestServer {
    /** Where the server listens, inside of the container. */
    public static final int PORT = 6379;
    /** The line of the server's log that says that it is ready. */
    static final String READY = ".*Ready to accept connections.*";
    /** The same in test mode, where it says its address on standard output. */
    static final String READY_IN_TEST_MODE = ".*ready 127\\.0\\.0\\.1:\\d+\\s.*";
    static final Pattern TEST_MODE = Pattern.compile("^ready (127\\.0\\.0\\.1):(\\d+)\\s*$", Pattern.MULTILINE);

    private final TestClock clock = new TestClock(this);
    private final TestFaults faults = new TestFaults(this);
    private boolean testMode;

    /** A container of an image. */
    public LockserverContainer(String image) {
        this(DockerImageName.parse(image));
    }

    /** The same with the name as an object. */
    public LockserverContainer(DockerImageName image) {
        super(image);
        addExposedPort(PORT);
        waitingFor(Wait.forLogMessage(READY, 1));
    }

    /**
     * Has it start in test mode, which accepts only clients of its own machine, because a client controls the clock. So the
     * container shares the network of its host, which has to be Linux and the machine of the tests.
     */
    public LockserverContainer inTestMode() {
        testMode = true;
        setExposedPorts(List.of());
        withNetworkMode("host");
        withCommand("--bind", "127.0.0.1", "--port", "0", "--test-mode", "yes");
        waitingFor(Wait.forLogMessage(READY_IN_TEST_MODE, 1));
        return this;
    }

    /** The clock, in test mode. */
    public TestClock clock() {
        return clock;
    }

    /** The faults, in test mode. */
    public TestFaults faults() {
        return faults;
    }

    @Override
    public String host() {
        return testMode ? ready().group(1) : getHost();
    }

    @Override
    public int port() {
        return testMode ? Integer.parseInt(ready().group(2)) : getMappedPort(PORT);
    }

    private Matcher ready() {
        Matcher line = TEST_MODE.matcher(getLogs(OutputType.STDOUT));
        if (!line.find()) {
            throw new IllegalStateException("lockserver is not ready");
        }
        return line;
    }

    @Override
    public Object call(String... words) {
        return Wire.call(host(), port(), words);
    }
}
