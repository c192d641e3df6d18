package lockserver.clients;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.engine.TestExecutionResult.Status;
import org.junit.platform.engine.support.descriptor.MethodSource;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.TestPlan;

/** Prints a line for each test that ran: its outcome, its class and name, and how long it took. */
public final class Listing implements TestExecutionListener {
    private static final String MODULE = System.getProperty("module", "");

    private final Map<String, Long> begun = new ConcurrentHashMap<>();

    private TestPlan plan;

    @Override
    public void testPlanExecutionStarted(TestPlan testPlan) {
        plan = testPlan;
    }

    @Override
    public void executionStarted(TestIdentifier test) {
        begun.put(test.getUniqueId(), System.nanoTime());
    }

    @Override
    public void executionFinished(TestIdentifier test, TestExecutionResult result) {
        long tookMS = (System.nanoTime() - begun.remove(test.getUniqueId())) / 1_000_000;
        if (test.isTest() || result.getStatus() != Status.SUCCESSFUL) {
            String outcome = result.getStatus() == Status.SUCCESSFUL ? "ok    " : "FAILED";
            System.out.printf("%s %7d ms  %-13s %s%n", outcome, tookMS, MODULE, name(test));
        }
    }

    @Override
    public void executionSkipped(TestIdentifier test, String reason) {
        System.out.printf("SKIPPED            %-13s %s: %s%n", MODULE, name(test), reason);
    }

    /** The class and the method, and which invocation of a class with a parameter it is. */
    private String name(TestIdentifier test) {
        String owner = test.getSource().filter(MethodSource.class::isInstance).map(MethodSource.class::cast)
                .map(source -> source.getClassName().replaceFirst("^lockserver\\.clients\\.", "")).orElse("");
        String invocation = plan.getParent(test).map(TestIdentifier::getDisplayName)
                .filter(name -> name.startsWith("[")).map(name -> name.replaceFirst("^\\[\\d+] ", " ")).orElse("");
        return owner + "." + test.getDisplayName().replace("()", "") + invocation;
    }
}
