// The running count in goka; runs until SIGTERM.
package main

import (
	"context"
	"log"
	"os"
	"os/signal"
	"syscall"

	"github.com/lovoo/goka"
	"github.com/lovoo/goka/codec"
	"github.com/lovoo/goka/storage"
)

func main() {
	brokers := []string{os.Getenv("BENCH_BOOTSTRAP")}
	output := goka.Stream(os.Getenv("BENCH_OUTPUT"))
	group := goka.Group(os.Getenv("BENCH_OUTPUT") + "-app")

	topics := goka.NewTopicManagerConfig()
	topics.Table.Replication = 1
	topics.Stream.Replication = 1

	config := goka.DefaultConfig()
	config.Consumer.Offsets.Initial = -2 // the earliest
	goka.ReplaceGlobalConfig(config)

	graph := goka.DefineGroup(group,
		goka.Input(goka.Stream(os.Getenv("BENCH_INPUT")), new(codec.Bytes), func(ctx goka.Context, _ interface{}) {
			var total int64
			if stored := ctx.Value(); stored != nil {
				total = stored.(int64)
			}
			total++
			ctx.SetValue(total)
			ctx.Emit(output, ctx.Key(), total)
		}),
		goka.Output(output, new(codec.Int64)),
		goka.Persist(new(codec.Int64)),
	)
	processor, err := goka.NewProcessor(brokers, graph,
		goka.WithTopicManagerBuilder(goka.TopicManagerBuilderWithTopicManagerConfig(topics)),
		goka.WithStorageBuilder(storage.DefaultBuilder(os.Getenv("BENCH_HOME"))),
	)
	if err != nil {
		log.Fatal(err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	if err := processor.Run(ctx); err != nil {
		log.Fatal(err)
	}
}
