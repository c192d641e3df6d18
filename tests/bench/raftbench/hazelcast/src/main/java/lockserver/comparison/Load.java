package lockserver.comparison;

import com.hazelcast.client.HazelcastClient;
import com.hazelcast.client.config.ClientConfig;
import com.hazelcast.core.HazelcastInstance;
import com.hazelcast.cp.lock.FencedLock;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.LongAdder;

/**
 * Threads that take a lock each and give it back, again and again. Its arguments are how many, and the ports of the members. It
 * says "ready" when each has had its lock once; then each line that it reads is answered with the pairs so far. It ends with
 * its input.
 */
final class Load {
    private final LongAdder pairs = new LongAdder();
    private volatile boolean stopped;

    private Load() {}

    public static void main(String[] args) throws IOException, InterruptedException {
        ClientConfig config = new ClientConfig();
        config.setClusterName("comparison");
        config.setProperty("hazelcast.logging.type", "jdk");
        for (int i = 1; i < args.length; i++) {
            config.getNetworkConfig().addAddress("127.0.0.1:" + args[i]);
        }
        config.getConnectionStrategyConfig().getConnectionRetryConfig().setClusterConnectTimeoutMillis(60_000);
        new Load().run(HazelcastClient.newHazelcastClient(config), Integer.parseInt(args[0]));
    }

    private void run(HazelcastInstance client, int clients) throws IOException, InterruptedException {
        CountDownLatch ready = new CountDownLatch(clients);
        for (int i = 0; i < clients; i++) {
            FencedLock lock = client.getCPSubsystem().getLock("lock" + i);
            Thread thread = new Thread(() -> loop(lock, ready));
            thread.setDaemon(true);
            thread.start();
        }
        ready.await();
        System.out.println("ready");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        while (in.readLine() != null) {
            System.out.println(pairs.sum());
        }
        stopped = true;
        System.exit(0);
    }

    /** A lock that cannot be had or given back ends the load: what it then counts would be no comparison. */
    private void loop(FencedLock lock, CountDownLatch ready) {
        try {
            lock.lock();
            lock.unlock();
            ready.countDown();
            while (!stopped) {
                lock.lock();
                lock.unlock();
                pairs.increment();
            }
        } catch (RuntimeException e) {
            if (!stopped) {
                e.printStackTrace();
                Runtime.getRuntime().halt(1);
            }
        }
    }
}
