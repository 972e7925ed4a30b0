import java.util.HashMap;
import java.util.Map;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.streaming.api.operators.AbstractStreamOperator;
import org.apache.flink.streaming.api.operators.OneInputStreamOperator;
import org.apache.flink.streaming.api.watermark.Watermark;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;

/**
 * Adds up numbers of a key in one pane of time, before the shuffle. It keeps no state: the sums go out
 * before each watermark, so that none is late, and before each checkpoint.
 */
final class Combine extends AbstractStreamOperator<Tuple2<String, Long>>
        implements OneInputStreamOperator<Tuple2<String, Long>, Tuple2<String, Long>> {
    private static final int MOST_KEYS = 50_000;
    private final long paneMs;
    private transient Map<Long, Map<String, long[]>> panes;

    /** With a pane of 0 ms, numbers of any time are added up. */
    Combine(long paneMs) {
        this.paneMs = paneMs;
    }

    @Override
    public void open() throws Exception {
        super.open();
        panes = new HashMap<>();
    }

    @Override
    public void processElement(StreamRecord<Tuple2<String, Long>> record) {
        long time = record.getTimestamp();
        long start = paneMs == 0 ? 0 : time - Math.floorMod(time, paneMs);
        Map<String, long[]> sums = panes.computeIfAbsent(start, ignored -> new HashMap<>());
        sums.computeIfAbsent(record.getValue().f0, ignored -> new long[1])[0] += record.getValue().f1;
        if (sums.size() >= MOST_KEYS) {
            flush();
        }
    }

    @Override
    public void processWatermark(Watermark mark) throws Exception {
        flush();
        super.processWatermark(mark);
    }

    @Override
    public void prepareSnapshotPreBarrier(long checkpoint) {
        flush();
    }

    @Override
    public void finish() throws Exception {
        flush();
        super.finish();
    }

    private void flush() {
        panes.forEach((start, sums) -> sums.forEach((key, sum) ->
            output.collect(new StreamRecord<>(Tuple2.of(key, sum[0]), start))));
        panes.clear();
    }
}
