import java.lang.reflect.Field;
import org.eclipse.jetty.server.Connector;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import software.amazon.dynamodb.services.local.main.ServerRunner;
import software.amazon.dynamodb.services.local.server.DynamoDBProxyServer;

/** DynamoDB Local, which has no option for an address, on 127.0.0.1 alone. */
final class DynamoOnLoopback {
    public static void main(String[] options) throws Exception {
        DynamoDBProxyServer local = ServerRunner.createServerFromCommandLineArgs(options);
        Field held = DynamoDBProxyServer.class.getDeclaredField("server");
        held.setAccessible(true);
        for (Connector each : ((Server) held.get(local)).getConnectors()) {
            ((ServerConnector) each).setHost("127.0.0.1");
        }
        local.safeStart();
        local.join();
    }
}
