import java.nio.file.Path;
import java.util.Collections;
import java.util.List;
import org.opensearch.common.settings.Settings;
import org.opensearch.env.Environment;
import org.opensearch.node.InternalSettingsPreparer;
import org.opensearch.node.Node;
import org.opensearch.transport.Netty4Plugin;

/** A node of OpenSearch without its modules, on 127.0.0.1 alone. */
final class OpenSearchOnLoopback extends Node {
    private OpenSearchOnLoopback(Environment environment) {
        super(environment, List.of(Netty4Plugin.class), false);
    }

    public static void main(String[] given) throws Exception {
        Path home = Path.of(given[0]);
        Settings settings = Settings.builder()
                .put("path.home", home)
                .put("node.name", "one")
                .put("cluster.name", "kstreams-tests")
                .put("discovery.type", "single-node")
                .put("network.host", "127.0.0.1")
                .put("http.port", given[1])
                .put("transport.port", given[2])
                .put("http.type", "netty4")
                .put("transport.type", "netty4")
                .put("node.processors", 2)
                .put("cluster.routing.allocation.disk.threshold_enabled", false)
                .build();
        new OpenSearchOnLoopback(InternalSettingsPreparer.prepareEnvironment(
                settings, Collections.emptyMap(), home.resolve("config"), () -> "one")).start();
        Thread.currentThread().join();
    }
}
