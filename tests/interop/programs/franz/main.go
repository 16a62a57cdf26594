// franz-go, with its defaults.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// What a verb is told; each takes what it needs.
type ask struct {
	Bootstrap  string          `json:"bootstrap"`
	Topic      string          `json:"topic"`
	Group      string          `json:"group"`
	Partitions int             `json:"partitions"`
	Codec      string          `json:"codec"`
	File       string          `json:"file"`
	Max        int             `json:"max"`
	At         int64           `json:"at"`
	Before     map[int32]int64 `json:"before"`
	Name       string          `json:"name"`
	Value      string          `json:"value"`
}

type record struct {
	Partition int32       `json:"p"`
	Offset    int64       `json:"o"`
	Timestamp int64       `json:"t"`
	Key       *string     `json:"k"`
	Value     *string     `json:"v"`
	Headers   [][2]string `json:"h"`
}

var out = bufio.NewWriter(os.Stdout)

func emit(line any) {
	text, err := json.Marshal(line)
	if err != nil {
		panic(err)
	}
	out.Write(append(text, '\n'))
}

func emitOffset(partition int32, offset int64) {
	emit(map[string]int64{"p": int64(partition), "o": offset})
}

func text(content []byte) *string {
	if content == nil {
		return nil
	}
	s := string(content)
	return &s
}

func raw(content *string) []byte {
	if content == nil {
		return nil
	}
	return []byte(*content)
}

func withAdmin(a ask, work func(context.Context, *kadm.Client) error) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(a.Bootstrap))
	if err != nil {
		return err
	}
	defer client.Close()
	return work(context.Background(), kadm.NewClient(client))
}

func version(ask) error {
	info, _ := debug.ReadBuildInfo()
	var used []string
	for _, module := range info.Deps {
		if name, ours := strings.CutPrefix(module.Path, "github.com/twmb/"); ours && !strings.HasSuffix(name, "kmsg") {
			used = append(used, name+" "+module.Version)
		}
	}
	emit(map[string]string{"version": strings.Join(used, ", ")})
	return nil
}

func create(a ask) error {
	return withAdmin(a, func(ctx context.Context, admin *kadm.Client) error {
		_, err := admin.CreateTopic(ctx, int32(a.Partitions), -1, nil, a.Topic)
		return err
	})
}

func grow(a ask) error {
	return withAdmin(a, func(ctx context.Context, admin *kadm.Client) error {
		answers, err := admin.UpdatePartitions(ctx, a.Partitions, a.Topic)
		return errors.Join(err, answers.Error())
	})
}

func remove(a ask) error {
	return withAdmin(a, func(ctx context.Context, admin *kadm.Client) error {
		_, err := admin.DeleteTopic(ctx, a.Topic)
		return err
	})
}

func codec(name string) kgo.CompressionCodec {
	return map[string]kgo.CompressionCodec{
		"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(),
		"lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(),
	}[name]
}

func produce(a ask) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(a.Bootstrap), kgo.ProducerBatchCompression(codec(a.Codec)))
	if err != nil {
		return err
	}
	defer client.Close()
	file, err := os.Open(a.File)
	if err != nil {
		return err
	}
	defer file.Close()
	ctx, sent := context.Background(), 0
	failed := kgo.AbortingFirstErrPromise(client)
	for lines := json.NewDecoder(file); ; sent++ {
		var line record
		if err := lines.Decode(&line); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return err
		}
		message := &kgo.Record{Topic: a.Topic, Key: raw(line.Key), Value: raw(line.Value)}
		for _, header := range line.Headers {
			message.Headers = append(message.Headers, kgo.RecordHeader{Key: header[0], Value: []byte(header[1])})
		}
		client.Produce(ctx, message, failed.Promise())
	}
	if err := errors.Join(client.Flush(ctx), failed.Err()); err != nil {
		return err
	}
	emit(map[string]int{"sent": sent})
	return nil
}

func consume(a ask) error {
	options := []kgo.Opt{kgo.SeedBrokers(a.Bootstrap), kgo.ConsumerGroup(a.Group), kgo.ConsumeTopics(a.Topic)}
	if a.Max > 0 {
		options = append(options, kgo.DisableAutoCommit())
	}
	client, err := kgo.NewClient(options...)
	if err != nil {
		return err
	}
	defer client.Close()
	asked, stop := context.WithCancel(context.Background())
	go func() {
		io.Copy(io.Discard, os.Stdin)
		stop()
	}()
	var taken []*kgo.Record
	for asked.Err() == nil && (a.Max == 0 || len(taken) < a.Max) {
		fetches := client.PollRecords(asked, a.Max-len(taken)) // 0 or less: all that is there
		for _, failure := range fetches.Errors() {
			if !errors.Is(failure.Err, context.Canceled) {
				return failure.Err
			}
		}
		fetches.EachRecord(emitRecord)
		out.Flush()
		if a.Max > 0 {
			taken = append(taken, fetches.Records()...)
		}
	}
	return client.CommitRecords(context.Background(), taken...)
}

func emitRecord(r *kgo.Record) {
	line := record{r.Partition, r.Offset, r.Timestamp.UnixMilli(), text(r.Key), text(r.Value), [][2]string{}}
	for _, header := range r.Headers {
		line.Headers = append(line.Headers, [2]string{header.Key, string(header.Value)})
	}
	emit(line)
}

func offsets(a ask) error {
	return withAdmin(a, func(ctx context.Context, admin *kadm.Client) (err error) {
		var listed kadm.ListedOffsets
		switch a.At {
		case -1:
			listed, err = admin.ListEndOffsets(ctx, a.Topic)
		case -2:
			listed, err = admin.ListStartOffsets(ctx, a.Topic)
		default:
			listed, err = admin.ListOffsetsAfterMilli(ctx, a.At, a.Topic)
		}
		listed.Each(func(o kadm.ListedOffset) { emitOffset(o.Partition, o.Offset) })
		return errors.Join(err, listed.Error())
	})
}

func deleteRecords(a ask) error {
	return withAdmin(a, func(ctx context.Context, admin *kadm.Client) error {
		before := kadm.Offsets{}
		for partition, offset := range a.Before {
			before.AddOffset(a.Topic, partition, offset, -1)
		}
		answers, err := admin.DeleteRecords(ctx, before)
		answers.Each(func(answer kadm.DeleteRecordsResponse) { emitOffset(answer.Partition, answer.LowWatermark) })
		return errors.Join(err, answers.Error())
	})
}

func setConfig(a ask) error {
	return withAdmin(a, func(ctx context.Context, admin *kadm.Client) error {
		change := kadm.AlterConfig{Op: kadm.SetConfig, Name: a.Name, Value: &a.Value}
		answers, err := admin.AlterTopicConfigs(ctx, []kadm.AlterConfig{change}, a.Topic)
		for _, answer := range answers {
			err = errors.Join(err, answer.Err)
		}
		return err
	})
}

func getConfig(a ask) error {
	return withAdmin(a, func(ctx context.Context, admin *kadm.Client) error {
		resources, err := admin.DescribeTopicConfigs(ctx, a.Topic)
		if err != nil {
			return err
		}
		resource, err := resources.On(a.Topic, nil)
		if err = errors.Join(err, resource.Err); err != nil {
			return err
		}
		var value *string
		for _, config := range resource.Configs {
			if config.Key == a.Name {
				value = config.Value
			}
		}
		emit(map[string]*string{"value": value})
		return nil
	})
}

func describeGroup(a ask) error {
	return withAdmin(a, func(ctx context.Context, admin *kadm.Client) error {
		groups, err := admin.DescribeGroups(ctx, a.Group)
		if err = errors.Join(err, groups.Error()); err != nil {
			return err
		}
		group, members := groups[a.Group], [][]int32{}
		for _, member := range group.Members {
			partitions := []int32{}
			if assigned, ok := member.Assigned.AsConsumer(); ok {
				for _, topic := range assigned.Topics {
					partitions = append(partitions, topic.Partitions...)
				}
			}
			slices.Sort(partitions)
			members = append(members, partitions)
		}
		emit(map[string]any{"state": group.State, "members": members})
		return nil
	})
}

func committed(a ask) error {
	return withAdmin(a, func(ctx context.Context, admin *kadm.Client) error {
		found, err := admin.FetchOffsets(ctx, a.Group)
		found.Each(func(o kadm.OffsetResponse) { emitOffset(o.Partition, o.At) })
		return errors.Join(err, found.Error())
	})
}

var verbs = map[string]func(ask) error{
	"version": version, "create": create, "grow": grow, "delete": remove, "produce": produce, "consume": consume,
	"offsets": offsets, "delete-records": deleteRecords, "set-config": setConfig, "get-config": getConfig,
	"describe-group": describeGroup, "committed": committed,
}

func main() {
	var a ask
	err := json.Unmarshal([]byte(os.Args[2]), &a)
	if err == nil {
		err = verbs[os.Args[1]](a)
	}
	if err != nil {
		emit(map[string]string{"error": fmt.Sprint(err)})
	}
	out.Flush()
	if err != nil {
		os.Exit(1)
	}
}
