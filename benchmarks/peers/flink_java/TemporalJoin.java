import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.state.MapState;
import org.apache.flink.api.common.state.MapStateDescriptor;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.streaming.api.functions.co.KeyedCoProcessFunction;
import org.apache.flink.util.Collector;

/**
 * Views by the region that their user had at that time. A view waits until both topics have passed its
 * time.
 */
final class TemporalJoin
        extends KeyedCoProcessFunction<String, Tuple2<String, Long>, Tuple2<String, String>, Tuple2<String, Long>> {
    private transient MapState<Long, Long> views;
    private transient MapState<Long, String> regions;

    @Override
    public void open(OpenContext context) {
        views = getRuntimeContext().getMapState(new MapStateDescriptor<>("views", Types.LONG, Types.LONG));
        regions = getRuntimeContext().getMapState(new MapStateDescriptor<>("regions", Types.LONG, Types.STRING));
    }

    @Override
    public void processElement1(Tuple2<String, Long> view, Context context, Collector<Tuple2<String, Long>> out)
            throws Exception {
        Long before = views.get(context.timestamp());
        views.put(context.timestamp(), before == null ? view.f1 : before + view.f1);
        context.timerService().registerEventTimeTimer(context.timestamp());
    }

    @Override
    public void processElement2(Tuple2<String, String> user, Context context, Collector<Tuple2<String, Long>> out)
            throws Exception {
        regions.put(context.timestamp(), user.f1);
    }

    @Override
    public void onTimer(long time, OnTimerContext context, Collector<Tuple2<String, Long>> out) throws Exception {
        long latest = Long.MIN_VALUE;
        for (Long since : regions.keys()) {
            if (since <= time && since > latest) {
                latest = since;
            }
        }
        String region = latest == Long.MIN_VALUE ? "?" : regions.get(latest);
        out.collect(Tuple2.of(region, views.get(time)));
        views.remove(time);
        var versions = regions.iterator();
        while (versions.hasNext()) {
            if (versions.next().getKey() < latest) {
                versions.remove();
            }
        }
    }
}
