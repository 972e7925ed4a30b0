import de.bwaldvogel.mongo.MongoServer;
import de.bwaldvogel.mongo.MongoVersion;
import de.bwaldvogel.mongo.backend.memory.MemoryBackend;
import java.util.List;

/** What speaks MongoDB's protocol, in memory, on 127.0.0.1 alone; it says that it is a 4.4, as pymongo talks to none before. */
final class MongoOnLoopback {
    record Spoken(List<Integer> getVersionArray, int getWireVersion) implements MongoVersion {
        public String toVersionString() {
            return "4.4.0";
        }
    }

    public static void main(String[] port) {
        MemoryBackend kept = new MemoryBackend();
        kept.version(new Spoken(List.of(4, 4, 0), 9));
        new MongoServer(kept).bind("127.0.0.1", Integer.parseInt(port[0]));
    }
}
