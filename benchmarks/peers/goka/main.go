// The running count and the filter in goka; runs until SIGTERM.
package main

import (
	"context"
	"encoding/json"
	"hash"
	"log"
	"os"
	"os/signal"
	"strings"
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

	graph := goka.DefineGroup(group, edges(output)...)
	processor, err := goka.NewProcessor(brokers, graph,
		goka.WithTopicManagerBuilder(goka.TopicManagerBuilderWithTopicManagerConfig(topics)),
		// Tables that it has not written lie in partitions as Kafka's own clients have it.
		goka.WithHasher(func() hash.Hash32 { return new(murmur2) }),
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

func edges(output goka.Stream) []goka.Edge {
	inputs := strings.Split(os.Getenv("BENCH_INPUTS"), ",")
	if os.Getenv("BENCH_WORKLOAD") == "W7" {
		return filtering(inputs, output)
	}
	return []goka.Edge{
		goka.Input(goka.Stream(inputs[0]), new(codec.Bytes), func(ctx goka.Context, _ interface{}) {
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
	}
}

type message struct {
	To   string `json:"to"`
	Text string `json:"text"`
	At   int64  `json:"at"`
}

type event struct {
	Start int64  `json:"start"`
	Value string `json:"value"`
}

// filtering is goka's own example: messages of the blocked go nowhere, others are translated.
func filtering(inputs []string, output goka.Stream) []goka.Edge {
	blocked, words := goka.Table(inputs[1]), goka.Table(inputs[2])
	return []goka.Edge{
		goka.Input(goka.Stream(inputs[0]), new(messageCodec), func(ctx goka.Context, value interface{}) {
			if ctx.Join(blocked) != nil {
				return
			}
			sent := value.(*message)
			text := sent.Text
			if translation := ctx.Lookup(words, text); translation != nil {
				text = translation.(string)
			}
			ctx.Emit(output, sent.To, &event{sent.At, text})
		}),
		goka.Join(blocked, new(codec.String)),
		goka.Lookup(words, new(codec.String)),
		goka.Output(output, new(eventCodec)),
	}
}

type messageCodec struct{}

func (*messageCodec) Encode(value interface{}) ([]byte, error) { return json.Marshal(value) }

func (*messageCodec) Decode(data []byte) (interface{}, error) {
	found := new(message)
	return found, json.Unmarshal(data, found)
}

type eventCodec struct{}

func (*eventCodec) Encode(value interface{}) ([]byte, error) { return json.Marshal(value) }

func (*eventCodec) Decode(data []byte) (interface{}, error) {
	found := new(event)
	return found, json.Unmarshal(data, found)
}
