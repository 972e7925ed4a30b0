import java.io.IOException;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.util.Collector;

/** The sum of all numbers of a key so far; forwards every update. */
final class RunningSum extends KeyedProcessFunction<String, Tuple2<String, Long>, Tuple2<byte[], byte[]>> {
    private transient ValueState<Long> sums;

    @Override
    public void open(OpenContext context) {
        sums = getRuntimeContext().getState(new ValueStateDescriptor<>("sums", Types.LONG));
    }

    @Override
    public void processElement(
            Tuple2<String, Long> number, Context context, Collector<Tuple2<byte[], byte[]>> out)
            throws IOException {
        Long before = sums.value();
        long sum = before == null ? number.f1 : before + number.f1;
        sums.update(sum);
        out.collect(Results.result(number.f0, sum));
    }
}
