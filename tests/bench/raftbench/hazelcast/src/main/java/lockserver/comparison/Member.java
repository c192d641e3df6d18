package lockserver.comparison;

import com.hazelcast.config.Config;
import com.hazelcast.core.Hazelcast;

/** A member. Its arguments are its own port, then the ports of all. It runs until it is killed. */
final class Member {
    private Member() {}

    public static void main(String[] args) {
        Config config = new Config();
        config.setClusterName("comparison");
        config.setProperty("hazelcast.phone.home.enabled", "false");
        config.setProperty("hazelcast.logging.type", "jdk");
        config.getJetConfig().setEnabled(false);
        config.getCPSubsystemConfig().setCPMemberCount(args.length - 1);
        var network = config.getNetworkConfig();
        network.setPort(Integer.parseInt(args[0])).setPortAutoIncrement(false);
        network.getInterfaces().setEnabled(true).addInterface("127.0.0.1");
        var join = network.getJoin();
        join.getAutoDetectionConfig().setEnabled(false);
        join.getMulticastConfig().setEnabled(false);
        var members = join.getTcpIpConfig().setEnabled(true);
        for (int i = 1; i < args.length; i++) {
            members.addMember("127.0.0.1:" + args[i]);
        }
        Hazelcast.newHazelcastInstance(config);
    }
}
